/** Limits on the size and depth of JSON. */
export interface JsonLimits {
  /** Maximum nesting of arrays and objects. @default 64 */
  readonly maxDepth?: number;
  /** Maximum number of values, keys included, in the whole tree. @default 1_000_000 */
  readonly maxNodes?: number;
  /** Maximum length of text in UTF-16 units, keys included, in the whole tree. @default 16_777_216 */
  readonly maxChars?: number;
  /**
   * Maximum number of keys, in the whole tree, of objects with over 1,000 keys each, which take ten times as long as other values. @default no limit
   */
  readonly maxWideKeys?: number;
}
