/** A problem found in a store. */
export interface Finding {
  readonly kind: "version" | "file" | "schema" | "session" | "artifact" | "cache";
  /** A statement of the problem, without a full stop. */
  readonly what: string;
  /** How to fix it: a sentence, or an SQL statement. */
  readonly wayOut: string;
}
