/** Truncates text for messages. */

/** Returns the text, truncated to `most` characters including the ellipsis. */
export function truncateText(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/**
 * Returns the first `length` characters of the text, or one fewer if that would split a surrogate pair, followed by an ellipsis if there are more.
 */
export function firstChars(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length).replace(/[\uD800-\uDBFF]$/u, "")}…`;
}

/**
 * Returns a part of the text and where it begins. It has whole surrogate pairs only: if it would begin or end within one, it begins one unit earlier or
 * ends one later.
 */
export function sliceChars(text: string, from: number, length: number): { readonly text: string; readonly from: number } {
  const start = isWithinPair(text, from) ? from - 1 : from;
  const end = start + length;
  return { text: text.slice(start, isWithinPair(text, end) ? end + 1 : end), from: start };
}

function isWithinPair(text: string, at: number): boolean {
  return at > 0 && (text.codePointAt(at - 1) ?? 0) > 0xffff;
}

/** Returns the digits of a number; for a long one, the first digits and how many there are. */
export function shortenNumber(digits: string): string {
  return digits.length <= 40 ? digits : `${digits.slice(0, 24)}… (${digits.length} characters)`;
}
