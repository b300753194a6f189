/** Finds where the keys and items of a JSON document stand. Only for a text that has been parsed: what follows what is taken as given. */
import { LineIndex } from "./key-positions.ts";
import type { KeyPath, KeyPositions } from "./key-positions.ts";

/** @param maxDepth keys below are not looked at; their nearest parent stands for them */
export function addJsonPositions(text: string, positions: KeyPositions, maxDepth: number): void {
  new JsonScanner(text, positions, maxDepth).value([]);
}

class JsonScanner {
  readonly #text: string;
  readonly #positions: KeyPositions;
  readonly #maxDepth: number;
  readonly #lines: LineIndex;
  #at = 0;

  constructor(text: string, positions: KeyPositions, maxDepth: number) {
    this.#text = text;
    this.#positions = positions;
    this.#maxDepth = maxDepth;
    this.#lines = new LineIndex(text);
  }

  /** The parser has capped the depth. */
  value(path: KeyPath): void {
    this.#to(SPACE);
    const first = this.#text[this.#at];
    if (first === "{") this.#members("}", path);
    else if (first === "[") this.#members("]", path);
    else if (first === '"') this.#string();
    else this.#to(PRIMITIVE);
    this.#to(SPACE);
  }

  /** What stands between the brackets. */
  #members(end: "}" | "]", path: KeyPath): void {
    this.#at++;
    for (let index = 0; ; index++) {
      this.#to(SPACE);
      if (this.#text[this.#at] === end || this.#at >= this.#text.length) break;
      const start = this.#at;
      const here = [...path, end === "}" ? this.#key() : index];
      if (here.length <= this.#maxDepth) this.#positions.add(here, this.#lines.positionAt(start));
      this.value(here);
      if (this.#text[this.#at] === ",") this.#at++;
    }
    this.#at++;
  }

  #key(): string {
    const start = this.#at;
    this.#string();
    const written = this.#text.slice(start + 1, this.#at - 1);
    this.#to(COLON);
    return written.includes("\\") ? unescape(written) : written;
  }

  /** Moves behind the closing quote: the first one behind an even number of backslashes. */
  #string(): void {
    for (let quote = this.#text.indexOf('"', this.#at + 1); quote >= 0; quote = this.#text.indexOf('"', quote + 1)) {
      let before = quote - 1;
      while (this.#text[before] === "\\") before--;
      this.#at = quote + 1;
      if ((quote - before) % 2 === 1) return;
    }
  }

  /** Moves behind what a sticky pattern matches here. */
  #to(pattern: RegExp): void {
    pattern.lastIndex = this.#at;
    if (pattern.test(this.#text)) this.#at = pattern.lastIndex;
  }
}

const SPACE = /[ \t\r\n]*/uy;
const COLON = /[ \t\r\n]*:/uy;
const PRIMITIVE = /[^\s,\]}]*/uy;
const LETTERS: ReadonlyMap<string, string> = new Map([
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);

function unescape(written: string): string {
  return written.replaceAll(/\\(?:u([0-9a-fA-F]{4})|(.))/gu, (_all, code: string | undefined, letter: string | undefined) =>
    code === undefined ? (LETTERS.get(letter ?? "") ?? letter ?? "") : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
