/** How large and how deep JSON may be. */
export interface JsonLimits {
  /** Deepest nesting of arrays and objects. @default 64 */
  readonly maxDepth?: number;
  /** Most values, keys included, in the whole tree. @default 1_000_000 */
  readonly maxNodes?: number;
  /** Most UTF-16 units of text, keys included, in the whole tree. @default 16_777_216 */
  readonly maxChars?: number;
  /** Most keys, in the whole tree, of objects with over 1,000 each, which take ten times as long as other values. @default no limit */
  readonly maxWideKeys?: number;
}
