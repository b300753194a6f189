/** Reads keys, strings and words of damaged JSON, one after the other. */
import type { JsonValue } from "../../core/base/json.ts";
import { isQuote, type StringReader, type StringRole } from "./damaged-string.ts";
import type { DamagedText } from "./damaged-text.ts";
import { readWord, type ReadWord } from "./damaged-word.ts";
import { Mends, type MendKind } from "./mend.ts";
import type { Outline } from "./outline.ts";
import type { SpaceScanner } from "./space-scanner.ts";
import { Unreadable } from "./unreadable.ts";

export const CLOSERS = "}])";
export const KEY_CHAR = /[\p{L}\p{N}_$.-]/u;
const VALUE_START = /^(?:true|false|null|True|False|None|-?\d)/u;

export interface TokenReaderOptions {
  /** Offset to begin at. */
  readonly start: number;
  /** Whether every string must begin and end with its quotes; fails otherwise. */
  readonly exact: boolean;
  /** Records values that must not be accepted, instead of failing. */
  readonly outline?: Outline | undefined;
}

export class TokenReader {
  protected readonly text: DamagedText;
  protected readonly source: string;
  protected readonly exact: boolean;
  protected readonly outline: Outline | undefined;
  protected readonly strings: StringReader;
  protected readonly spaces: SpaceScanner;
  protected readonly mends = new Mends();
  /** The brackets that close what is open, innermost last. */
  protected readonly openBrackets: string[] = [];
  protected at: number;

  constructor(text: DamagedText, { start, exact, outline }: TokenReaderOptions) {
    this.text = text;
    this.source = text.source;
    this.exact = exact;
    this.outline = outline;
    this.strings = text.strings;
    this.spaces = text.spaces;
    this.at = start;
  }

  protected get char(): string {
    return this.source[this.at] ?? "";
  }

  /** Reads a key; undefined if the text ends before the colon. */
  protected readKey(): string | undefined {
    const start = this.at;
    const key = isQuote(this.char) ? this.readString("key") : ((this.exact ? undefined : this.#readUnopened("key")) ?? this.#readBareKey());
    this.skipSpace();
    if (this.char === "") {
      this.mends.add("cut-off", start);
      return undefined;
    }
    if (this.at === start) throw this.unreadableError(`expected a key, found ${showText(this.char)}`);
    return key;
  }

  #readBareKey(): string {
    const start = this.at;
    while (KEY_CHAR.test(this.char)) this.at++;
    const key = this.source.slice(start, this.at);
    this.skipSpace();
    if (isQuote(this.char) && key !== "") return this.#readKeyBeforeQuote(key);
    if (key !== "") this.mends.add("bare-key", start);
    return key;
  }

  /** Reads a key before a quote: `key": 1` lacks its opening quote; in `word "key": 1`, the word is not part of the key. */
  #readKeyBeforeQuote(key: string): string {
    if (this.exact) throw this.unreadableError("a word next to a string");
    const behind = this.spaces.skip(this.at + 1);
    if (this.source[behind] === ":") {
      this.addMend("quote-missing");
      this.at++;
      return key;
    }
    const quoted = this.source.indexOf(this.char, this.at + 1);
    if (quoted < 0 || quoted - this.at > 256 || this.source[this.spaces.skip(quoted + 1)] !== ":") {
      this.addMend("bare-key");
      return key;
    }
    this.addMend("stray");
    return this.readString("key");
  }

  /** Reads the colon; returns whether it was missing. */
  protected readColon(commaMissing: boolean, keyAt: number): boolean {
    const char = this.char;
    if (char === ":") {
      this.at++;
      return false;
    }
    if (char === "=") {
      this.at += this.source.startsWith("=>", this.at) ? 2 : 1;
      this.mends.add("colon", keyAt);
      return false;
    }
    const word = VALUE_START.test(this.source.slice(this.at, this.at + 8));
    const opens = char === "{" || char === "[" || isQuote(char);
    if (!word && !opens) throw this.unreadableError(`expected ":" after a key, found ${showText(char)}`);
    this.mends.add(commaMissing ? "colon-guess" : "colon", keyAt);
    return true;
  }

  protected readString(role: StringRole): string {
    const place = { role, open: this.openBrackets };
    const read = this.exact ? this.strings.readExact(this.at) : this.strings.readLeniently(this.at, place);
    if (read === undefined) throw this.unreadableError("a string is not closed");
    for (const kind of read.mends) this.addMend(kind);
    if (!read.closed) this.addMend("cut-off");
    this.at = read.end;
    return read.text;
  }

  #readUnopened(role: StringRole): string | undefined {
    const read = this.strings.readUnopened(this.at, { role, open: this.openBrackets });
    if (read === undefined) return undefined;
    for (const kind of read.mends) this.addMend(kind);
    this.at = read.end;
    return read.text;
  }

  /** Reads strings that are joined, such as `"abc" + "def"`. */
  protected readJoinedStrings(role: StringRole): string {
    let text = this.readString(role);
    for (;;) {
      const end = this.at;
      this.skipSpace();
      const plus = this.char === "+";
      if (plus) {
        this.at++;
        this.skipSpace();
      }
      if (!plus || !isQuote(this.char)) {
        this.at = end;
        return text;
      }
      this.addMend("joined");
      text += this.readString(role);
    }
  }

  /** Reads a number or a constant of JSON or another language, else text up to the next delimiter. */
  protected readWordValue(role: StringRole): JsonValue {
    const start = this.at;
    const unopened = this.exact ? undefined : this.#readUnopened(role);
    if (unopened !== undefined) return unopened;
    const first = this.spaces.findWordEnd(start, role === "array");
    const token = this.source.slice(start, first);
    const known = token === "-" || token === "+" ? undefined : this.#readWord(token, start);
    if (known !== undefined && this.#isValueEnd(first, role)) return this.#acceptWord(known, first);
    if (this.exact && isQuote(this.source[this.spaces.skip(first)] ?? "")) throw this.unreadableError("a word next to a string");
    const end = this.spaces.findTextEnd(start, role === "array");
    const word = this.source.slice(start, end).trimEnd();
    if (known !== undefined && /^\p{L}/u.test(token)) return this.#acceptWord(known, first); // a stray word follows
    if (word === "") throw this.unreadableError(`expected a value, found ${showText(this.char)}`);
    const whole = this.#readWord(word, start);
    if (whole !== undefined) return this.#acceptWord(whole, start + word.length);
    this.at = start + word.length;
    const next = this.spaces.skip(this.at);
    if (isQuote(this.source[next] ?? "")) return this.#readWordBeforeQuote(word, next, role);
    this.mends.add("bare-string", start);
    return word;
  }

  /** Reads a word. A number that would lose digits is refused, or recorded in the outline. */
  #readWord(word: string, at: number): ReadWord | undefined {
    try {
      return readWord(word, at);
    } catch (thrown: unknown) {
      if (this.outline === undefined || !(thrown instanceof Unreadable)) throw thrown;
      this.outline.isLossy = true;
      return { value: word, mend: undefined };
    }
  }

  #acceptWord({ value, mend }: ReadWord, end: number): JsonValue {
    if (mend !== undefined) this.addMend(mend);
    this.at = end;
    if (end >= this.source.length) this.addMend("cut-off"); // the word may be incomplete
    return value;
  }

  /** Whether a value may end here: before a delimiter, or the next key or item. */
  #isValueEnd(end: number, role: StringRole): boolean {
    const at = this.spaces.skip(end);
    const char = this.source[at] ?? "";
    if (char === "" || char === "," || CLOSERS.includes(char)) return true;
    if (at === end) return isQuote(char) || char === "{" || char === "[";
    if (isQuote(char) || char === "{" || char === "[") return true;
    const next = this.source.slice(at, this.spaces.findWordEnd(at, true));
    const behind = this.source[this.spaces.skip(at + next.length)] ?? "";
    return role === "array" ? /^[-+.\d]/u.test(next) || readWord(next, at) !== undefined : behind === ":";
  }

  /** Reads a word before a quote: `word"` lacks its opening quote; `word "key":` a comma; in `word "text",` the word is stray. */
  #readWordBeforeQuote(word: string, quote: number, role: StringRole): JsonValue {
    if (this.exact) throw this.unreadableError("a word next to a string");
    const behind = this.source[this.spaces.skip(quote + 1)] ?? "";
    const close = this.source.indexOf(this.source[quote] ?? "", quote + 1);
    const after = close < 0 || close - quote > 256 ? "" : (this.source[this.spaces.skip(close + 1)] ?? "");
    if (role === "object" && after === ":" && behind !== ",") {
      this.addMend("bare-string");
      return word;
    }
    if (behind === "" || behind === "," || CLOSERS.includes(behind)) {
      this.addMend("quote-missing");
      this.at = quote + 1;
      return word;
    }
    this.addMend("stray");
    this.at = quote;
    return this.readJoinedStrings(role);
  }

  /** Skips a stray word after a value. */
  protected skipStrayWord(close: string): void {
    this.skipSpace();
    const char = this.char;
    if (this.exact || !KEY_CHAR.test(char)) return;
    const end = this.spaces.findWordEnd(this.at, true);
    const behind = this.source[this.spaces.skip(end)] ?? "";
    if (behind === ":" || (close !== "}" && readWord(this.source.slice(this.at, end), this.at) !== undefined)) return;
    if (behind !== "," && behind !== "" && !CLOSERS.includes(behind) && !isQuote(behind)) return;
    this.addMend("stray");
    this.at = end;
  }

  protected skipSpace(also = ""): void {
    this.at = this.spaces.skip(this.at, also);
    const comment = this.spaces.takeCommentKind();
    if (comment !== undefined) this.addMend(comment);
  }

  protected addMend(kind: MendKind): void {
    this.mends.add(kind, this.at);
  }

  protected unreadableError(problem: string): Unreadable {
    return new Unreadable(problem, this.at);
  }
}

export function showText(text: string): string {
  return text === "" ? "the end of the text" : JSON.stringify(text.length <= 60 ? text : `${text.slice(0, 56)}…`);
}
