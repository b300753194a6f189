/** Describes how a value violates its schema. */
import { losesIntegerDigits } from "../core/formats/lost-digits.ts";
import { escapePointerStep } from "../core/base/json-pointer.ts";
import { formatJsonPath } from "../core/base/json.ts";
import { truncateText } from "../core/base/truncate-text.ts";

/** One violation of a schema by a value. */
export interface SchemaProblem {
  /** `$` path of the value, or of the missing field: `$.a[1]`. Over 200 characters, the middle is left out. */
  readonly path: string;
  /** JSON pointer of the same place, never shortened: `/a/1`; the empty string for the whole value. */
  readonly pointer: string;
  /** The violated keyword; `limit` if the check was aborted, `false` if no value is allowed. */
  readonly keyword: string;
  /** The expected value and the actual one, without the path. */
  readonly message: string;
}

const MAX_PATH_LENGTH = 200;

/** Makes a problem at the given path. */
export function createProblem(steps: readonly (string | number)[], keyword: string, message: string): SchemaProblem {
  let pointer = "";
  for (const step of steps) pointer += `/${typeof step === "number" ? step : escapePointerStep(step)}`;
  return { path: shorten(formatJsonPath(steps)), pointer, keyword, message };
}

function shorten(path: string): string {
  if (path.length <= MAX_PATH_LENGTH) return path;
  return `${path.slice(0, MAX_PATH_LENGTH / 2)}…${path.slice(1 - MAX_PATH_LENGTH / 2)}`;
}

/** Returns the JSON Schema name of a value's type; `integer` for a whole number. */
export function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value !== "number") return typeof value;
  return Number.isFinite(value) ? (Number.isInteger(value) ? "integer" : "number") : String(value); // NaN and Infinity are not JSON
}

const LONG_INTEGER = /^-?[1-9](?:\d{15,}(?:\.0+)?|\d*\.\d+[eE]\+?\d{1,3})$/u;

/** Whether a value is a string with an integer that JavaScript cannot hold. */
export function isLongInteger(value: unknown): boolean {
  if (typeof value !== "string" || !LONG_INTEGER.test(value)) return false;
  const number = Number(value);
  return Number.isFinite(number) && !Number.isSafeInteger(number) && (/^-?\d+$/u.test(value) || losesIntegerDigits(value, number));
}

const MAX_SHOWN = 80;

/** Returns a value as JSON of at most 80 characters; the work is limited too, whatever its size. */
export function showValue(value: unknown): string {
  return truncateText(formatStart(value, 0), MAX_SHOWN);
}

/** Returns several values, separated by commas, as `showValue` does. */
export function showValues(values: readonly unknown[]): string {
  let text = "";
  for (const value of values) {
    if (text !== "") text += ", ";
    if (text.length > MAX_SHOWN) break;
    text += formatStart(value, 0);
  }
  return truncateText(text, MAX_SHOWN);
}

const MAX_SHOWN_DEPTH = 4;

function formatStart(value: unknown, depth: number): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, MAX_SHOWN));
  if (typeof value !== "object" || value === null) return String(value);
  if (depth >= MAX_SHOWN_DEPTH) return "…";
  let text = Array.isArray(value) ? "[" : "{";
  for (const key in value) {
    if (!Object.hasOwn(value, key)) continue;
    if (text.length > 1) text += ",";
    if (text.length > MAX_SHOWN) break;
    if (!Array.isArray(value)) text += `${JSON.stringify(key.slice(0, MAX_SHOWN))}:`;
    text += formatStart(Reflect.get(value, key), depth + 1);
  }
  return text + (Array.isArray(value) ? "]" : "}");
}
