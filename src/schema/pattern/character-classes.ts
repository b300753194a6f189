/** The equivalence classes of characters: a pattern cannot tell characters apart that are in the same of its sets. */
import type { PatternNode, SetMember } from "./pattern-syntax.ts";

type CharacterSet = Extract<PatternNode, { type: "set" }>;
type CharacterTest = (code: number) => boolean;

/** Most classes that are kept: a pattern with many sets can have one for each character of a text. */
const MAX_CLASSES = 500;
/** Most characters whose class is kept. */
const MAX_CHARACTERS = 5_000;

export class CharacterClasses {
  /** The number of a class that is not kept. Others have lower numbers. */
  static readonly UNCACHED = MAX_CLASSES;
  readonly #tests: CharacterTest[] = [];
  readonly #sets = new Map<string, number>();
  /** By class, 1 for each set that contains it. */
  readonly #members: Uint8Array[] = [];
  readonly #classes = new Map<string, number>();
  readonly #known = new Map<number, number>();

  /** Adds a set; all of them before the first `classOf`. Returns its number. */
  addSet(set: CharacterSet): number {
    const key = JSON.stringify([set.negated, set.members]);
    let number = this.#sets.get(key);
    if (number === undefined) {
      number = this.#tests.push(testOf(set)) - 1;
      this.#sets.set(key, number);
    }
    return number;
  }

  /** The class of a code point or UTF-16 unit. `UNCACHED` is valid until the next `classOf`. */
  classOf(code: number): number {
    const known = this.#known.get(code);
    if (known !== undefined) return known;
    const members = Uint8Array.from(this.#tests, (test) => (test(code) ? 1 : 0));
    const key = members.join("");
    let found = this.#classes.get(key);
    if (found === undefined) {
      found = Math.min(this.#classes.size, CharacterClasses.UNCACHED);
      this.#members[found] = members;
      if (found < CharacterClasses.UNCACHED) this.#classes.set(key, found);
    }
    if (found < CharacterClasses.UNCACHED && this.#known.size < MAX_CHARACTERS) this.#known.set(code, found);
    return found;
  }

  isIn(set: number, characterClass: number): boolean {
    return this.#members[characterClass]?.[set] === 1;
  }
}

function testOf({ members, negated }: CharacterSet): CharacterTest {
  const tests = members.map(testOfMember);
  return (code) => tests.some((test) => test(code)) !== negated;
}

/** `\d` and `\p{…}` are tested by the engine itself, one character at a time. */
function testOfMember(member: SetMember): CharacterTest {
  if (member.type === "range") return (code) => code >= member.from && code <= member.to;
  const source = member.type === "class" ? `\\${member.name}` : `\\${member.negated ? "P" : "p"}{${member.name}}`;
  const expression = new RegExp(source, "u");
  return (code) => expression.test(String.fromCodePoint(code));
}
