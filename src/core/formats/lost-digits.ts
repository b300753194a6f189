/** Finds integers whose digits a double does not keep, also if they are written with a point or an exponent. */

const PARTS = /^[-+]?(\d*)(?:\.(\d*))?(?:[eE]([-+]?\d+))?$/u;
/** The keywords of a schema whose values are numbers. Such a bound may be rounded: generated schemas have those of 64 bits. */
export const BOUND_KEYWORDS: ReadonlySet<string> = new Set(
  "minimum,maximum,exclusiveMinimum,exclusiveMaximum,multipleOf,minLength,maxLength,minItems,maxItems,minContains,maxContains,minProperties,maxProperties".split(
    ",",
  ),
);
/** The types of JSON Schema, and other names of them in files of tools. */
const TYPE_NAMES: ReadonlySet<unknown> = new Set(["string", "number", "integer", "array", "object", "str", "int", "float", "list", "dict"]);

/** Whether an object with this `type` is a schema, whose bounds may be rounded. In other objects, `maximum` is a value like any other. */
export function isSchemaType(type: unknown): boolean {
  return Array.isArray(type) ? type.some((each) => TYPE_NAMES.has(each)) : TYPE_NAMES.has(type);
}

/** As many digits identify every double, and many programs print all of them: `3.8280000000000001e26`. */
const DOUBLE_DIGITS = 17;

/**
 * Whether a number is an integer beyond ±2^53 - 1 and is written with other digits than `value`, to which it is rounded: `9007199254740993`,
 * `9007199254740993.0` and `9.007199254740993e15`. Numbers with a fraction, and those with an exponent whose digits end before the last place of the
 * integer, are approximate anyway. Linear time.
 */
export function losesIntegerDigits(source: string, value: number): boolean {
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return false;
  const [, whole = "", fraction = "", exponent] = PARTS.exec(source) ?? [];
  const digits = whole + fraction;
  const end = endOfDigits(digits);
  const places = whole.length + Number(exponent ?? 0);
  if (end > places) return false;
  const significant = significantDigits(digits, end);
  if (exponent !== undefined && end < places && significant.length <= DOUBLE_DIGITS) return false;
  return significant !== significantDigitsOf(value);
}

function significantDigitsOf(value: number): string {
  const [, whole = "", fraction = ""] = PARTS.exec(String(value)) ?? [];
  return significantDigits(whole + fraction, endOfDigits(whole + fraction));
}

function significantDigits(digits: string, end: number): string {
  let start = 0;
  while (start < end && digits[start] === "0") start++;
  return digits.slice(start, end);
}

/** Returns the offset of the zeros at the end. */
function endOfDigits(digits: string): number {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === "0") end--;
  return end;
}
