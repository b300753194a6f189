/** Where a quoted string of damaged JSON ends, and what it says. */
import { decodeString, withoutCutEscape } from "./decode-string.ts";
import type { MendKind } from "./mend.ts";
import type { ReadBudget } from "./read-budget.ts";

/** The place of a string: a key, a value of an object or an array, or the whole text. */
export type StringRole = "key" | "object" | "array" | "top";

export interface StringPlace {
  readonly role: StringRole;
  /** The brackets that close what is open there, the innermost last. */
  readonly open: readonly string[];
}

export interface ReadString {
  readonly text: string;
  /** The offset behind it. */
  readonly end: number;
  /** The text does not end inside it. */
  readonly closed: boolean;
  readonly mends: readonly MendKind[];
}

/** By the quote that opens a string, those that may close it. */
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
/** The one that closes it where quotes are used as they should be. */
const PARTNER: ReadonlyMap<string, string> = new Map([
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
/** How far it is looked ahead at a quote. */
const MAX_LOOK_AHEAD = 256;
/** Matches the text that is allowed between a string that lacks its closing quote and the next quote. */
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

  /** The string that opens at `start` if all quotes are where they should be; undefined where it does not end. */
  exact(start: number): ReadString | undefined {
    const quote = this.#source[start] ?? "";
    const partner = PARTNER.get(quote) ?? quote;
    const end = this.#find(start + 1, partner === quote ? quote : `${partner}${quote}"`);
    if (end < 0 || this.#source[end] !== partner) return undefined; // another may end it: `“x", "b": “y”`
    const { text, mends } = decodeString(this.#source.slice(start + 1, end), quote);
    if (quote !== '"') mends.push("quotes");
    return { text, end: end + 1, closed: true, mends };
  }

  /** The same where quotes are missing, or are inside strings. */
  guess(start: number, place: StringPlace): ReadString {
    const source = this.#source;
    const tripled = source.startsWith(TRIPLE, start) ? source.indexOf(TRIPLE, start + 3) : -1;
    if (source.startsWith(TRIPLE, start)) this.#look((tripled < 0 ? source.length : tripled) - start);
    if (tripled >= 0) return { text: source.slice(start + 3, tripled), end: tripled + 3, closed: true, mends: ["quotes", "quote-inside"] };
    const quote = source[start] ?? "";
    const doubled = this.#doubled(start, quote, place);
    const read = this.#guessFrom(start + 1 + doubled, quote, place);
    return doubled === 0 ? read : { ...read, mends: [...read.mends, "quote-twice"] };
  }

  #guessFrom(from: number, quote: string, place: StringPlace): ReadString {
    const source = this.#source;
    const closing = CLOSING.get(quote) ?? quote;
    const first = this.#find(from, closing);
    if (first < 0) return this.#unclosed(from, quote, place);
    if (this.#closes(first + 1, place))
      return this.#string(from, first, first + 1, quote, source[first] === PARTNER.get(quote) ? [] : ["quote-missing"]);
    const missing = this.#missingEnd(from, first, place);
    if (missing >= 0) return this.#string(from, missing, missing, quote, ["quote-missing"]);
    for (let end = this.#find(first + 1, closing); end >= 0; end = this.#find(end + 1, closing))
      if (this.#closes(end + 1, place)) return this.#string(from, end, end + 1, quote, ["quote-inside"]);
    if (place.role === "key") return this.#string(from, first, first + 1, quote, []);
    return this.#unclosed(from, quote, place);
  }

  /** The text up to the next quote, where that closes a string whose opening quote is missing; undefined where it does not. */
  unopened(start: number, place: StringPlace): ReadString | undefined {
    const end = this.#find(start, '"');
    if (end < 0 || !this.#closes(end + 1, place)) return undefined;
    const raw = this.#source.slice(start, end);
    if (raw.includes("\n") || /[,:{[(]\s*$/u.test(raw)) return undefined;
    return this.#string(start, end, end + 1, '"', ["quote-missing"]);
  }

  #string(from: number, to: number, end: number, quote: string, mends: readonly MendKind[]): ReadString {
    const decoded = decodeString(this.#source.slice(from, to), quote);
    return { text: decoded.text, end, closed: true, mends: [...decoded.mends, ...mends, ...(quote === '"' ? [] : ["quotes" as const])] };
  }

  /** No quote closes the string: it ends before the next member or item where one can be seen, else with the text. */
  #unclosed(from: number, quote: string, { role, open }: StringPlace): ReadString {
    const source = this.#source;
    const rest = source.slice(from);
    const next = role === "array" ? (/[\]}]\s*$/u.test(rest) && !/[()]/u.test(rest) ? rest.indexOf(",") : -1) : nextMember(rest, role);
    if (next >= 0) return this.#string(from, from + next, from + next, quote, ["quote-missing"]);
    const to = endWithoutClosers(source, from, open);
    const { text, mends } = decodeString(withoutCutEscape(source.slice(from, to)), quote);
    return { text, end: to, closed: to < source.trimEnd().length, mends: [...mends, "quote-missing"] };
  }

  /** Where a string ends whose closing quote is missing, so that the next quote opens another; -1 where that is not so. */
  #missingEnd(from: number, next: number, { role }: StringPlace): number {
    const source = this.#source;
    if (role === "top") return -1;
    if (role === "key") {
      const colon = source.indexOf(":", from);
      return colon >= 0 && colon < next ? colon : -1;
    }
    const tail = source.slice(Math.max(from, next - MAX_STRUCTURE), next);
    const found = STRUCTURE_AT_END.exec(tail);
    if (found === null) return -1;
    const after = this.#quotedBehind(next);
    const follows = source[after];
    const opensObject = found[0].trimEnd().endsWith("{");
    const closesObject = found[0].includes("}");
    const key = role === "object" ? !found[0].includes("]") || opensObject : opensObject;
    const joins = found[0].includes("+");
    const fits =
      !joins && (key || closesObject) ? follows === ":" : follows === "," || follows === "]" || follows === "}" || follows === ":";
    return fits ? next - found[0].length : -1;
  }

  /** The offset behind the string that opens at a quote, if that string is short: that of the first character that is no space. */
  #quotedBehind(quote: number): number {
    const end = this.#source.indexOf('"', quote + 1);
    this.#look(Math.max(0, end - quote));
    return end < 0 ? this.#source.length : this.#skipSpace(end + 1);
  }

  /** The next character of a set that no backslash precedes; -1 where there is none. */
  #find(start: number, chars: string): number {
    const source = this.#source;
    for (let at = start; at < source.length; at++) {
      const char = source[at] ?? "";
      if (char === "\\") at++;
      else if (chars.includes(char)) {
        this.#look(at - start);
        return at;
      }
    }
    this.#look(source.length - start);
    return -1;
  }

  /** 1 where the opening quote is doubled and the next one closes the string, as in `""value"`. */
  #doubled(start: number, quote: string, place: StringPlace): number {
    if (this.#source[start + 1] !== quote || !WORD.test(this.#source[start + 2] ?? "")) return 0;
    const end = this.#find(start + 2, CLOSING.get(quote) ?? quote);
    return end >= 0 && this.#closes(end + 1, place) ? 1 : 0;
  }

  /** Whether a quote ends its string, by the text after it. */
  #closes(behind: number, { role, open }: StringPlace): boolean {
    const source = this.#source;
    const at = this.#skipSpace(behind);
    const char = source[at];
    if (char === undefined) return true;
    if (role === "key") return char === ":" || char === "=";
    if (role === "top") return false;
    if (char === ":") return role === "array";
    if (isComment(source, at)) return true;
    if (isCloser(char)) return this.#closersFit(at, open);
    if (char === ",") return role === "array" || this.#startsMember(this.#skipSpace(at + 1), true);
    if (source.slice(behind, at).includes("\n") && role === "object" && this.#startsMember(at, false)) return true;
    return this.#strayBefore(at);
  }

  /** A word that belongs to nothing, and behind it the next member: `"x" oops, "b": 1`. */
  #strayBefore(start: number): boolean {
    const source = this.#source;
    let at = start;
    while (at < start + MAX_STRUCTURE && WORD.test(source[at] ?? "")) at++;
    this.#look(at - start);
    const comma = this.#skipSpace(at);
    const next = this.#skipSpace(comma + 1);
    return at > start && source[comma] === "," && source[next] === '"' && source[this.#quotedBehind(next)] === ":";
  }

  /** Brackets that close at most what is open, and then the end, or a comma where something is still open. */
  #closersFit(start: number, open: readonly string[]): boolean {
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
    return this.#lastQuote < at; // prose behind the end, in which no other quote could be the one that closes
  }

  /** True where a key with its colon is, or the end of the object; where `likely`, any quote will do. */
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
      this.#look(at - start);
      if (source[at] === '"') at++; // its first quote is missing
      const next = this.#skipSpace(at);
      return source[next] === ":" || (source[next] === '"' && next > at && source[this.#quotedBehind(next)] === ":"); // a stray word before it
    }
    while (at < limit && !closing.includes(source[at] ?? "")) at++;
    this.#look(at - start);
    return at === source.length || source[this.#skipSpace(at + 1)] === ":";
  }

  /** The offset of the next character that is no white space, as far as it is looked ahead. */
  #skipSpace(start: number): number {
    const limit = start + MAX_LOOK_AHEAD;
    let at = start;
    while (at < limit && SPACE.test(this.#source[at] ?? "")) at++;
    this.#look(at - start);
    return at;
  }

  #look(count: number): void {
    this.#budget.spend(count);
  }
}

/** Where the next member of an object begins inside a string that nothing closes: `first, b: 1}`. */
function nextMember(rest: string, role: StringRole): number {
  if (role === "key") return rest.indexOf(":");
  if (role !== "object") return -1;
  return /,\s{0,64}(?:["'`][^"'\n]{1,64}["']?|[`\p{L}_][\p{L}\p{N}_]{0,63})\s{0,64}:(?!\/\/)/u.exec(rest)?.index ?? -1;
}

/** A string that never ends may have swallowed the brackets of what is open. */
function endWithoutClosers(source: string, from: number, open: readonly string[]): number {
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
