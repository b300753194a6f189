/** Counts the excess closing brackets of a text, by kind, outside its strings. */

import { findStringEnd } from "../../core/base/parse-exactly.ts";

const OPENERS: ReadonlyMap<string, string> = new Map([
  ["{", "}"],
  ["[", "]"],
  ["(", ")"],
]);

export class BracketCount {
  readonly #extra = new Map<string, number>();

  constructor(source: string, start: number) {
    for (let at = start; at < source.length; at++) {
      const char = source[at] ?? "";
      if (char === '"') at = findStringEnd(source, at + 1);
      else if (char === "}" || char === "]" || char === ")") this.#count(char, 1);
      else if (OPENERS.has(char)) this.#count(OPENERS.get(char) ?? "", -1);
    }
  }

  /** True if the bracket can replace a missing one of another kind; it is then counted as that one. */
  consumeSwapped(close: string, expected: string): boolean {
    if ((this.#extra.get(close) ?? 0) <= 0 || (this.#extra.get(expected) ?? 0) >= 0) return false;
    this.#count(close, -1);
    this.#count(expected, 1);
    return true;
  }

  /** True if there is an excess bracket of this kind; it is then counted as skipped. */
  consumeExtra(close: string): boolean {
    const extra = this.#extra.get(close) ?? 0;
    if (extra <= 0) return false;
    this.#extra.set(close, extra - 1);
    return true;
  }

  #count(close: string, by: number): void {
    this.#extra.set(close, (this.#extra.get(close) ?? 0) + by);
  }
}
