/** Takes the endings off English words, so that a search for `converting currencies` finds what converts a currency. */

/** Shorter words are left as they are: what is left of them would be anything. */
const MIN_LENGTH = 4;
const VOWEL = /[aeiouy]/u;

/**
 * The stem of a word in lower case: plurals, `-ing`, `-ed`, `-er`, `-ly` and the endings of nouns made of verbs are taken off, and a final `e` or `y` with
 * them. It is the same for the words of a family, and not a word itself. Other languages lose at most a final letter.
 *
 * @see https://tartarus.org/martin/PorterStemmer/ — steps 1 and 4, made smaller
 */
export function stemOf(word: string): string {
  if (word.length < MIN_LENGTH || !isPlainEnglish(word)) return word;
  return withoutEnd(withoutSuffix(singular(word)));
}

function isPlainEnglish(word: string): boolean {
  for (let at = 0; at < word.length; at++) {
    const code = word.charCodeAt(at);
    if (code < 0x61 || code > 0x7a) return false;
  }
  return true;
}

function singular(word: string): string {
  if (!word.endsWith("s") || word.endsWith("ss") || word.endsWith("us") || word.endsWith("is")) return word;
  if (word.endsWith("ies") && word.length > 4) return `${word.slice(0, -3)}y`;
  if (/(?:ss|sh|ch|x|zz)es$/u.test(word)) return word.slice(0, -2);
  return word.slice(0, -1);
}

/** The longest come first. */
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
/** A stem must keep so many letters, a vowel among them. */
const MIN_STEM = 3;

function withoutSuffix(word: string): string {
  for (const suffix of SUFFIXES) {
    if (!word.endsWith(suffix)) continue;
    const stem = word.slice(0, -suffix.length);
    if (stem.length < MIN_STEM || !VOWEL.test(stem)) continue;
    return undoubled(stem);
  }
  return word;
}

/** `stopp` of stopping is `stop`. */
function undoubled(stem: string): string {
  const last = stem.charAt(stem.length - 1);
  return last === stem.charAt(stem.length - 2) && !"aeiouls".includes(last) ? stem.slice(0, -1) : stem;
}

function withoutEnd(stem: string): string {
  return stem.length > MIN_STEM && /[ey]$/u.test(stem) ? stem.slice(0, -1) : stem;
}
