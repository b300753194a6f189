/** Removes the endings of English words, so that a search for `converting currencies` finds a tool that converts a currency. */

/** Minimum length of a word to stem; what remains of shorter ones would be too ambiguous. */
const MIN_LENGTH = 4;
const VOWEL = /[aeiouy]/u;

/**
 * Returns the stem of a word in lower case: removes plurals, `-ing`, `-ed`, `-er`, `-ly` and the endings of nouns derived from verbs, and then a
 * final `e` or `y`. The stem is the same for related words, but need not be a word itself. In other languages at most a final letter is removed.
 *
 * @see https://tartarus.org/martin/PorterStemmer/ — a reduced form of steps 1 and 4
 */
export function stemWord(word: string): string {
  if (word.length < MIN_LENGTH || !isPlainEnglish(word)) return word;
  return dropFinalVowel(withoutSuffix(toSingular(word)));
}

function isPlainEnglish(word: string): boolean {
  for (let at = 0; at < word.length; at++) {
    const code = word.charCodeAt(at);
    if (code < 0x61 || code > 0x7a) return false;
  }
  return true;
}

function toSingular(word: string): string {
  if (!word.endsWith("s") || word.endsWith("ss") || word.endsWith("us") || word.endsWith("is")) return word;
  if (word.endsWith("ies") && word.length > 4) return `${word.slice(0, -3)}y`;
  if (/(?:ss|sh|ch|x|zz)es$/u.test(word)) return word.slice(0, -2);
  return word.slice(0, -1);
}

/** Longest first. */
const SUFFIXES = [
  "izations",
  "ization",
  "ations",
  "ation",
  "ments",
  "ment",
  "ingly",
  "ators",
  "ator",
  "ating",
  "ated",
  "ates",
  "ate",
  "ings",
  "ing",
  "edly",
  "ions",
  "ion",
  "ers",
  "ors",
  "ies",
  "ed",
  "er",
  "or",
  "ly",
  "al",
];
/** Minimum number of letters of a stem, including a vowel. */
const MIN_STEM = 3;

function withoutSuffix(word: string): string {
  for (const suffix of SUFFIXES) {
    if (!word.endsWith(suffix)) continue;
    const stem = word.slice(0, -suffix.length);
    if (stem.length < MIN_STEM || !VOWEL.test(stem)) continue;
    return undoubleLetter(stem);
  }
  return word;
}

/** `stopp`, from stopping, becomes `stop`. */
function undoubleLetter(stem: string): string {
  const last = stem.charAt(stem.length - 1);
  return last === stem.charAt(stem.length - 2) && !"aeiouls".includes(last) ? stem.slice(0, -1) : stem;
}

function dropFinalVowel(stem: string): string {
  return stem.length > MIN_STEM && /[ey]$/u.test(stem) ? stem.slice(0, -1) : stem;
}
