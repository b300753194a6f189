/**
 * Finds the positions of the keys of a TOML document, which the parser does not report.
 *
 * Only for a document that was parsed successfully: the syntax is not checked again, and values are skipped.
 */
import { formatJsonPath } from "../core/base/json.ts";
import { KeyPositions, LineIndex, type KeyPath, type Position } from "./key-positions.ts";

/** Maximum length of a recorded path. No known key is deeper; deeper keys are reported at their nearest ancestor. */
const MAX_PATH = 8;
/** Maximum number of parts of a dotted key. Each is a table inside another; too deep a value would overflow the stack of its readers. */
const MAX_PARTS = 32;

/** @throws RefusedTomlError @param decodeKey decodes a quoted key with escapes, such as `"a\u0020b"` */
export function findTomlPositions(text: string, decodeKey: (quoted: string) => string): KeyPositions {
  const scanner = new TomlScanner(text, decodeKey);
  scanner.scan();
  return scanner.positions;
}

/** Thrown for a date that does not exist, which the parser reads as one of the next month, and for a key that it would nest without a limit. */
export class RefusedTomlError extends Error {
  readonly position: Position;

  constructor(problem: string, position: Position) {
    super(problem);
    this.position = position;
  }
}

function isExistingDate(date: string): boolean {
  const day = new Date(`${date}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(date);
}

class TomlScanner {
  readonly positions = new KeyPositions();
  readonly #text: string;
  readonly #lines: LineIndex;
  readonly #decodeKey: (quoted: string) => string;
  /** Number of tables so far in each array of tables, by its path. */
  readonly #tableCounts = new Map<string, number>();
  #at = 0;

  constructor(text: string, decodeKey: (quoted: string) => string) {
    this.#text = text;
    this.#lines = new LineIndex(text);
    this.#decodeKey = decodeKey;
  }

  scan(): void {
    let table: KeyPath = [];
    for (this.#skipSpace(); this.#at < this.#text.length; this.#skipSpace()) {
      if (this.#peek() === "[") table = this.#header();
      else this.#keyValue(table);
    }
  }

  #header(): KeyPath {
    const start = this.#at;
    while (this.#peek() === "[") this.#at++;
    const isArrayOfTables = this.#at - start > 1;
    this.#skipSpace();
    const position = this.#lines.positionAt(this.#at);
    const path: (string | number)[] = [];
    for (const part of this.#keyParts()) {
      if (path.length >= MAX_PATH) break;
      path.push(part);
      this.positions.add(path, position);
      const length = this.#tableCounts.get(formatJsonPath(path));
      if (length !== undefined) path.push(length - 1); // refers to the last table of the array
    }
    while (this.#peek() === "]") this.#at++;
    return isArrayOfTables ? this.#addArrayTable(path, position) : path;
  }

  /** Returns the path of a new table at the end of an array of tables. */
  #addArrayTable(path: readonly (string | number)[], position: Position): KeyPath {
    const list = typeof path.at(-1) === "number" ? path.slice(0, -1) : path;
    const index = this.#tableCounts.get(formatJsonPath(list)) ?? 0;
    this.#tableCounts.set(formatJsonPath(list), index + 1);
    const table = [...list, index];
    this.positions.add(table, position);
    return table;
  }

  #keyValue(table: KeyPath): void {
    const path = this.#scanKey(table);
    this.#at++; // =
    this.#skipSpace();
    this.#scanValue(path);
  }

  /** Reads a dotted key. Each of its parts is recorded at the start of the key. */
  #scanKey(table: KeyPath): KeyPath {
    const position = this.#lines.positionAt(this.#at);
    const path = [...table];
    for (const part of this.#keyParts()) {
      if (path.length >= MAX_PATH) continue;
      path.push(part);
      this.positions.add(path, position);
    }
    return path;
  }

  #keyParts(): readonly string[] {
    const start = this.#at;
    const parts: string[] = [];
    for (;;) {
      parts.push(this.#keyPart());
      if (parts.length > MAX_PARTS) throw new RefusedTomlError(`a key has more than ${MAX_PARTS} parts`, this.#lines.positionAt(start));
      this.#skipSpace();
      if (this.#peek() !== ".") return parts;
      this.#at++;
      this.#skipSpace();
    }
  }

  #keyPart(): string {
    const start = this.#at;
    const quote = this.#peek();
    if (quote === '"' || quote === "'") {
      this.#skipString();
      const quoted = this.#text.slice(start, this.#at);
      return quote === '"' && quoted.includes("\\") ? this.#decodeKey(quoted) : quoted.slice(1, -1);
    }
    this.#skipMatch(BARE_KEY);
    return this.#text.slice(start, this.#at);
  }

  #scanValue(path: KeyPath): void {
    const first = this.#peek();
    if (first === '"' || first === "'") this.#skipString();
    else if (first === "[") this.#array(path);
    else if (first === "{") this.#inlineTable(path);
    else this.#bareValue();
  }

  #bareValue(): void {
    const start = this.#at;
    this.#skipMatch(BARE_VALUE);
    const date = DATE.exec(this.#text.slice(start, this.#at))?.[0];
    if (date === undefined || isExistingDate(date)) return;
    throw new RefusedTomlError(`the date ${date} does not exist`, this.#lines.positionAt(start));
  }

  #array(path: KeyPath): void {
    this.#at++;
    for (let index = 0; ; index++) {
      this.#skipSeparators();
      if (this.#peek() === "]" || this.#at >= this.#text.length) break;
      const item = path.length < MAX_PATH ? [...path, index] : path;
      this.positions.add(item, this.#lines.positionAt(this.#at));
      this.#scanValue(item);
    }
    this.#at++;
  }

  #inlineTable(path: KeyPath): void {
    this.#at++;
    for (;;) {
      this.#skipSeparators();
      if (this.#peek() === "}" || this.#at >= this.#text.length) break;
      this.#keyValue(path);
    }
    this.#at++;
  }

  /** Skips one of the four kinds of string; a multi-line string may end in up to five quotes. */
  #skipString(): void {
    const quote = this.#peek() ?? "";
    const long = this.#text.startsWith(quote.repeat(3), this.#at);
    const end = long ? quote.repeat(3) : quote;
    for (this.#at += end.length; this.#at < this.#text.length && !this.#text.startsWith(end, this.#at); this.#at++) {
      if (quote === '"' && this.#peek() === "\\") this.#at++;
    }
    this.#at += end.length;
    if (long) this.#skipMatch(quote === '"' ? LAST_QUOTES : LAST_APOSTROPHES);
  }

  #skipSeparators(): void {
    this.#skipSpace();
    while (this.#peek() === ",") {
      this.#at++;
      this.#skipSpace();
    }
  }

  #skipSpace(): void {
    for (;;) {
      this.#skipMatch(SPACE);
      if (this.#peek() !== "#") return;
      const end = this.#text.indexOf("\n", this.#at);
      this.#at = end < 0 ? this.#text.length : end;
    }
  }

  /** Moves past what a sticky pattern matches here; stays in place if it does not match. */
  #skipMatch(pattern: RegExp): void {
    pattern.lastIndex = this.#at;
    if (pattern.test(this.#text)) this.#at = pattern.lastIndex;
  }

  #peek(): string | undefined {
    return this.#text[this.#at];
  }
}

const DATE = /^\d{4}-\d\d-\d\d(?![\d-])/u;
const SPACE = /[ \t\r\n]*/uy;
const BARE_KEY = /[A-Za-z0-9_-]+/uy;
/** A multi-line string may contain up to two quotes directly before its closing quotes. */
const LAST_QUOTES = /"{0,2}/uy;
const LAST_APOSTROPHES = /'{0,2}/uy;
const BARE_VALUE = /[^,\]}#\r\n]*/uy;
