/** Finds a secret in text, also as JSON, addresses, forms, HTML, shells and base64 spell it. */
import { Buffer } from "node:buffer";

/** Shorter parts of base64 and shorter lines also occur where no secret is. */
const MIN_ENCODED_BYTES = 8;
const MIN_LINE_LENGTH = 16;
/** A line of base64, such as the last one of a private key. */
const CODED_LINE = /^[A-Za-z\d+/=_-]{8,}$/u;
/** Number of backslashes that escapes within escapes put before a character. */
const MAX_BACKSLASHES = 4;

/** Replaces a secret in a text by a label, and in base64 by asterisks in base64. */
export type StrikeSecret = (text: string, label: string) => string;

/**
 * Returns the secret and, if it has several lines, such as a private key, each long line of it without spaces at its ends: logs and messages split
 * texts into lines.
 */
export function secretParts(secret: string): readonly string[] {
  const lines = secret.includes("\n") ? secret.split("\n").map((line) => line.trim()) : [];
  const long = lines.filter((line) => line.length >= MIN_LINE_LENGTH || CODED_LINE.test(line));
  return [secret, ...long.filter((line) => !/^-----(?:BEGIN|END) /u.test(line))];
}

/** Returns a secret as it is and, if they differ, as it is usually written in JSON, in an address, in a form, in HTML and in base64. */
export function secretSpellings(secret: string): readonly string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const ascii = json.replaceAll(/[<>&'\u007f-\uffff]/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const address = encodeURI(secret.toWellFormed());
  const encoded = encodeURIComponent(secret.toWellFormed());
  const inForm = new URLSearchParams({ "": secret }).toString().slice(1);
  const lowerCase = [encoded, inForm].map((text) => text.replaceAll(/%[\dA-F]{2}/gu, (octet) => octet.toLowerCase()));
  const html = secret.replaceAll(/[&<>"']/gu, (character) => HTML_NAMES.get(character) ?? character);
  const slashes = [json, ascii].map((text) => text.replaceAll("/", "\\/"));
  const inBase64 = base64Parts(secret).flatMap((part) => [part, part.replaceAll("+", "-").replaceAll("/", "_")]);
  const spaced = encoded.replaceAll("%20", "+");
  return Array.from(new Set([secret, json, ascii, ...slashes, encoded, spaced, inForm, ...lowerCase, address, html, ...inBase64]));
}

const HTML_NAMES: ReadonlyMap<string, string> = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&#39;"],
]);

/** The characters of base64 that only the secret decides, for each place where it may begin in a longer text, such as `user:password`. */
function base64Parts(secret: string): readonly string[] {
  const bytes = Buffer.from(secret.trim());
  if (bytes.length < MIN_ENCODED_BYTES) return [];
  return [0, 1, 2].map((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    return whole.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3));
  });
}

/**
 * Returns a function that replaces a secret in all of its spellings, also where several are mixed. In base64 it becomes as many asterisks. Takes
 * linear time, and little of it for a text that lacks the longest run of letters and digits in the secret.
 */
export function createSecretStriker(secret: string): StrikeSecret {
  if (secret.trim() === "") return (text) => text;
  const strike = createStriker(secret.trimStart(), characterPattern);
  const encoded = base64Parts(secret).map((part, index) => ({
    stars: base64Stars(part, index),
    strike: createStriker(part, base64Pattern),
  }));
  return (text, label) => encoded.reduce((left, each) => each.strike(left, each.stars), strike(text, label));
}

/** Asterisks in base64 that take the place of a part of base64. A label would break a file or an image that has the secret in it. */
function base64Stars(part: string, before: number): string {
  const start = Math.ceil((before * 4) / 3);
  return "Kioq".repeat(part.length).slice(start, start + part.length);
}

/** The units of a secret next to a unit. */
interface Neighbours {
  readonly before: string | undefined;
  readonly after: string | undefined;
}

type PatternOf = (unit: string, neighbours: Neighbours) => string;

function createStriker(secret: string, patternOf: PatternOf): StrikeSecret {
  const plain = longestPlainRun(secret);
  let pattern: RegExp | undefined;
  return (text, label) => {
    if (!text.includes(plain)) return text;
    pattern ??= new RegExp(patternFor(secret, patternOf), "gu");
    return text.replace(pattern, () => label);
  };
}

/** The white space at the end of a secret, such as the last line break of a key file, may be missing. */
function patternFor(secret: string, patternOf: PatternOf): string {
  const written = secret.trimEnd();
  if (ONLY_SPACERS.test(written)) return literal(written); // in any other spelling, indented text would match
  const spaces = secret.length - written.length;
  const units = splitUnits(written);
  const patterns = units.map((unit, at) => patternOf(unit, { before: units[at - 1], after: units[at + 1] }));
  return patterns.join("") + (spaces === 0 ? "" : `${SPACE}{0,${spaces}}`);
}

/**
 * Splits a secret into runs of backslashes, runs with white space, and single characters. A run with white space has everything next to it that could
 * be read as a spelling of white space or as an escape: of two repeats side by side that match the same characters, each could take any part of them,
 * and a text that does not match would take exponential time.
 */
function splitUnits(secret: string): readonly string[] {
  const runs = Array.from(secret.matchAll(SPACERS_OR_CHARACTER), ([run]) => run);
  return runs.flatMap((run) => (/\s/u.test(run) ? [run] : (run.match(/\\+|[^]/gu) ?? [])));
}

const PLAIN = /^[A-Za-z\d_.-]$/u;

/** No spelling changes letters and digits, but for base64. */
function longestPlainRun(secret: string): string {
  const runs = Array.from(secret.matchAll(/[A-Za-z\d]+/gu), ([run]) => run);
  return runs.reduce((longest, run) => (run.length > longest.length ? run : longest), "");
}

/** White space is matched in any length: messages are shortened to one line. */
const SPACE = String.raw`(?:\s|\+|%(?:25){0,2}(?:20|0[9AaDd])|\\{1,${MAX_BACKSLASHES}}(?:[nrt ]|u00(?:20|0[9AaDd]))|&#(?:x0?[AaDd9]|x20|1[03]|9|32);)`;

/** A spelling of a backslash or slash, with the letter after it that makes it an escape of white space, or of white space or a plus sign. */
const SPACER = [
  String.raw`(?:[\\/]|\\u00(?:5[Cc]|2[Ff])|%(?:25){0,2}(?:5[Cc]|2[Ff])|&#(?:92|47|x5[Cc]|x2[Ff]);)[nrt]?`,
  String.raw`\\u00(?:20|0[9AaDd]|2[Bb])`,
  String.raw`[\s+]|%(?:25){0,2}(?:20|0[9AaDd]|2[Bb])|&#(?:32|9|1[03]|43|x0?[9AaDd]|x20|x2[Bb]);`,
].join("|");
const SPACERS = new RegExp(SPACER, "gu");
const ONLY_SPACERS = new RegExp(`^(?:${SPACER})*$`, "u");
const SPACERS_OR_CHARACTER = new RegExp(`(?:${SPACER})+|[^]`, "gu");
/** At the beginning of a secret, a run of any length would be looked for from each of its characters on. */
const MAX_SPACERS_AT_START = 100;

function characterPattern(unit: string, { before, after }: Neighbours): string {
  if (unit.trim() === "") return `${SPACE}+`;
  if (/\s/u.test(unit)) return spacersPattern(unit, before === undefined);
  if (PLAIN.test(unit)) return literal(unit);
  if (unit.startsWith("\\")) return backslashPattern(unit.length, after !== undefined && !PLAIN.test(after));
  // The pattern before it matches the backslashes of its escapes.
  const hasBackslashes =
    before !== undefined && !PLAIN.test(before) && (before.startsWith("\\") || (/\s/u.test(before) && before.trim() !== ""));
  const code = unit.codePointAt(0) ?? 0;
  const written = [literal(unit), percentPattern(unit), ...entityPatterns(unit, code)].join("|");
  const escaped = Array.from({ length: unit.length }, (_, at) => {
    const backslashes = hasBackslashes && at === 0 ? "" : String.raw`\\{1,${MAX_BACKSLASHES}}`;
    return `${backslashes}u${hexPattern(unit.charCodeAt(at), 4)}`;
  });
  return String.raw`(?:${hasBackslashes ? "" : String.raw`\\{0,${MAX_BACKSLASHES}}`}(?:${written})|${escaped.join("")})`;
}

/** As many spacers as the secret has, or more: escapes add backslashes. */
function spacersPattern(run: string, isFirst: boolean): string {
  const count = [...run.replaceAll(/\s+/gu, " ").matchAll(SPACERS)].length;
  return `(?:${SPACER}){${count},${isFirst ? count + MAX_SPACERS_AT_START : ""}}`;
}

/**
 * As one repeat, together with the backslashes of an escape after it: each backslash with alternatives of its own could be matched in exponentially
 * many ways. In addresses, it becomes a slash.
 */
function backslashPattern(count: number, isBeforeEscape: boolean): string {
  const others = ["/", "%(?:25){0,2}5[Cc]", String.raw`\\{1,${MAX_BACKSLASHES}}u005[Cc]`, "&#(?:92|x5[Cc]);"];
  const escape = isBeforeEscape ? MAX_BACKSLASHES : 0;
  const spelled = others.map((other) => `(?:${other}){${count}}`).join("|");
  return String.raw`(?:\\{${count},${count * MAX_BACKSLASHES + escape}}|(?:${spelled})\\{0,${escape}})`;
}

function percentPattern(unit: string): string {
  return Array.from(Buffer.from(unit.toWellFormed()), (byte) => `%(?:25){0,2}${hexPattern(byte, 2)}`).join("");
}

function entityPatterns(unit: string, code: number): readonly string[] {
  const name = HTML_NAMES.get(unit);
  return [`&#0{0,3}(?:${code}|[Xx]0{0,3}${hexPattern(code)});`, ...(name?.endsWith(";") === true && !name.includes("#") ? [name] : [])];
}

/** In either case. */
function hexPattern(code: number, digits = 0): string {
  return code
    .toString(16)
    .padStart(digits, "0")
    .replaceAll(/[a-f]/gu, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

/** In the alphabets of base64 and base64url, and percent-encoded. */
function base64Pattern(unit: string): string {
  if (unit === "+") return "(?:[+-]|%2[Bb])";
  if (unit === "/") return String.raw`(?:\\?/|_|%2[Ff])`;
  return literal(unit);
}

/** With the flag `u`, only these may be escaped. A character that is half a pair is written as it is. */
function literal(text: string): string {
  return text.replaceAll(/[$()*+./?[\\\]^{|}]/gu, String.raw`\$&`);
}
