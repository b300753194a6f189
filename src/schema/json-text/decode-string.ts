/** Decodes a string of damaged JSON; escapes that JSON does not have are kept unchanged. */
import type { MendKind } from "./mend.ts";
import { Unreadable } from "./unreadable.ts";

export interface DecodedString {
  readonly text: string;
  readonly mends: MendKind[];
}

/** The characters that may follow a backslash in JSON, except `u`. @see RFC 8259, section 7 */
export const JSON_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);
/** Characters that other languages escape and JSON does not. */
const ESCAPED_MARKS = "'`“”„‘’";
const HEX = /^[0-9a-fA-F]{4}$/u;
const CONTROL = /[\u0000-\u001f]/u;
/** Control characters that do not occur in text. */
const FORBIDDEN_CONTROL = /[\u0000-\u0007\u000b\u000e-\u001f]/u;
/** An escape that Python or JavaScript has and JSON does not, as in `repr("\xa0")`: the character may be meant, or the text as it stands. */
const FOREIGN_ESCAPE = /\\(?:x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|u\{[0-9a-fA-F]{1,6}\}|N\{|0(?!\d))/uy;
/** A UNC path whose backslashes were not escaped: no other two are adjacent. */
const UNC_PATH = /^\\\\[\w.](?!.*\\\\)/su;
/** The beginning of a Windows path, whose backslashes are not escapes. */
const PATH = /^(?:[A-Za-z]:\\|\\\\[\w.])/u;

/**
 * Decodes the text between quotes.
 *
 * An escape that JSON does not have keeps its backslash. If a string has one, `\b` and `\f` are taken literally too, and in a Windows path
 * every backslash is: the backslashes were not escaped.
 */
export function decodeString(raw: string, quote: string): DecodedString {
  const mends: MendKind[] = CONTROL.test(raw) ? ["control"] : [];
  if (mends.length > 0 && FORBIDDEN_CONTROL.test(raw)) throw new Unreadable("a string contains a control character", 0);
  if (!raw.includes("\\")) return { text: raw, mends };
  const escapes = classifyEscapes(raw, quote);
  const isPath = PATH.test(raw);
  if (escapes.unknown) mends.push(escapes.known || (escapes.foreign && !isPath) ? "escape-guess" : "escape");
  if (escapes.marks) mends.push("quote-escape");
  const pieces: string[] = [];
  const keptEscapes = escapes.unknown ? (isPath ? "bfnrtu" : "bf") : "";
  let from = escapes.unknown && UNC_PATH.test(raw) ? 2 : 0;
  if (from > 0) pieces.push("\\\\");
  for (let at = raw.indexOf("\\", from); at >= 0; at = raw.indexOf("\\", from)) {
    const { text, length } = readEscape(raw, at, quote, keptEscapes);
    pieces.push(raw.slice(from, at), text);
    from = at + length;
  }
  pieces.push(raw.slice(from));
  return { text: pieces.join(""), mends };
}

interface EscapeKinds {
  /** Whether there is an escape that JSON does not have. */
  unknown: boolean;
  /** Whether one of them is an escape of Python or JavaScript. */
  foreign: boolean;
  /** Whether there is one that JSON has, except that of a quote. */
  known: boolean;
  /** Whether a quote is escaped that needs no escape. */
  marks: boolean;
}

function classifyEscapes(raw: string, quote: string): EscapeKinds {
  const escapes: EscapeKinds = { unknown: false, foreign: false, known: false, marks: false };
  for (let at = raw.indexOf("\\"); at >= 0; at = raw.indexOf("\\", at + 2)) {
    const kind = raw[at + 1] ?? "";
    if (kind === quote || kind === '"') continue;
    if (ESCAPED_MARKS.includes(kind) && kind !== "") escapes.marks = true;
    else if (JSON_ESCAPES.has(kind) || (kind === "u" && HEX.test(raw.slice(at + 2, at + 6)))) escapes.known = true;
    else {
      escapes.unknown = true;
      FOREIGN_ESCAPE.lastIndex = at;
      escapes.foreign ||= FOREIGN_ESCAPE.test(raw);
    }
  }
  return escapes;
}

function readEscape(raw: string, at: number, quote: string, keptEscapes: string): { readonly text: string; readonly length: number } {
  const kind = raw[at + 1] ?? "";
  if (kind === "") return { text: "\\", length: 1 };
  if (keptEscapes.includes(kind)) return { text: `\\${kind}`, length: 2 };
  const plain = kind === quote || ESCAPED_MARKS.includes(kind) ? kind : JSON_ESCAPES.get(kind);
  if (plain !== undefined) return { text: plain, length: 2 };
  const code = raw.slice(at + 2, at + 6);
  if (kind === "u" && HEX.test(code)) return { text: String.fromCharCode(Number.parseInt(code, 16)), length: 6 };
  return { text: `\\${kind}`, length: 2 };
}

/** Removes the incomplete escape at the end of a text that was cut off. */
export function withoutCutEscape(raw: string): string {
  const start = raw.lastIndexOf("\\", raw.length - 1);
  if (start < raw.length - 5 || start < 0 || !/^\\(?:u[0-9a-fA-F]{0,3})?$/u.test(raw.slice(start))) return raw;
  let before = start;
  while (before > 0 && raw[before - 1] === "\\") before--;
  return (start - before) % 2 === 0 ? raw.slice(0, start) : raw;
}
