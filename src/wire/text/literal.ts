/**
 * Reads the notations of formats whose calls are not JSON: Python literals, and strings between marks of the format. They are never evaluated.
 *
 * Python strings have other escapes, which a JSON reader would misread. Damaged JSON is read only by `schema/json-text`.
 */
import { losesIntegerDigits } from "../../core/formats/lost-digits.ts";
import { type JsonObject, type JsonValue, DEFAULT_MAX_DEPTH, isJsonArray, isJsonObject } from "../../core/base/json.ts";

export interface LiteralOptions {
  /** Additional marks that begin and end a string, in which nothing is escaped. */
  readonly marks?: readonly string[];
  /** Whether keys and strings may be unquoted. @default false */
  readonly bare?: boolean;
}

/**
 * Returns the object that a text represents; JSON text, for the runtime to refuse, if a key occurs twice or an integer would lose digits. Undefined
 * if it is not an object, or is deeper than 64 levels.
 */
export function readLiteral(text: string, options: LiteralOptions = {}): JsonObject | string | undefined {
  const reader = new LiteralReader(text, options);
  const value = reader.readValue();
  return isJsonObject(value) && reader.isDone ? reader.originals.toInput(value) : undefined;
}

/** Like `readLiteral`, for arguments such as `(city="Paris", days=3)`, including the brackets; undefined if one is not a literal or has no name. */
export function readKeywordArguments(text: string): JsonObject | string | undefined {
  const reader = new LiteralReader(text.slice(1), {});
  const values = reader.readMembers(")", "=");
  return values !== undefined && reader.isDone ? reader.originals.toInput(values) : undefined;
}

/** Keeps what a JavaScript value cannot: repeated keys, and integers that would lose digits. */
class OriginalTexts {
  readonly #texts = new WeakMap<object, string>();
  #isLossy = false;

  addMembers(object: JsonObject, members: readonly (readonly [string, JsonValue])[]): void {
    this.#texts.set(object, jsonMembers(members.map(([key, value]) => [key, this.#textOf(value)] as const)));
    this.#isLossy = true;
  }

  /** Returns a placeholder object for the integer. Its text is also read if JSON writes it otherwise, such as `+9007199254740993.`. */
  addInteger(digits: string): JsonObject {
    const place = {};
    this.#texts.set(place, digits);
    this.#isLossy = true;
    return place;
  }

  has(value: JsonObject): boolean {
    return this.#texts.has(value);
  }

  toInput(value: JsonObject): JsonObject | string {
    return this.#isLossy ? this.#textOf(value) : value;
  }

  #textOf(value: JsonValue): string {
    if (typeof value !== "object" || value === null) return JSON.stringify(value);
    if (isJsonArray(value)) return `[${value.map((item) => this.#textOf(item)).join(", ")}]`;
    return this.#texts.get(value) ?? jsonMembers(Object.entries(value).map(([key, item]) => [key, this.#textOf(item)]));
  }
}

/** Returns an object as JSON text, from keys and values that are already JSON text. */
export function jsonMembers(members: readonly (readonly [key: string, json: string])[]): string {
  return `{${members.map(([key, json]) => `${JSON.stringify(key)}: ${json}`).join(", ")}}`;
}

const CONSTANTS: ReadonlyMap<string, JsonValue> = new Map<string, JsonValue>([
  ["true", true],
  ["True", true],
  ["false", false],
  ["False", false],
  ["null", null],
  ["None", null],
]);
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["n", "\n"],
  ["t", "\t"],
  ["r", "\r"],
  ["b", "\b"],
  ["f", "\f"],
  ["v", "\v"],
  ["0", "\0"],
  ["\n", ""],
  ["\\", "\\"],
  ["'", "'"],
  ['"', '"'],
  ["/", "/"],
]);
const HEX_DIGITS: ReadonlyMap<string, number> = new Map([
  ["x", 2],
  ["u", 4],
  ["U", 8],
]);
const NUMBER = /^[-+]?(?:\d{1,64}(?:\.\d{0,64})?|\.\d{1,64})(?:[eE][-+]?\d{1,4})?$/u;
const INTEGER = /^[-+]?\d+$/u;
const END_OF_WORD = /[\s,:=()[\]{}"']/gu;
/** Names need no quotes, and may have the characters of paths and filters: `user.id`, `$top`, `filter[status]`. */
const END_OF_NAME = /[,:={}"'<>\n]/gu;
const END_OF_BARE = /[,{}[\]]/gu;
const NOT_SPACE = /\S/gu;

class LiteralReader {
  readonly #text: string;
  readonly #marks: readonly string[];
  readonly #bare: boolean;
  readonly originals = new OriginalTexts();
  #at = 0;
  #depth = 0;

  constructor(text: string, { marks = [], bare = false }: LiteralOptions) {
    this.#text = text;
    this.#marks = marks;
    this.#bare = bare;
  }

  /** Whether the whole text was read. */
  get isDone(): boolean {
    this.#skipSpace();
    return this.#at === this.#text.length;
  }

  readValue(): JsonValue | undefined {
    this.#skipSpace();
    const quoted = this.#string();
    if (quoted !== undefined) return quoted;
    const next = this.#text.charAt(this.#at);
    if (next !== "{" && next !== "[" && next !== "(") return this.#word();
    if (++this.#depth > DEFAULT_MAX_DEPTH) return undefined;
    this.#at++;
    const value = next === "{" ? this.readMembers("}", ":") : this.#items(next === "[" ? "]" : ")");
    this.#depth--;
    return value;
  }

  /** Reads `key: value` or `key=value` members, up to the closing bracket. */
  readMembers(close: string, between: string): Readonly<Record<string, JsonValue>> | undefined {
    const members = new Map<string, JsonValue>();
    let all: [string, JsonValue][] | undefined;
    while (!this.#tryRead(close)) {
      if (members.size > 0 && !this.#tryRead(",")) return undefined;
      if (this.#tryRead(close)) break; // a comma may follow the last member
      const more = between === "=" && this.#tryRead("**") ? this.#readUnpacked() : this.#member(between);
      if (more === undefined) return undefined;
      for (const [key, value] of more) {
        if (all === undefined && members.has(key)) all = [...members];
        all?.push([key, value]);
        members.set(key, value);
      }
    }
    const object = Object.fromEntries(members);
    if (all !== undefined) this.originals.addMembers(object, all);
    return object;
  }

  #member(between: string): readonly (readonly [string, JsonValue])[] | undefined {
    const key = this.#key(between);
    if (key === undefined || !this.#tryRead(between)) return undefined;
    const value = this.readValue();
    return value === undefined ? undefined : [[key, value]];
  }

  /** Reads the members of `**{"First Name": "Ada"}`, a notation for names that are not Python identifiers. */
  #readUnpacked(): readonly (readonly [string, JsonValue])[] | undefined {
    const value = this.readValue();
    return isJsonObject(value) && !this.originals.has(value) ? Object.entries(value) : undefined;
  }

  #items(close: string): readonly JsonValue[] | undefined {
    const items: JsonValue[] = [];
    while (!this.#tryRead(close)) {
      if (items.length > 0 && !this.#tryRead(",")) return undefined;
      if (this.#tryRead(close)) break;
      const item = this.readValue();
      if (item === undefined) return undefined;
      items.push(item);
    }
    return items;
  }

  #key(between: string): string | undefined {
    this.#skipSpace();
    if (between === ":") {
      const quoted = this.#string();
      if (quoted !== undefined || !this.#bare) return quoted;
    }
    const word = this.#text.slice(this.#at, this.#findNext(END_OF_NAME)).trimEnd();
    if (word === "") return undefined;
    this.#at += word.length;
    return word;
  }

  #word(): JsonValue | undefined {
    const word = this.#text.slice(this.#at, this.#findNext(this.#bare ? END_OF_BARE : END_OF_WORD)).trimEnd();
    if (word === "") return undefined;
    const constant = CONSTANTS.get(word);
    const number = constant === undefined && NUMBER.test(word) ? Number(word) : undefined;
    if (constant === undefined && number === undefined && !this.#bare) return undefined;
    this.#at += word.length;
    if (constant !== undefined) return constant;
    if (number === undefined || !Number.isFinite(number)) return word;
    if (INTEGER.test(word)) return Number.isSafeInteger(number) ? number : this.originals.addInteger(String(BigInt(word)));
    return losesIntegerDigits(word, number) ? this.originals.addInteger(word) : number;
  }

  #string(): string | undefined {
    for (const mark of this.#marks) {
      if (!this.#text.startsWith(mark, this.#at)) continue;
      const from = this.#at + mark.length;
      const end = this.#text.indexOf(mark, from);
      if (end < 0) return undefined;
      this.#at = end + mark.length;
      return this.#text.slice(from, end);
    }
    const quote = this.#text.charAt(this.#at);
    if (quote !== '"' && quote !== "'") return undefined;
    return this.#readQuoted(this.#text.startsWith(quote.repeat(3), this.#at) ? quote.repeat(3) : quote);
  }

  #readQuoted(quote: string): string | undefined {
    const pieces: string[] = [];
    let from = this.#at + quote.length;
    for (let at = from; at < this.#text.length; at++) {
      const char = this.#text.charAt(at);
      if (char === "\\") {
        const { text, length } = this.#escape(at + 1);
        pieces.push(this.#text.slice(from, at), text);
        from = at + 1 + length;
        at = from - 1;
      } else if (char === quote.charAt(0) && this.#text.startsWith(quote, at)) {
        this.#at = at + quote.length;
        return pieces.join("") + this.#text.slice(from, at);
      }
    }
    return undefined;
  }

  /** Reads an escape after its backslash. As in Python, the backslash of an unknown escape is kept. */
  #escape(at: number): { readonly text: string; readonly length: number } {
    const char = this.#text.charAt(at);
    const text = ESCAPES.get(char);
    if (text !== undefined) return { text, length: 1 };
    const count = HEX_DIGITS.get(char);
    const digits = count === undefined ? "" : this.#text.slice(at + 1, at + 1 + count);
    if (count === undefined || digits.length !== count || !/^[0-9a-fA-F]+$/u.test(digits)) return { text: `\\${char}`, length: 1 };
    const code = Number.parseInt(digits, 16);
    return { text: code > 0x10ffff ? "\uFFFD" : count === 8 ? String.fromCodePoint(code) : String.fromCharCode(code), length: 1 + count };
  }

  #tryRead(text: string): boolean {
    this.#skipSpace();
    if (!this.#text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #skipSpace(): void {
    this.#at = this.#findNext(NOT_SPACE);
  }

  #findNext(what: RegExp): number {
    what.lastIndex = this.#at;
    return what.exec(this.#text)?.index ?? this.#text.length;
  }
}
