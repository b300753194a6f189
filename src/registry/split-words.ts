/** Splits names and prose into words for search. */

const SEPARATOR = 0;
const SMALL = 1;
const CAPITAL = 2;
const UNDIVIDED = 3;
const LETTER_OR_DIGIT = /[\p{L}\p{N}\p{M}]/u;
const CAPITAL_LETTER = /\p{Lu}/u;
/** Scripts that do not separate words, or attach endings to them. Uses script extensions, because of the marks that Japanese shares. */
const UNDIVIDED_SCRIPT = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmr}\p{scx=Mymr}]/u;
/** The first code unit of these scripts; lower ones need no test. */
const FIRST_UNDIVIDED = 0x0e00;

/**
 * Calls `take` with each word of the text, in lower case.
 *
 * Words end at every character that is not a letter or digit. A word in camel case is split into its parts, and also taken as a whole: `getUserByID`
 * is `get`, `user`, `by`, `id` and `getuserbyid`. A plural in s is converted to the singular. In a script that does not separate words, every pair of
 * neighbouring characters is a word: `天気予報` is `天気`, `気予` and `予報`.
 */
export function splitWords(written: string, take: (word: string) => void): void {
  const text = written.normalize("NFC");
  let wordStart = -1;
  let partStart = -1;
  let before = SEPARATOR;
  for (let at = 0; at <= text.length; at++) {
    const kind = at === text.length ? SEPARATOR : kindOf(text, at);
    if (wordStart >= 0) {
      if (kind === SEPARATOR || (kind === UNDIVIDED) !== (before === UNDIVIDED)) {
        if (before === UNDIVIDED) takePairs(text.slice(wordStart, at), take);
        else take(normalizeWord(text.slice(partStart, at)));
        if (partStart !== wordStart) take(normalizeWord(text.slice(wordStart, at)));
        wordStart = kind === SEPARATOR ? -1 : at;
        partStart = wordStart;
      } else if (kind === CAPITAL ? before === SMALL : before === CAPITAL && at - partStart > 1) {
        // "get|User" ends before the capital, "HTTP|Server" before the last of several
        const end = kind === CAPITAL ? at : at - 1;
        take(normalizeWord(text.slice(partStart, end)));
        partStart = end;
      }
    } else if (kind !== SEPARATOR) {
      wordStart = at;
      partStart = at;
    }
    before = kind;
  }
}

/** Takes every pair of neighbouring characters; a single character is taken alone. */
function takePairs(text: string, take: (word: string) => void): void {
  if (text.length === 1) take(text);
  for (let at = 0; at + 2 <= text.length; at++) take(text.slice(at, at + 2));
}

function kindOf(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code < 0x80) {
    if ((code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39)) return SMALL;
    return code >= 0x41 && code <= 0x5a ? CAPITAL : SEPARATOR;
  }
  if (code >= 0xd800 && code <= 0xdfff) return SMALL; // one half of a surrogate pair
  const character = text.charAt(at);
  if (!LETTER_OR_DIGIT.test(character)) return SEPARATOR;
  if (code >= FIRST_UNDIVIDED && UNDIVIDED_SCRIPT.test(character)) return UNDIVIDED;
  return CAPITAL_LETTER.test(character) ? CAPITAL : SMALL;
}

function normalizeWord(word: string): string {
  const lower = word.toLowerCase();
  const { length } = lower;
  if (length < 4 || lower.charCodeAt(length - 1) !== 0x73) return lower;
  if (lower.endsWith("ss") || lower.endsWith("us") || lower.endsWith("is")) return lower;
  return lower.endsWith("ies") && length > 4 ? `${lower.slice(0, -3)}y` : lower.slice(0, -1);
}
