/** Splits third-party text into pieces, and makes characters visible that are invisible or would reorder the text around them. */

export interface TextPiece {
  readonly text: string;
  /** Whether it is a visible mark in place of a hidden character. */
  readonly marked: boolean;
}

/**
 * Control characters except tab and line feed, direction marks, zero-width and other invisible characters, sequences of variation selectors (a single
 * one belongs to the character before it; further ones are invisible text), and lone surrogates.
 */
export const HIDDEN_CHARACTERS: RegExp =
  /[\u034f\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|[\ufe00-\ufe0f](?=[\ufe00-\ufe0f])|(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu;

const ESCAPE = "\u001b";

/** Maximum number of characters that are shown at once; rendering all of a long text would block the page. */
export const SHOWN_CHARACTERS = 20_000;

/** Splits a text into pieces; removes carriage returns before line feeds. @param mark returns the visible mark of a hidden character */
export function textPieces(text: string, mark: (character: string) => string = markFor): readonly TextPiece[] {
  if (/^\p{Zs}+$/u.test(text)) return [{ text: "␣".repeat(text.length), marked: true }]; // a link of spaces alone could not be clicked
  const pieces: TextPiece[] = [];
  let from = 0;
  const addPlain = (to: number): void => {
    if (to > from) pieces.push({ text: text.slice(from, to), marked: false });
  };
  for (const match of text.matchAll(HIDDEN_CHARACTERS)) {
    addPlain(match.index);
    from = match.index + match[0].length;
    if (match[0] === "\r" && text[from] === "\n") continue;
    pieces.push({ text: mark(match[0]), marked: true });
  }
  addPlain(text.length);
  return pieces;
}

/** Returns at most `maxLength` UTF-16 code units from the beginning of a text, without half a surrogate pair at the end. */
export function firstCharacters(text: string, maxLength: number): string {
  const isPair = (text.codePointAt(maxLength - 1) ?? 0) > 0xff_ff;
  return text.slice(0, isPair ? maxLength - 1 : maxLength);
}

/** Like `firstCharacters`, with an ellipsis if more text follows. */
export function truncateText(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${firstCharacters(text, maxLength)}…`;
}

/** Returns the pieces of a text as one string, for titles and labels. */
export function showHiddenCharacters(text: string, maxLength = 300): string {
  return textPieces(truncateText(text, maxLength))
    .map((piece) => piece.text)
    .join("");
}

function markFor(character: string): string {
  if (character === ESCAPE) return "␛";
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x24_00 + code);
  return `⟨${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** Writes a character within a string of JSON as escapes, which do not change the string. */
export function escapeForJson(character: string): string {
  return Array.from({ length: character.length }, (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`).join("");
}
