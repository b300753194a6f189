/** Thrown inside the readers of damaged JSON, and caught by them: the text has no value, or none that may be taken. */
export class Unreadable extends Error {
  /** The offset of what is wrong. */
  readonly at: number;
  /** Whether the fault is in the value itself (a key twice, digits that would be lost), so that another reading would not help. */
  readonly final: boolean;

  constructor(problem: string, at: number, final = false) {
    super(problem);
    this.at = at;
    this.final = final;
  }
}
