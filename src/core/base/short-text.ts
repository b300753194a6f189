/** Texts cut to a length, as messages show them. */

/** The text; a longer one is cut, so that it has `most` characters with the ellipsis. */
export function atMost(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** The first characters of the text, and an ellipsis behind them where there are more. */
export function beginning(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}
