/** One way in which a value breaks its schema, and the words for it. */
import { escapeStep } from "../core/base/json-pointer.ts";
import { jsonPath } from "../core/base/json.ts";
import { atMost } from "../core/base/short-text.ts";

/** One way in which a value breaks its schema. */
export interface SchemaProblem {
  /** `$` path of the value, or of the missing field: `$.a[1]`. Shortened in the middle past 200 characters. */
  readonly path: string;
  /** JSON pointer of the same place, never shortened: `/a/1`; the whole value is the empty string. */
  readonly pointer: string;
  /** The keyword that was broken; `limit` when the check was given up, `false` where nothing is allowed. */
  readonly keyword: string;
  /** The expected value and the one that came instead, without the path. */
  readonly message: string;
}

const MAX_PATH_LENGTH = 200;

/** Describes a problem at the place that `steps` lead to. */
export function problemAt(steps: readonly (string | number)[], keyword: string, message: string): SchemaProblem {
  let pointer = "";
  for (const step of steps) pointer += `/${typeof step === "number" ? step : escapeStep(step)}`;
  return { path: shorten(jsonPath(steps)), pointer, keyword, message };
}

function shorten(path: string): string {
  if (path.length <= MAX_PATH_LENGTH) return path;
  return `${path.slice(0, MAX_PATH_LENGTH / 2)}…${path.slice(1 - MAX_PATH_LENGTH / 2)}`;
}

/** JSON Schema's name for the type of a value that was not expected; of a whole number it is `integer`. */
export function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "number" && Number.isInteger(value) ? "integer" : typeof value;
}

const MAX_SHOWN = 80;

/** Writes a value as JSON of at most 80 characters, whatever its size: the work is bounded as well. */
export function showValue(value: unknown): string {
  return atMost(writeStart(value, 0), MAX_SHOWN);
}

/** Writes several values with commas between, as `showValue` does. */
export function showValues(values: readonly unknown[]): string {
  let text = "";
  for (const value of values) {
    if (text !== "") text += ", ";
    if (text.length > MAX_SHOWN) break;
    text += writeStart(value, 0);
  }
  return atMost(text, MAX_SHOWN);
}

const MAX_SHOWN_DEPTH = 4;

function writeStart(value: unknown, depth: number): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, MAX_SHOWN));
  if (typeof value !== "object" || value === null) return String(value);
  if (depth >= MAX_SHOWN_DEPTH) return "…";
  let text = Array.isArray(value) ? "[" : "{";
  for (const key in value) {
    if (!Object.hasOwn(value, key)) continue;
    if (text.length > 1) text += ",";
    if (text.length > MAX_SHOWN) break;
    if (!Array.isArray(value)) text += `${JSON.stringify(key.slice(0, MAX_SHOWN))}:`;
    text += writeStart(Reflect.get(value, key), depth + 1);
  }
  return text + (Array.isArray(value) ? "]" : "}");
}
