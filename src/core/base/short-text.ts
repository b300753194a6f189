/** Texts cut to a length, as messages show them. */

/** The text; a longer one is cut, so that it has `most` characters with the ellipsis. */
export function atMost(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** The first characters of the text, and an ellipsis behind them where there are more. */
export function beginning(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}

/** The digits of a number; of a long one the first, and how many there are. */
export function shownNumber(digits: string): string {
  return digits.length <= 40 ? digits : `${digits.slice(0, 24)}… (${digits.length} characters)`;
}
