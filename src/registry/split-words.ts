/** Splits names and prose into the words that a search compares. */

const SEPARATOR = 0;
const SMALL = 1;
const CAPITAL = 2;
const LETTER_OR_DIGIT = /[\p{L}\p{N}\p{M}]/u;

/**
 * Hands over each word of the text in lower case.
 *
 * Words end at everything that is no letter or digit. A word in camel case is given in its parts and whole:
 * `getUserByID` is `get`, `user`, `by`, `id` and `getuserbyid`. A plural in s is given in the singular.
 */
export function splitWords(text: string, take: (word: string) => void): void {
  let wordStart = -1;
  let partStart = -1;
  let before = SEPARATOR;
  for (let at = 0; at <= text.length; at++) {
    const kind = at === text.length ? SEPARATOR : kindOf(text, at);
    if (wordStart >= 0) {
      if (kind === SEPARATOR) {
        take(normalise(text.slice(partStart, at)));
        if (partStart !== wordStart) take(normalise(text.slice(wordStart, at)));
        wordStart = -1;
      } else if (kind === CAPITAL ? before === SMALL : before === CAPITAL && at - partStart > 1) {
        // "get|User" ends before the capital, "HTTP|Server" before the last of several.
        const end = kind === CAPITAL ? at : at - 1;
        take(normalise(text.slice(partStart, end)));
        partStart = end;
      }
    } else if (kind !== SEPARATOR) {
      wordStart = at;
      partStart = at;
    }
    before = kind;
  }
}

function kindOf(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code < 0x80) {
    if ((code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39)) return SMALL;
    return code >= 0x41 && code <= 0x5a ? CAPITAL : SEPARATOR;
  }
  if (code >= 0xd800 && code <= 0xdfff) return SMALL; // half of a character beyond the basic plane
  return LETTER_OR_DIGIT.test(text.charAt(at)) ? SMALL : SEPARATOR;
}

function normalise(word: string): string {
  const lower = word.toLowerCase();
  const { length } = lower;
  if (length < 4 || lower.charCodeAt(length - 1) !== 0x73) return lower;
  if (lower.endsWith("ss") || lower.endsWith("us") || lower.endsWith("is")) return lower;
  return lower.endsWith("ies") && length > 4 ? `${lower.slice(0, -3)}y` : lower.slice(0, -1);
}
