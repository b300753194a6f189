/** Notices names that people and models cannot tell apart. */

/** Characters without a shape of their own: zero-width joiners, tags, variation selectors. */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;
const ONLY_ASCII = /^[\u0000-\u007f]*$/u;

/**
 * Letters of other scripts and the Latin letter or sign that each looks like.
 *
 * Of the list of Unicode TR39, those that are part of everyday alphabets; what compatibility normalisation
 * already maps (full-width and mathematical letters) is left out.
 *
 * @see https://www.unicode.org/reports/tr39/#Confusable_Detection
 */
const LOOK_ALIKES: ReadonlyMap<string, string> = new Map(
  [
    "аa еe оo рp сc уy хx ѕs іi јj һh ӏl ԁd ԛq ԝw ѵv АA ВB ЕE КK МM НH ОO РP СC ТT ХX ЅS ІI ЈJ ԌG ҮY", // Cyrillic
    "αa οo νv ιi κk ρp υu ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX", // Greek
    "օo ոn սu հh ցg յj", // Armenian
    "ıi ɡg ɑa ɩi ‐- ‒- –- −- ⁄/ ∶: ꞉:", // Latin extensions and signs
  ].flatMap((line) => line.split(" ").map((pair) => [pair.slice(0, 1), pair.slice(1)] as const)),
);

/** The names of one kind that were seen, by what they look like. Names of ASCII letters only cost one test. */
export class ConfusableNames {
  readonly #bySkeleton = new Map<string, string>();
  readonly #isKnown: (name: string) => boolean;

  /** @param isKnown whether a name is in use now; asked before the name being noted is added */
  constructor(isKnown: (name: string) => boolean) {
    this.#isKnown = isKnown;
  }

  /** Notes a name and says, as the end of a sentence, what is confusing about it. */
  note(name: string): string | undefined {
    if (ONLY_ASCII.test(name)) {
      const twin = this.#bySkeleton.size === 0 ? undefined : this.#bySkeleton.get(name);
      return twin !== undefined && twin !== name && this.#isKnown(twin) ? looksLike(twin) : undefined;
    }
    const skeleton = skeletonOf(name);
    const earlier = this.#bySkeleton.get(skeleton);
    const twin = earlier !== undefined && earlier !== name && this.#isKnown(earlier) ? earlier : skeleton;
    this.#bySkeleton.set(skeleton, name);
    if (twin !== name && this.#isKnown(twin)) return looksLike(twin);
    return name.search(INVISIBLE) >= 0 ? "has invisible characters" : undefined;
  }
}

function looksLike(twin: string): string {
  return `looks like ${spell(twin)}, which is another name`;
}

/** What a name looks like: names of one skeleton cannot be told apart by eye. */
function skeletonOf(name: string): string {
  let skeleton = "";
  for (const character of name.normalize("NFKC").replace(INVISIBLE, "")) skeleton += LOOK_ALIKES.get(character) ?? character;
  return skeleton;
}

/** Quotes a name with every character beyond ASCII as its number: `"g\u{435}t"`. */
export function spell(name: string): string {
  return JSON.stringify(name).replace(/[^\u0000-\u007f]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}
