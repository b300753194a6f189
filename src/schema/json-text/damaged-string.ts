/** Finds the end of a quoted string in damaged JSON, and decodes it. */
import { decodeString, withoutCutEscape } from "./decode-string.ts";
import type { MendKind } from "./mend.ts";
import type { ReadBudget } from "./read-budget.ts";

/** The role of a string: a key, a value in an object or an array, or the whole text. */
export type StringRole = "key" | "object" | "array" | "top";

export interface StringPlace {
  readonly role: StringRole;
  /** The brackets that close what is open there, innermost last. */
  readonly open: readonly string[];
}

export interface ReadString {
  readonly text: string;
  /** Offset directly after the string. */
  readonly end: number;
  /** False if the text ends inside the string. */
  readonly closed: boolean;
  readonly mends: readonly MendKind[];
}

/** For each opening quote, the quotes that may close it. */
const CLOSING: ReadonlyMap<string, string> = new Map([
  ['"', '"”“'],
  ["'", "'’‘"],
  ["`", "`´"],
  ["“", '”“"'],
  ["”", '”“"'],
  ["„", '“”"'],
  ["‘", "’‘'"],
  ["’", "’‘'"],
]);
/** For each opening quote, the one that closes it in correct use. */
const CLOSING_PARTNER: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["'", "'"],
  ["`", "`"],
  ["“", "”"],
  ["”", "”"],
  ["„", "“"],
  ["‘", "’"],
  ["’", "’"],
]);
const TRIPLE = '"""';
const SPACE = /\s/u;
const WORD = /[\p{L}\p{N}_$.-]/u;
/** Maximum number of characters to look ahead at a quote. */
const MAX_LOOK_AHEAD = 256;
/** Matches the text that may be between a string without its closing quote and the next quote. */
const STRUCTURE_AT_END = /(?:[\s}\]]*,[\s{[]*|\s*(?:\/\*[^*]*\*\/)?\+(?:\/\*[^*]*\*\/)?\s*)$/u;
const MAX_STRUCTURE = 64;

export function isQuote(char: string): boolean {
  return CLOSING.has(char);
}

/** Reads the strings of one text. */
export class StringReader {
  readonly #source: string;
  readonly #lastQuote: number;
  readonly #budget: ReadBudget;

  constructor(source: string, budget: ReadBudget) {
    this.#source = source;
    this.#lastQuote = source.lastIndexOf('"');
    this.#budget = budget;
  }

  /** Reads the string at `start`, provided that all quotes are correct; undefined if it does not end. */
  readExact(start: number): ReadString | undefined {
    const quote = this.#source[start] ?? "";
    const partner = CLOSING_PARTNER.get(quote) ?? quote;
    const end = this.#findUnescaped(start + 1, partner === quote ? quote : `${partner}${quote}"`);
    if (end < 0 || this.#source[end] !== partner) return undefined; // another quote may end it: `“x", "b": “y”`
    const { text, mends } = decodeString(this.#source.slice(start + 1, end), quote);
    if (quote !== '"') mends.push("quotes");
    return { text, end: end + 1, closed: true, mends };
  }

  /** Reads the string at `start` even if quotes are missing or occur inside it. */
  readLeniently(start: number, place: StringPlace): ReadString {
    const source = this.#source;
    const tripled = source.startsWith(TRIPLE, start) ? source.indexOf(TRIPLE, start + 3) : -1;
    if (source.startsWith(TRIPLE, start)) this.#spend((tripled < 0 ? source.length : tripled) - start);
    if (tripled >= 0) return { text: source.slice(start + 3, tripled), end: tripled + 3, closed: true, mends: ["quotes", "quote-inside"] };
    const quote = source[start] ?? "";
    const doubled = this.#countDoubledQuote(start, quote, place);
    const read = this.#readLenientlyFrom(start + 1 + doubled, quote, place);
    return doubled === 0 ? read : { ...read, mends: [...read.mends, "quote-twice"] };
  }

  #readLenientlyFrom(from: number, quote: string, place: StringPlace): ReadString {
    const source = this.#source;
    const closing = CLOSING.get(quote) ?? quote;
    const first = this.#findUnescaped(from, closing);
    if (first < 0) return this.#readUnclosed(from, quote, place);
    if (this.#isClosingQuote(first + 1, place))
      return this.#decodeRange(from, first, first + 1, quote, source[first] === CLOSING_PARTNER.get(quote) ? [] : ["quote-missing"]);
    const missing = this.#findMissingEnd(from, first, place);
    if (missing >= 0) return this.#decodeRange(from, missing, missing, quote, ["quote-missing"]);
    for (let end = this.#findUnescaped(first + 1, closing); end >= 0; end = this.#findUnescaped(end + 1, closing))
      if (this.#isClosingQuote(end + 1, place)) return this.#decodeRange(from, end, end + 1, quote, ["quote-inside"]);
    if (place.role === "key") return this.#decodeRange(from, first, first + 1, quote, []);
    return this.#readUnclosed(from, quote, place);
  }

  /** Reads the text up to the next quote as a string without an opening quote; undefined if that quote does not close it. */
  readUnopened(start: number, place: StringPlace): ReadString | undefined {
    const end = this.#findUnescaped(start, '"');
    if (end < 0 || !this.#isClosingQuote(end + 1, place)) return undefined;
    const raw = this.#source.slice(start, end);
    if (raw.includes("\n") || /[,:{[(]\s*$/u.test(raw)) return undefined;
    return this.#decodeRange(start, end, end + 1, '"', ["quote-missing"]);
  }

  #decodeRange(from: number, to: number, end: number, quote: string, mends: readonly MendKind[]): ReadString {
    const decoded = decodeString(this.#source.slice(from, to), quote);
    return { text: decoded.text, end, closed: true, mends: [...decoded.mends, ...mends, ...(quote === '"' ? [] : ["quotes" as const])] };
  }

  /** Reads a string that no quote closes. It ends before the next member or item if there is one, else with the text. */
  #readUnclosed(from: number, quote: string, { role, open }: StringPlace): ReadString {
    const source = this.#source;
    const rest = source.slice(from);
    const next = role === "array" ? (/[\]}]\s*$/u.test(rest) && !/[()]/u.test(rest) ? rest.indexOf(",") : -1) : findNextMember(rest, role);
    if (next >= 0) return this.#decodeRange(from, from + next, from + next, quote, ["quote-missing"]);
    const to = findEndWithoutClosers(source, from, open);
    const { text, mends } = decodeString(withoutCutEscape(source.slice(from, to)), quote);
    return { text, end: to, closed: to < source.trimEnd().length, mends: [...mends, "quote-missing"] };
  }

  /** Returns the end of a string without a closing quote, if the next quote opens another string; else -1. */
  #findMissingEnd(from: number, next: number, { role }: StringPlace): number {
    const source = this.#source;
    if (role === "top") return -1;
    if (role === "key") {
      const colon = source.indexOf(":", from);
      return colon >= 0 && colon < next ? colon : -1;
    }
    const tail = source.slice(Math.max(from, next - MAX_STRUCTURE), next);
    const found = STRUCTURE_AT_END.exec(tail);
    if (found === null) return -1;
    const after = this.#offsetAfterQuoted(next);
    const follows = source[after];
    const opensObject = found[0].trimEnd().endsWith("{");
    const closesObject = found[0].includes("}");
    const key = role === "object" ? !found[0].includes("]") || opensObject : opensObject;
    const joins = found[0].includes("+");
    const fits =
      !joins && (key || closesObject) ? follows === ":" : follows === "," || follows === "]" || follows === "}" || follows === ":";
    return fits ? next - found[0].length : -1;
  }

  /** Returns the offset of the first non-space character after the string that opens at a quote, if the string is short. */
  #offsetAfterQuoted(quote: number): number {
    const end = this.#source.indexOf('"', quote + 1);
    this.#spend(Math.max(0, end - quote));
    return end < 0 ? this.#source.length : this.#skipSpace(end + 1);
  }

  /** Returns the next character of a set that is not after a backslash, or -1. */
  #findUnescaped(start: number, chars: string): number {
    const source = this.#source;
    for (let at = start; at < source.length; at++) {
      const char = source[at] ?? "";
      if (char === "\\") at++;
      else if (chars.includes(char)) {
        this.#spend(at - start);
        return at;
      }
    }
    this.#spend(source.length - start);
    return -1;
  }

  /** Returns 1 if the opening quote is doubled and the next one closes the string, as in `""value"`; else 0. */
  #countDoubledQuote(start: number, quote: string, place: StringPlace): number {
    if (this.#source[start + 1] !== quote || !WORD.test(this.#source[start + 2] ?? "")) return 0;
    const end = this.#findUnescaped(start + 2, CLOSING.get(quote) ?? quote);
    return end >= 0 && this.#isClosingQuote(end + 1, place) ? 1 : 0;
  }

  /** Whether a quote ends its string, judging by the text after it. */
  #isClosingQuote(behind: number, { role, open }: StringPlace): boolean {
    const source = this.#source;
    const at = this.#skipSpace(behind);
    const char = source[at];
    if (char === undefined) return true;
    if (role === "key") return char === ":" || char === "=";
    if (role === "top") return false;
    if (char === ":") return role === "array";
    if (isComment(source, at)) return true;
    if (isCloser(char)) return this.#areClosersBalanced(at, open);
    if (char === ",") return role === "array" || this.#startsMember(this.#skipSpace(at + 1), true);
    if (source.slice(behind, at).includes("\n") && role === "object" && this.#startsMember(at, false)) return true;
    return this.#isStrayWordAt(at);
  }

  /** Whether a stray word follows, and then the next member: `"x" oops, "b": 1`. */
  #isStrayWordAt(start: number): boolean {
    const source = this.#source;
    let at = start;
    while (at < start + MAX_STRUCTURE && WORD.test(source[at] ?? "")) at++;
    this.#spend(at - start);
    const comma = this.#skipSpace(at);
    const next = this.#skipSpace(comma + 1);
    return at > start && source[comma] === "," && source[next] === '"' && source[this.#offsetAfterQuoted(next)] === ":";
  }

  /** Whether the closing brackets match what is open and are followed by the end, or by a comma if something is still open. */
  #areClosersBalanced(start: number, open: readonly string[]): boolean {
    const source = this.#source;
    let at = start;
    let left = open.length;
    const limit = start + MAX_LOOK_AHEAD;
    for (; at < limit && isCloser(source[at]); at = this.#skipSpace(at + 1)) {
      if (left > 0 && source[at] !== open[left - 1]) return false;
      left--;
    }
    const char = source[at];
    if (char === undefined) return true;
    if (left < 0) return false;
    if (left > 0) return char === "," || isQuote(char);
    if (char === "`" || isOpener(char) || source.slice(start, at).includes("\n")) return true;
    if (char === "," && this.#startsMember(this.#skipSpace(at + 1), false)) return true;
    return this.#lastQuote < at; // prose after the end, without another quote that could close the string
  }

  /** Whether a key with a colon, or the end of the object, is here. If `likely`, any quote is enough. */
  #startsMember(start: number, likely: boolean): boolean {
    const source = this.#source;
    const char = source[start];
    if (likely && char === '"') return true;
    if (char === undefined || char === "}" || isOpener(char) || isComment(source, start)) return true;
    const limit = Math.min(source.length, start + MAX_LOOK_AHEAD);
    const closing = CLOSING.get(char);
    let at = start + 1;
    if (closing === undefined) {
      if (!WORD.test(char)) return false;
      while (at < limit && WORD.test(source[at] ?? "")) at++;
      this.#spend(at - start);
      if (source[at] === '"') at++; // its opening quote is missing
      const next = this.#skipSpace(at);
      return source[next] === ":" || (source[next] === '"' && next > at && source[this.#offsetAfterQuoted(next)] === ":"); // a stray word before it
    }
    while (at < limit && !closing.includes(source[at] ?? "")) at++;
    this.#spend(at - start);
    return at === source.length || source[this.#skipSpace(at + 1)] === ":";
  }

  /** Returns the offset of the next character that is not white space, within the look-ahead limit. */
  #skipSpace(start: number): number {
    const limit = start + MAX_LOOK_AHEAD;
    let at = start;
    while (at < limit && SPACE.test(this.#source[at] ?? "")) at++;
    this.#spend(at - start);
    return at;
  }

  #spend(count: number): void {
    this.#budget.spend(count);
  }
}

/** Returns where the next member of an object begins inside an unclosed string: `first, b: 1}`. */
function findNextMember(rest: string, role: StringRole): number {
  if (role === "key") return rest.indexOf(":");
  if (role !== "object") return -1;
  return /,\s{0,64}(?:["'`][^"'\n]{1,64}["']?|[`\p{L}_][\p{L}\p{N}_]{0,63})\s{0,64}:(?!\/\/)/u.exec(rest)?.index ?? -1;
}

/** Returns the end of an unclosed string, without the closing brackets that it may have swallowed. */
function findEndWithoutClosers(source: string, from: number, open: readonly string[]): number {
  const end = source.trimEnd().length;
  let at = end;
  for (let left = open.length; left > 0 && at > from && isCloser(source[at - 1]); left--) at = source.slice(0, at - 1).trimEnd().length;
  return at === end ? source.length : Math.max(from, at);
}

function isCloser(char: string | undefined): boolean {
  return char === "}" || char === "]" || char === ")";
}

function isOpener(char: string | undefined): boolean {
  return char === "{" || char === "[";
}

function isComment(source: string, at: number): boolean {
  const char = source[at];
  return char === "#" || (char === "/" && (source[at + 1] === "/" || source[at + 1] === "*"));
}
