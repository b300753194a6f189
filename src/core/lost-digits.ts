/** Finds integers whose digits a double does not keep, also if they are written with a point or an exponent. */

const PARTS = /^[-+]?(\d*)(?:\.(\d*))?(?:[eE]([-+]?\d+))?$/u;

/**
 * Whether a number is an integer beyond ±2^53 - 1 and is written with other digits than `value`, to which it is rounded: `9007199254740993`,
 * `9007199254740993.0` and `9.007199254740993e15`. Numbers with a fraction are approximate anyway. Linear time.
 */
export function losesIntegerDigits(source: string, value: number): boolean {
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return false;
  const [, whole = "", fraction = "", exponent = "0"] = PARTS.exec(source) ?? [];
  const digits = whole + fraction;
  const end = endOfDigits(digits);
  const fractionDigits = fraction.length - Number(exponent);
  if (end > digits.length - fractionDigits) return false;
  return significantDigits(digits, end) !== significantDigitsOf(value);
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
