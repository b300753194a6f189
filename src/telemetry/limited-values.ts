/** Limits how many values an attribute of metrics can have, since each creates a time series: some are chosen by third-party servers. */
import { OTHER } from "./semantic-conventions.ts";

export class LimitedValues {
  readonly #limit: number;
  readonly #known = new Set<string>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Returns the value, or `_OTHER` for a new one after `limit` others. */
  format(value: string | number): string {
    const text = String(value);
    if (this.#known.has(text)) return text;
    if (this.#known.size >= this.#limit) return OTHER;
    this.#known.add(text);
    return text;
  }
}
