/** Counts the characters that the readers of a damaged text look at, so that no text takes more than linear time. */
import { Unreadable } from "./unreadable.ts";

/** How often a text may be read over again, in characters for each of its own. */
const READS = 8;
const FREE_CHARS = 65_536;

export class ReadBudget {
  #left: number;

  constructor(length: number) {
    this.#left = READS * length + FREE_CHARS;
  }

  /** @throws Unreadable when it is spent */
  spend(count: number): void {
    if ((this.#left -= count + 1) < 0) throw new Unreadable("its quotes and brackets are too many to be told apart", 0, true);
  }
}
