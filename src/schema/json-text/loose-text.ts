/** Where a quoted text ends in broken JSON whose quotes may not be escaped, and what it says. */

/** What a text is: a key, or a value of an object, of an array, or by itself. */
export type TextRole = "key" | "object" | "array" | "top";

export interface LooseText {
  readonly text: string;
  /** The offset behind it. */
  readonly end: number;
  /** Its closing quote was found. */
  readonly closed: boolean;
}

/** By the quote that opens a text, those that close it. */
const CLOSING: ReadonlyMap<string, string> = new Map([
  ['"', '"”“'],
  ["'", "'’‘"],
  ["`", "`´"],
  ["“", '”“"'],
  ["”", '”“"'],
  ["‘", "’‘'"],
  ["’", "’‘'"],
]);
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);
const UNESCAPED = /["'`“”‘’\\/]/u;
const TRIPLE = '"""';
const SPACE = /\s/u;
const HEX = /^[0-9a-fA-F]{4}$/u;
const WORD = /[\p{L}\p{N}_$.-]/u;
/** How far it is looked ahead at each quote, so that reading stays linear. */
const MAX_LOOK_AHEAD = 256;

export function isQuote(char: string): boolean {
  return CLOSING.has(char);
}

/** Reads the text that opens at `start`; `depth` is how many arrays and objects are open there. */
export function readLooseText(
  source: string,
  start: number,
  { role, depth }: { readonly role: TextRole; readonly depth: number },
): LooseText {
  const tripled = source.startsWith(TRIPLE, start) ? source.indexOf(TRIPLE, start + 3) : -1;
  if (tripled >= 0) return { text: source.slice(start + 3, tripled), end: tripled + 3, closed: true };
  const closing = CLOSING.get(source[start] ?? "") ?? "";
  const pieces: string[] = [];
  let at = start + 1 + doubledQuote(source, start);
  let from = at;
  for (; at < source.length; at++) {
    const char = source[at] ?? "";
    if (char === "\\") {
      const { text, length } = readEscape(source, at);
      pieces.push(source.slice(from, at), text);
      at += length - 1;
      from = at + 1;
    } else if (closing.includes(char) && closes(source, at + 1, role, depth)) {
      pieces.push(source.slice(from, at));
      return { text: pieces.join(""), end: at + 1, closed: true };
    }
  }
  pieces.push(source.slice(from));
  return { text: pieces.join(""), end: source.length, closed: false };
}

/** 1 where the opening quote stands twice, as in `""value"`. */
function doubledQuote(source: string, start: number): number {
  if (source[start + 1] !== source[start]) return 0;
  return WORD.test(source[start + 2] ?? "") ? 1 : 0;
}

function readEscape(source: string, at: number): { readonly text: string; readonly length: number } {
  const kind = source[at + 1] ?? "";
  const plain = ESCAPES.get(kind) ?? (UNESCAPED.test(kind) ? kind : undefined);
  if (plain !== undefined) return { text: plain, length: 2 };
  const code = source.slice(at + 2, at + 6);
  if (kind === "u" && HEX.test(code)) return { text: String.fromCharCode(Number.parseInt(code, 16)), length: 6 };
  return { text: "\\", length: 1 };
}

/** Whether a quote ends its text, by what stands behind it. */
function closes(source: string, behind: number, role: TextRole, depth: number): boolean {
  const at = skipSpace(source, behind);
  const char = source[at];
  if (char === undefined) return true;
  if (role === "key") return char === ":" || isCloser(char) || char === ",";
  if (role === "top") return false;
  if (char === ":") return role === "array";
  if (isCloser(char)) return closersFit(source, at, depth);
  const next = char === "," ? skipSpace(source, at + 1) : at;
  const apart = char === "," || source.slice(behind, at).includes("\n");
  if (!apart) return false;
  return role === "array" ? char === "," : startsMember(source, next);
}

/** Brackets that close at most what is open, and then the end, or a comma where something is still open. */
function closersFit(source: string, start: number, depth: number): boolean {
  let at = start;
  let left = depth;
  const limit = start + MAX_LOOK_AHEAD;
  for (; at < limit && left >= 0; at = skipSpace(source, at + 1)) {
    if (!isCloser(source[at])) break;
    left--;
  }
  const char = source[at];
  if (left < 0) return false;
  if (left > 0) return char === undefined || char === "," || isQuote(char);
  if (char === undefined || char === "`" || isOpener(char) || source.slice(start, at).includes("\n")) return true;
  if (char === "," && startsMember(source, skipSpace(source, at + 1))) return true;
  return !source.includes('"', at); // prose behind the end, in which no other quote could be the one that closes
}

function isCloser(char: string | undefined): boolean {
  return char === "}" || char === "]" || char === ")";
}

function isOpener(char: string | undefined): boolean {
  return char === "{" || char === "[";
}

/** True where a key with its colon stands, or the end of the object. */
function startsMember(source: string, start: number): boolean {
  const char = source[start];
  if (char === undefined || char === "}" || char === "#" || isOpener(char)) return true;
  if (char === "/" && (source[start + 1] === "/" || source[start + 1] === "*")) return true;
  const limit = Math.min(source.length, start + MAX_LOOK_AHEAD);
  const closing = CLOSING.get(char);
  let at = start + 1;
  if (closing === undefined) {
    if (!WORD.test(char)) return false;
    while (at < limit && WORD.test(source[at] ?? "")) at++;
    return source[skipSpace(source, at)] === ":";
  }
  while (at < limit && !closing.includes(source[at] ?? "")) at++;
  return at === source.length || source[skipSpace(source, at + 1)] === ":";
}

/** The offset of the next character that is no white space, as far as it is looked ahead. */
function skipSpace(source: string, start: number): number {
  const limit = start + MAX_LOOK_AHEAD;
  let at = start;
  while (at < limit && SPACE.test(source[at] ?? "")) at++;
  return at;
}
