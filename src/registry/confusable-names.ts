/** Detects names that people and models cannot tell apart. */
import { LOOK_ALIKES, IGNORABLE_CHARACTERS } from "../core/base/look-alikes.ts";

const ONLY_ASCII = /^[\u0000-\u007f]*$/u;

/** The names seen so far, by their visual form. A name of ASCII letters costs only one test. */
export class ConfusableNames {
  readonly #bySkeleton = new Map<string, string>();
  readonly #isKnown: (name: string) => boolean;

  /** @param isKnown whether a name is in use now; called before the noted name is added */
  constructor(isKnown: (name: string) => boolean) {
    this.#isKnown = isKnown;
  }

  /** Notes a name, and describes what is confusing about it as the end of a sentence; undefined if nothing is. */
  addAndCheck(name: string): string | undefined {
    if (ONLY_ASCII.test(name)) {
      const twin = this.#bySkeleton.size === 0 ? undefined : this.#bySkeleton.get(name);
      return twin !== undefined && twin !== name && this.#isKnown(twin) ? describeTwin(twin) : undefined;
    }
    const skeleton = skeletonOf(name);
    const earlier = this.#bySkeleton.get(skeleton);
    const twin = earlier !== undefined && earlier !== name && this.#isKnown(earlier) ? earlier : skeleton;
    this.#bySkeleton.set(skeleton, name);
    if (twin !== name && this.#isKnown(twin)) return describeTwin(twin);
    return name.search(IGNORABLE_CHARACTERS) >= 0 ? "has invisible characters" : undefined;
  }
}

function describeTwin(twin: string): string {
  return `looks like ${quoteWithCodePoints(twin)}, which is another name`;
}

/** The visual form of a name. Names with the same form look alike. */
function skeletonOf(name: string): string {
  let skeleton = "";
  for (const character of name.normalize("NFKC").replace(IGNORABLE_CHARACTERS, "")) skeleton += LOOK_ALIKES.get(character) ?? character;
  return skeleton;
}

/** Quotes a name, with every character beyond ASCII as its code point: `"g\u{435}t"`. */
export function quoteWithCodePoints(name: string): string {
  return JSON.stringify(name).replace(/[^\u0000-\u007f]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}
