/** Checks that parsed JSON has the shape of a type: small functions combined in tables, fast and without a library. */
import { type JsonValue, isJsonArray, isJsonObject } from "./json.ts";
import { plural } from "./wording.ts";

/** A problem in a value, and its place. */
export interface ShapeProblem {
  /** The path to the wrong value, without the leading `$`. */
  readonly path: string;
  readonly expected: string;
  readonly found: JsonValue | undefined;
}

/** Checks a value; returns undefined if it is valid. */
export type ShapeCheck = (value: JsonValue | undefined) => ShapeProblem | undefined;

/** Describes a problem: `$.a.b is 5; expected a text`, at most about 200 characters. */
export function describeProblem({ path, expected, found }: ShapeProblem): string {
  return `$${path} is ${formatFound(found)}; expected ${expected}`;
}

export const anyJson: ShapeCheck = (value) => (value === undefined ? shapeProblem("a JSON value", value) : undefined);
export const anyText: ShapeCheck = (value) => (typeof value === "string" ? undefined : shapeProblem("a string", value));
export const anyBoolean: ShapeCheck = (value) => (typeof value === "boolean" ? undefined : shapeProblem("a boolean", value));
export const anyObject: ShapeCheck = (value) => (isJsonObject(value) ? undefined : shapeProblem("an object", value));

/** Checks for a string of a length in UTF-16 units, both bounds inclusive. */
export function textOfLength(minLength: number, maxLength: number): ShapeCheck {
  const expected = `a string of ${minLength} to ${plural(maxLength, "character")}`;
  return (value) =>
    typeof value === "string" && value.length >= minLength && value.length <= maxLength ? undefined : shapeProblem(expected, value);
}

/** @param fault must not match anywhere in the text */
export function textMatching(pattern: RegExp, expected: string, fault?: RegExp): ShapeCheck {
  return (value) =>
    typeof value === "string" && pattern.test(value) && fault?.test(value) !== true ? undefined : shapeProblem(expected, value);
}

/** Checks for a number within bounds, both inclusive. */
export function numberBetween(min: number, max: number): ShapeCheck {
  const expected = max === Number.MAX_VALUE ? `a number of at least ${min}` : `a number from ${min} to ${max}`;
  return (value) => (typeof value === "number" && value >= min && value <= max ? undefined : shapeProblem(expected, value));
}

/** Checks for a count: an integer of at least 0. */
export const count: ShapeCheck = (value) =>
  Number.isSafeInteger(value) && Number(value) >= 0 ? undefined : shapeProblem("an integer of at least 0", value);

export function oneOf(words: readonly string[]): ShapeCheck {
  const known: ReadonlySet<unknown> = new Set(words);
  const expected = words.length <= 30 ? `one of ${words.join(", ")}` : "one of the known values";
  return (value) => (known.has(value) ? undefined : shapeProblem(expected, value));
}

export function optional(check: ShapeCheck): ShapeCheck {
  return (value) => (value === undefined ? undefined : check(value));
}

export function arrayOf(check: ShapeCheck, maxItems = Infinity): ShapeCheck {
  const expected = maxItems === Infinity ? "an array" : `an array of at most ${plural(maxItems, "item")}`;
  return (value) => {
    if (!isJsonArray(value) || value.length > maxItems) return shapeProblem(expected, value);
    for (let index = 0; index < value.length; index++) {
      const inside = check(value[index]);
      if (inside !== undefined) return prefixPath(`[${index}]`, inside);
    }
    return undefined;
  };
}

/** Checks for an object with these fields. Other fields are ignored. */
export function shape(fields: Readonly<Record<string, ShapeCheck>>): ShapeCheck {
  const names = Object.keys(fields);
  const checks = Object.values(fields);
  return (value) => {
    if (!isJsonObject(value)) return shapeProblem("an object", value);
    for (let index = 0; index < names.length; index++) {
      const name = names[index] ?? "";
      const inside = checks[index]?.(value[name]);
      if (inside !== undefined) return prefixPath(`.${name}`, inside);
    }
    return undefined;
  };
}

/** Checks for an object whose `field` determines which of the checks applies. */
export function variantOf(field: string, variants: Readonly<Record<string, ShapeCheck>>): ShapeCheck {
  const known = oneOf(Object.keys(variants));
  return (value) => {
    if (!isJsonObject(value)) return shapeProblem("an object", value);
    const word = value[field];
    const unknown = known(word);
    if (unknown !== undefined) return prefixPath(`.${field}`, unknown);
    return variants[String(word)]?.(value);
  };
}

/** Applies the checks one after the other; returns the first problem. */
export function allOf(...checks: readonly ShapeCheck[]): ShapeCheck {
  return (value) => {
    for (const check of checks) {
      const found = check(value);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

export function shapeProblem(expected: string, found: JsonValue | undefined, path = ""): ShapeProblem {
  return { path, expected, found };
}

function prefixPath(step: string, inside: ShapeProblem): ShapeProblem {
  return { ...inside, path: step + inside.path };
}

const MAX_SHOWN_CHARS = 60;

function formatFound(value: JsonValue | undefined): string {
  if (value === undefined) return "missing";
  if (isJsonArray(value)) return `an array of ${plural(value.length, "item")}`;
  if (isJsonObject(value)) return "an object";
  const text = JSON.stringify(typeof value === "string" ? value.slice(0, MAX_SHOWN_CHARS) : value);
  return typeof value === "string" && value.length > MAX_SHOWN_CHARS ? `${text}… (${value.length} characters)` : text;
}
