/** Reads JSON that is still being written, to show the part that has arrived. */
import { checkString } from "../../core/check-argument.ts";
import { DEFAULT_MAX_DEPTH, isJsonArray, type JsonValue } from "../../core/base/json.ts";
import { JSON_ESCAPES } from "../json-text/decode-string.ts";

type Place = "value" | "first-item" | "first-key" | "key" | "colon" | "separator";
type Reading = Place | "text" | "key-text" | "literal" | "number" | "broken";

/** An array or object that is not complete yet. */
interface Container {
  readonly value: JsonValue[] | Record<string, JsonValue>;
  /** The key of the next value. */
  key: string;
}

const LITERALS: ReadonlyMap<string, readonly [string, JsonValue]> = new Map([
  ["t", ["true", true]],
  ["f", ["false", false]],
  ["n", ["null", null]],
]);
const HEX = /^[0-9a-fA-F]{4}$/u;
const SPACE = /[ \t\n\r]/u;
const NUMBER_START = /[-0-9]/u;
const NUMBER_PART = /[-+0-9.eE]/u;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/u;
/** Matches the end of an unfinished number. */
const UNFINISHED = /(?:\.|[eE][-+]?)$/u;
const MAX_NUMBER = 400;

/**
 * Reads JSON in pieces of any size, in linear time.
 *
 * The contents of `value` are never reverted: strings grow, arrays and objects gain members, numbers and literals appear once their end was
 * read. Reading stops at the first character that JSON does not allow, or at a duplicate key. A key `__proto__` is left out.
 */
export class PartialJson {
  #reading: Reading = "value";
  readonly #open: Container[] = [];
  #root: JsonValue | undefined;
  #complete = false;
  /** The literal, number, key or string that is being read, decoded. */
  #token = "";
  /** An incomplete escape, including its backslash. */
  #escape = "";
  /** The first half of a surrogate pair, shown together with the second. */
  #highSurrogate = "";

  /** Reads the next piece. */
  push(text: string): void {
    for (let at = 0; at < text.length && this.#reading !== "broken";) {
      if (this.#reading === "text" || this.#reading === "key-text") at = this.#readText(text, at);
      else at += this.#readChar(text[at] ?? "") ? 1 : 0;
    }
    if (this.#reading === "text") this.#replaceString(this.#token);
  }

  /** The value so far. The same arrays and objects every time, which grow with the next piece: copy them to keep a state. */
  get value(): JsonValue | undefined {
    return this.#root;
  }

  /** Whether the value is complete. A number at the top level never is: more digits might follow. */
  get complete(): boolean {
    return this.#complete && this.#reading !== "broken";
  }

  /** Ends reading. Returns the value with the number or literal that is being read; undefined if it is not JSON. Nothing is read afterwards. */
  finish(): JsonValue | undefined {
    if (this.#reading === "broken") return undefined;
    if (this.#reading === "number") this.#addNumber(this.#token.replace(UNFINISHED, ""));
    const literal = this.#reading === "literal" ? LITERALS.get(this.#token[0] ?? "") : undefined;
    if (literal !== undefined) this.#addValue(literal[1]);
    if (!this.#complete) this.#reading = "broken";
    return this.#root;
  }

  /** Returns false if the character ends a number and must be read again. */
  #readChar(char: string): boolean {
    if (this.#reading === "literal") return this.#readLiteral(char);
    if (this.#reading === "number") return this.#readNumber(char);
    if (SPACE.test(char)) return true;
    if (this.#complete) this.#reading = "broken";
    else if (this.#reading === "value" || this.#reading === "first-item") this.#readValue(char);
    else if (this.#reading === "colon") this.#reading = char === ":" ? "value" : "broken";
    else if (this.#reading === "separator") this.#readSeparator(char);
    else this.#readKey(char);
    return true;
  }

  #readValue(char: string): void {
    if (char === "{") this.#openContainer({});
    else if (char === "[") this.#openContainer([]);
    else if (char === "]" && this.#reading === "first-item") this.#closeContainer(char);
    else if (char === '"') {
      this.#addValue("");
      this.#startToken("text", "");
    } else if (LITERALS.has(char)) this.#startToken("literal", char);
    else if (NUMBER_START.test(char)) this.#startToken("number", char);
    else this.#reading = "broken";
  }

  #startToken(reading: Reading, token: string): void {
    this.#reading = reading;
    this.#token = token;
    this.#highSurrogate = "";
  }

  #openContainer(value: Container["value"]): void {
    if (this.#open.length >= DEFAULT_MAX_DEPTH) {
      this.#reading = "broken";
      return;
    }
    this.#addValue(value);
    this.#open.push({ value, key: "" });
    this.#reading = isJsonArray(value) ? "first-item" : "first-key";
  }

  #readKey(char: string): void {
    if (char === '"') this.#startToken("key-text", "");
    else if (char === "}" && this.#reading === "first-key") this.#closeContainer(char);
    else this.#reading = "broken";
  }

  #readSeparator(char: string): void {
    const container = this.#open.at(-1)?.value;
    if (char !== ",") this.#closeContainer(char);
    else this.#reading = isJsonArray(container) ? "value" : "key";
  }

  #closeContainer(char: string): void {
    const container = this.#open.at(-1)?.value;
    if (container === undefined || char !== (isJsonArray(container) ? "]" : "}")) {
      this.#reading = "broken";
      return;
    }
    this.#open.pop();
    this.#finishValue();
  }

  #finishValue(): void {
    this.#reading = "separator";
    this.#complete = this.#open.length === 0;
  }

  #readLiteral(char: string): boolean {
    this.#token += char;
    const [word = "", value = null] = LITERALS.get(this.#token[0] ?? "") ?? [];
    if (this.#token === word) {
      this.#addValue(value);
      this.#finishValue();
    } else if (!word.startsWith(this.#token)) this.#reading = "broken";
    return true;
  }

  #readNumber(char: string): boolean {
    if (NUMBER_PART.test(char)) {
      this.#token += char;
      if (this.#token.length > MAX_NUMBER) this.#reading = "broken";
      return true;
    }
    if (this.#addNumber(this.#token)) this.#finishValue();
    else this.#reading = "broken";
    return false;
  }

  #addNumber(text: string): boolean {
    const number = NUMBER.test(text) ? Number(text) : Infinity;
    if (Number.isFinite(number)) this.#addValue(number);
    return Number.isFinite(number);
  }

  /** Reads a string up to its end or the end of the piece; returns where it stopped. */
  #readText(text: string, start: number): number {
    let at = start;
    while (at < text.length) {
      if (this.#escape !== "") {
        this.#readEscape(text[at++] ?? "");
        if (this.#reading === "broken") return at;
        continue;
      }
      const from = at;
      while (at < text.length && text[at] !== '"' && text[at] !== "\\") at++;
      this.#append(text.slice(from, at));
      if (text[at] === '"') {
        this.#finishString();
        return at + 1;
      }
      if (at < text.length) this.#escape = text[at++] ?? "";
    }
    return at;
  }

  #readEscape(char: string): void {
    this.#escape += char;
    const [, kind = "", ...digits] = this.#escape;
    const plain = JSON_ESCAPES.get(kind);
    if (plain !== undefined) this.#endEscape(plain);
    else if (kind !== "u") this.#reading = "broken";
    else if (digits.length === 4) {
      const code = digits.join("");
      if (HEX.test(code)) this.#endEscape(String.fromCharCode(Number.parseInt(code, 16)));
      else this.#reading = "broken";
    }
  }

  #endEscape(char: string): void {
    this.#escape = "";
    this.#append(char);
  }

  #append(piece: string): void {
    if (piece === "") return;
    const last = piece.charCodeAt(piece.length - 1);
    const split = last >= 0xd800 && last <= 0xdbff;
    this.#token += this.#highSurrogate + (split ? piece.slice(0, -1) : piece);
    this.#highSurrogate = split ? piece.slice(-1) : "";
  }

  #finishString(): void {
    const text = this.#token + this.#highSurrogate;
    if (this.#reading === "text") {
      this.#replaceString(text);
      this.#finishValue();
      return;
    }
    const container = this.#open.at(-1);
    if (container === undefined || Object.hasOwn(container.value, text)) {
      this.#reading = "broken";
      return;
    }
    container.key = text;
    this.#reading = "colon";
  }

  /** Adds a value to the current array or object, or as the root. */
  #addValue(value: JsonValue): void {
    const container = this.#open.at(-1);
    if (container === undefined) this.#root = value;
    else if (Array.isArray(container.value)) container.value.push(value);
    else if (container.key !== "__proto__") container.value[container.key] = value;
  }

  /** Replaces the current string by a longer one. */
  #replaceString(text: string): void {
    const container = this.#open.at(-1);
    if (container !== undefined && Array.isArray(container.value)) container.value[container.value.length - 1] = text;
    else this.#addValue(text);
  }
}

/** Returns the JSON value of a text that may end anywhere; undefined if there is none. */
export function readPartialJson(text: string): JsonValue | undefined {
  checkString(text, "readPartialJson()", "JSON text");
  const reader = new PartialJson();
  reader.push(text);
  return reader.finish();
}
