/** Thrown and caught inside the readers of damaged JSON: the text has no value, or none that may be accepted. */
export class Unreadable extends Error {
  /** Offset of the problem. */
  readonly at: number;
  /** Whether the problem is in the value itself (a duplicate key, digits that would be lost), so that another reading would not help. */
  readonly isFinal: boolean;

  constructor(problem: string, at: number, isFinal = false) {
    super(problem);
    this.at = at;
    this.isFinal = isFinal;
  }
}
