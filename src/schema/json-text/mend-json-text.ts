/** Reads the JSON in a model's text: strict JSON, damaged JSON, JSON that was cut off, JSON in a code fence or in prose. */
import { checkArgument, checkString } from "../../core/check-argument.ts";
import { DEFAULT_MAX_DEPTH, type JsonValue } from "../../core/base/json.ts";
import { readDamaged } from "./damaged-reader.ts";
import { DamagedText, MAX_DAMAGED_CHARS } from "./damaged-text.ts";
import { parseSafeJson, copySafeJson } from "./safe-json.ts";
import { isOpeningBracket, readDamagedJson, classifyRest, findJsonStart } from "./read-damaged-json.ts";
import { Unreadable } from "./unreadable.ts";
import { isQuote } from "./damaged-string.ts";
import { readWord } from "./damaged-word.ts";

const MAX_VALUES = 1_024;

/**
 * Returns the deeply frozen value of a text. Use it for text that is displayed or that a person confirms, never for a call that runs without
 * confirmation: a text that was cut off is closed where it ends. When the runtime runs a call with damaged arguments, it runs with this value.
 *
 * Several arrays and objects in a row become an array of them. Text without JSON is returned as a string if it is a single line of words, else
 * undefined. Duplicate keys with different values and integers that would lose digits are refused; a key `__proto__` is left out.
 */
export function mendJsonText(text: string, maxDepth: number = DEFAULT_MAX_DEPTH): JsonValue | undefined {
  checkString(text, "mendJsonText()", "JSON text");
  checkArgument(typeof maxDepth === "number", "mendJsonText(text, maxDepth)", "a number of levels", maxDepth);
  const trimmed = text.replace(/^\uFEFF/u, "").trim();
  const strict = parseSafeJson(trimmed, maxDepth);
  if (strict !== undefined) return strict;
  if (trimmed === "" || trimmed.length > MAX_DAMAGED_CHARS) return undefined;
  try {
    const value = readText(trimmed, maxDepth);
    return value === undefined ? undefined : copySafeJson(value, maxDepth);
  } catch (thrown: unknown) {
    if (thrown instanceof Unreadable) return undefined;
    throw thrown;
  }
}

function readText(text: string, maxDepth: number): JsonValue | undefined {
  if (!/[{[]/u.test(text) && !text.startsWith("(")) return readScalar(text);
  try {
    return readDamagedJson(text, maxDepth).value;
  } catch (thrown: unknown) {
    if (!(thrown instanceof Unreadable) || thrown.isFinal) throw thrown;
    return readValueSequence(text, maxDepth) ?? (isQuoted(text) ? readScalar(text) : undefined);
  }
}

/** Brackets inside a string do not count. */
function isQuoted(text: string): boolean {
  return !isOpeningBracket(text[0]) && /^["'“‘]/u.test(text);
}

/** Reads arrays and objects in a row, up to prose. */
function readValueSequence(text: string, maxDepth: number): JsonValue | undefined {
  const values: JsonValue[] = [];
  const damaged = new DamagedText(text);
  for (let at = findJsonStart(text); at >= 0 && at < text.length && values.length < MAX_VALUES;) {
    const { value, end } = readNextValue(damaged, at, maxDepth);
    values.push(value);
    const rest = classifyRest(damaged, end);
    if (rest === "attached") return undefined;
    if (rest !== "value") break;
    at = damaged.spaces.skip(end, ",;`");
  }
  return values.length > 1 ? values : values[0];
}

function readNextValue(text: DamagedText, start: number, maxDepth: number): { readonly value: JsonValue; readonly end: number } {
  try {
    const read = readDamaged(text, { start, maxDepth, exactStrings: true });
    if (read.mends.certainty !== "cut") return read;
  } catch (thrown: unknown) {
    if (!(thrown instanceof Unreadable) || thrown.isFinal) throw thrown;
  }
  return readDamaged(text, { start, maxDepth });
}

/** Matches a function call around a value: `callback(null);` */
const CALLBACK = /^[\p{L}_$][\p{L}\p{N}_$.]*\s?\(([^()]*)\)\s?;?$/u;

/** Reads a scalar; undefined for several lines of prose. Lines of numbers are an array of them. */
function readScalar(text: string): JsonValue | undefined {
  const trimmed = text.slice(new DamagedText(text).spaces.skip(0)).replace(/[\s,;]{0,64}$/u, "");
  const inner = CALLBACK.exec(trimmed)?.[1] ?? trimmed;
  const source = /^\\["']/u.test(inner) ? inner.replaceAll(/\\(["'])/gu, "$1").replace(/\\$/u, "") : inner;
  if (source === "") return undefined;
  if (isQuote(source[0] ?? "")) {
    const read = new DamagedText(source).strings.readLeniently(0, { role: "top", open: [] });
    return read.end >= source.length ? read.text : undefined;
  }
  const word = readWord(source, 0);
  if (word !== undefined) return word.value;
  if (!source.includes("\n")) return source;
  const numbers = source.split("\n").map((line) => readWord(line.trim(), 0)?.value);
  return numbers.every((number) => typeof number === "number") ? numbers : undefined;
}
