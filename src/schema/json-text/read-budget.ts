/** Limits the number of characters that the readers of a damaged text read, so that every text takes linear time. */
import { Unreadable } from "./unreadable.ts";

/** How often each character may be read again, on average. */
const READS_PER_CHAR = 8;
const FREE_CHARS = 65_536;

export class ReadBudget {
  #left: number;

  constructor(length: number) {
    this.#left = READS_PER_CHAR * length + FREE_CHARS;
  }

  /** @throws Unreadable if the budget is used up */
  spend(count: number): void {
    if ((this.#left -= count + 1) < 0) throw new Unreadable("it has too many quotes and brackets to be matched", 0, true);
  }
}
