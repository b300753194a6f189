/** Strict JSON parsing: model output that `JSON.parse` would silently change is refused. */
import { ToolError } from "../error.ts";
import type { JsonLimits } from "./json-limits.ts";
import { DEFAULT_MAX_CHARS, DEFAULT_MAX_DEPTH, DEFAULT_MAX_NODES, isJsonArray, WIDE_OBJECT_KEYS, type JsonValue } from "./json.ts";
import { findStringEnd, parseExactly } from "./parse-exactly.ts";
import { losesIntegerDigits } from "../formats/lost-digits.ts";
import { findJsonProblem } from "./json-problem.ts";
import { shortenNumber } from "./truncate-text.ts";

export interface ParseOptions extends JsonLimits {
  /**
   * How integers with more digits than a double can hold are read: `"string"` as a string, like numbers too large for one; `"round"` as the nearest
   * number. @default "refuse"
   */
  readonly longIntegers?: "refuse" | "string" | "round";
}

/**
 * Parses JSON text like `JSON.parse`, and refuses what that would change silently: duplicate keys, integers with more digits than a double can hold,
 * and numbers too large for one.
 *
 * Depth and size are checked before anything is built. `-0`, `\u0000` and lone surrogates are kept; a `__proto__` key becomes an own property, never
 * a prototype. For `maxNodes`, every comma, array and object counts as one. The value is not frozen (see `copyJson`).
 *
 * @throws ToolError `invalid_input` with line and column, or `too_large` if a limit is exceeded.
 */
export function parseJson(text: string, limits: ParseOptions = {}): JsonValue {
  const { maxChars = DEFAULT_MAX_CHARS, longIntegers = "refuse" } = limits;
  if (text.length > maxChars) throw new ToolError("too_large", `The JSON text has ${text.length} characters; ${maxChars} is the limit.`);
  const { maxDepth = DEFAULT_MAX_DEPTH, maxNodes = DEFAULT_MAX_NODES } = limits;
  const keys = scanJson(text, { maxDepth, maxNodes, longIntegers });
  const { maxWideKeys = Infinity } = limits;
  if (keys > maxWideKeys && countWideKeys(text) > maxWideKeys)
    throw new ToolError("too_large", `The JSON text has objects of more than ${maxWideKeys} keys in all.`);
  let value: JsonValue;
  try {
    value = parseExactly(text, longIntegers === "string" && LONG_NUMBER.test(text) ? stringifyLongNumber : undefined) as JsonValue; // JSON by definition
  } catch (error: unknown) {
    throw syntaxError(text, error);
  }
  if (keys > 1 && countKeys(value) !== keys) throw syntaxError(text);
  return value;
}

/** Matches so many digits that a double may not hold them. */
export const LONG_INTEGER = /\d{16}/u;

/** Matches JSON that may contain a number with more digits than a double can hold, or one too large for it; rarely, JSON with ids like `3e8f`. */
export const LONG_NUMBER = /\d{16}|(?:^|[[:,\s])-?\d+(?:\.\d+)?[eE]\+?\d/u;

/**
 * A reviver for `JSON.parse`: a number with more digits than a double can hold, or too large for one, becomes a string.
 *
 * @see https://github.com/tc39/proposal-json-parse-with-source for the third argument (Node 22)
 */
export function stringifyLongNumber(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? "";
  return !Number.isFinite(value) || (/^-?\d+$/u.test(source) ? String(value) !== source : losesIntegerDigits(source, value))
    ? source
    : value;
}

const QUOTE = 0x22;
const SAFE_DIGITS = 15;

/** Scans the text once, checks limits and numbers, and returns the number of keys, provided that the text is valid. */
function scanJson(text: string, { maxDepth, maxNodes, longIntegers }: Required<Omit<ParseOptions, "maxChars" | "maxWideKeys">>): number {
  let depth = 0;
  let nodes = 0;
  let keys = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = findStringEnd(text, at + 1);
    } else if (code === 0x2c) {
      nodes++;
    } else if (code === 0x3a) {
      keys++;
    } else if (code === 0x7b || code === 0x5b) {
      nodes++;
      if (++depth > maxDepth) throw tooLargeError(text, at, `nests deeper than ${maxDepth} levels`);
      if (nodes > maxNodes) throw tooLargeError(text, at, `holds more than ${maxNodes} values`);
    } else if (code === 0x7d || code === 0x5d) {
      depth--;
    } else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      at = scanNumber(text, at, longIntegers) - 1;
    }
  }
  if (nodes > maxNodes) throw tooLargeError(text, text.length, `holds more than ${maxNodes} values`);
  return keys;
}

/** Returns the total number of keys in objects with more than `WIDE_OBJECT_KEYS` keys, counted in the text, which may be truncated. */
export function countWideKeys(text: string): number {
  const open: number[] = [];
  let keys = 0;
  let wide = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = findStringEnd(text, at + 1);
    } else if (code === 0x3a) {
      keys++;
    } else if (code === 0x7b || code === 0x5b) {
      open.push(keys);
      keys = 0;
    } else if (code === 0x7d || code === 0x5d) {
      if (keys > WIDE_OBJECT_KEYS) wide += keys;
      keys = open.pop() ?? 0;
    }
  }
  const unclosed = open.length === 0 ? [] : [...open.slice(1), keys]; // the first count belongs to the text before the first bracket
  for (const count of unclosed) if (count > WIDE_OBJECT_KEYS) wide += count;
  return wide;
}

/** Refuses a number that a double cannot hold; returns the offset after it. `JSON.parse` checks its grammar. */
function scanNumber(text: string, start: number, longIntegers: ParseOptions["longIntegers"]): number {
  let end = start + 1;
  let integer = true;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code >= 0x30 && code <= 0x39) continue;
    if (code !== 0x2e && code !== 0x65 && code !== 0x45 && code !== 0x2b && code !== 0x2d) break;
    integer = false;
  }
  if (end - start <= (integer ? SAFE_DIGITS : 4)) return end;
  const literal = text.slice(start, end);
  const number = Number(literal);
  if (longIntegers !== "string" && !Number.isFinite(number) && !Number.isNaN(number)) {
    throw invalidJsonError(
      text,
      start,
      `the number ${shortenNumber(literal)} is too large`,
      "Send it as a string, or as a number below 1.8e308.",
    );
  }
  const isLong = !Number.isSafeInteger(number) && (integer ? String(number) !== literal : losesIntegerDigits(literal, number));
  if (longIntegers === "refuse" && isLong) {
    throw invalidJsonError(
      text,
      start,
      `the integer ${shortenNumber(literal)} would lose digits`,
      `Send it as a string: "${shortenNumber(literal)}".`,
    );
  }
  return end;
}

/** Counts the own keys in the whole tree, whose depth was already checked. */
function countKeys(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (isJsonArray(value)) {
    for (const item of value) if (typeof item === "object" && item !== null) count += countKeys(item);
    return count;
  }
  for (const item of Object.values(value)) count += typeof item === "object" && item !== null ? 1 + countKeys(item) : 1;
  return count;
}

function syntaxError(text: string, cause?: unknown): ToolError {
  const fault = findJsonProblem(text);
  if (fault === undefined) return new ToolError("invalid_input", "The text is not JSON.", { cause });
  return invalidJsonError(text, fault.at, fault.problem, fault.hint);
}

function invalidJsonError(text: string, at: number, problem: string, hint: string): ToolError {
  return new ToolError("invalid_input", `Not valid JSON at ${formatPosition(text, at)}: ${problem}.`, { hint });
}

function tooLargeError(text: string, at: number, problem: string): ToolError {
  return new ToolError("too_large", `The JSON text ${problem}, at ${formatPosition(text, at)}.`);
}

/** Returns `line 2, column 14`; both start at 1, columns in UTF-16 units. */
function formatPosition(text: string, at: number): string {
  let line = 1;
  let lineStart = 0;
  for (let next = text.indexOf("\n"); next >= 0 && next < at; next = text.indexOf("\n", lineStart)) {
    line++;
    lineStart = next + 1;
  }
  return `line ${line}, column ${at - lineStart + 1}`;
}
