/** Something that is not as it should be in a store. */
export interface Finding {
  readonly kind: "version" | "file" | "schema" | "session" | "artifact" | "cache";
  /** A claim, without a full stop. */
  readonly what: string;
  /** A way to mend it: a sentence, or a statement. */
  readonly wayOut: string;
}
