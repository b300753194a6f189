/** A damaged text with its readers, which are shared by all attempts to read it. */
import { StringReader } from "./damaged-string.ts";
import { ReadBudget } from "./read-budget.ts";
import { SpaceScanner } from "./space-scanner.ts";

/** Maximum length of a text that is repaired, in UTF-16 units; strict JSON may be longer. The worst text of this length takes about 250 ms. */
export const MAX_DAMAGED_CHARS = 131_072;
export class DamagedText {
  readonly source: string;
  readonly budget: ReadBudget;
  readonly spaces: SpaceScanner;
  readonly strings: StringReader;

  constructor(source: string) {
    this.source = source;
    this.budget = new ReadBudget(source.length);
    this.spaces = new SpaceScanner(source, this.budget);
    this.strings = new StringReader(source, this.budget);
  }
}
