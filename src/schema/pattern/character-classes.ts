/** Equivalence classes of characters: a pattern treats characters alike that are in the same of its sets. */
import { type PatternNode, type SetMember, LAST_CODE_POINT } from "./pattern-syntax.ts";

type CharacterSet = Extract<PatternNode, { type: "set" }>;

/** The characters of a set: those in `bounds`, and those with one of its properties. */
interface SetTest {
  /** Sorted: the first character of a range, the one after its last, and so on. */
  readonly bounds: readonly number[];
  /** Tested by the engine itself, one character at a time. */
  readonly properties: RegExp | undefined;
  readonly negated: boolean;
}

/** Maximum number of cached classes: a pattern with many sets can have one for each character of a text. */
const MAX_CLASSES = 500;
/** Maximum number of set memberships that are stored for these classes. */
const MAX_MEMBERS = 100_000;
/** Maximum number of characters whose class is cached. */
const MAX_CHARACTERS = 2_000;
/** Maximum number of intervals between bounds whose class is cached; only patterns with properties have more. */
const MAX_PLACES = 10_000;

export class CharacterClasses {
  /** The number of a class that is not cached. Cached classes have lower numbers. */
  static readonly UNCACHED = MAX_CLASSES;
  readonly #tests: SetTest[] = [];
  readonly #sets = new Map<string, number>();
  /** By class, 1 for each set that contains it. */
  readonly #members: Uint8Array[] = [];
  readonly #classes = new Map<string, number>();
  readonly #classByCode = new Map<number, number>();
  /** Classes by interval between two bounds and by the properties of the character. */
  readonly #classByInterval = new Map<number | string, number>();
  /** The bounds of all sets, sorted. */
  #bounds: readonly number[] | undefined;
  readonly #properties: RegExp[] = [];

  /** Adds a set and returns its number. All sets must be added before the first `classOf`. */
  addSet(set: CharacterSet): number {
    const key = JSON.stringify([set.negated, set.members]);
    let number = this.#sets.get(key);
    if (number === undefined) {
      const test = toSetTest(set);
      number = this.#tests.push(test) - 1;
      if (test.properties !== undefined) this.#properties.push(test.properties);
      this.#sets.set(key, number);
    }
    return number;
  }

  /** Returns the class of a code point or UTF-16 unit. `UNCACHED` is valid only until the next `classOf`. */
  classOf(code: number): number {
    const known = this.#classByCode.get(code);
    if (known !== undefined) return known;
    const place = this.#intervalKey(code);
    let found = this.#classByInterval.get(place);
    if (found === undefined) {
      found = this.#addClass(code);
      if (found < CharacterClasses.UNCACHED && this.#classByInterval.size < MAX_PLACES) this.#classByInterval.set(place, found);
    }
    if (found < CharacterClasses.UNCACHED && this.#classByCode.size < MAX_CHARACTERS) this.#classByCode.set(code, found);
    return found;
  }

  isClassInSet(set: number, characterClass: number): boolean {
    return this.#members[characterClass]?.[set] === 1;
  }

  /** Returns a key that differs for characters that any set distinguishes. Tests only the sets with properties. */
  #intervalKey(code: number): number | string {
    this.#bounds ??= [...new Set(this.#tests.flatMap(({ bounds }) => bounds))].sort((one, other) => one - other);
    const interval = countUpTo(this.#bounds, code);
    if (this.#properties.length === 0) return interval;
    const character = String.fromCodePoint(code);
    return this.#properties.reduce((place, property) => place + (property.test(character) ? "1" : "0"), `${interval} `);
  }

  #addClass(code: number): number {
    const members = new Uint8Array(this.#tests.length);
    let index = 0;
    for (const test of this.#tests) members[index++] = contains(test, code) ? 1 : 0;
    const kept = this.#classes.size;
    if (kept === MAX_CLASSES || kept * members.length > MAX_MEMBERS) {
      this.#members[CharacterClasses.UNCACHED] = members;
      return CharacterClasses.UNCACHED;
    }
    const key = members.join("");
    const found = this.#classes.get(key) ?? kept;
    this.#members[found] = members;
    this.#classes.set(key, found);
    return found;
  }
}

function contains({ bounds, properties, negated }: SetTest, code: number): boolean {
  const isListed = countUpTo(bounds, code) % 2 === 1;
  return (isListed || (properties !== undefined && properties.test(String.fromCodePoint(code)))) !== negated;
}

/** Returns how many of the sorted numbers are at most `code`. */
function countUpTo(sorted: readonly number[], code: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) <= code) low = middle + 1;
    else high = middle;
  }
  return low;
}

function toSetTest({ members, negated }: CharacterSet): SetTest {
  const properties = members.flatMap((member) => (member.type === "property" ? `\\${member.negated ? "P" : "p"}{${member.name}}` : []));
  return {
    bounds: toBounds(members.flatMap(rangesOf)),
    properties: properties.length === 0 ? undefined : new RegExp(`[${[...new Set(properties)].join("")}]`, "u"),
    negated,
  };
}

type Range = readonly [from: number, to: number];

function toBounds(ranges: readonly Range[]): readonly number[] {
  const bounds: number[] = [];
  let end = -1;
  for (const [from, to] of [...ranges].sort(([one], [other]) => one - other)) {
    if (from > end || bounds.length === 0) bounds.push(from, to + 1);
    else bounds[bounds.length - 1] = Math.max(end, to + 1);
    end = bounds.at(-1) ?? 0;
  }
  return bounds;
}

const DIGITS: readonly Range[] = [[48, 57]];
const WORD: readonly Range[] = [...DIGITS, [65, 90], [95, 95], [97, 122]];
/** WhiteSpace and LineTerminator of ECMA-262. */
const SPACE: readonly Range[] = [
  [9, 13],
  [32, 32],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];

function rangesOf(member: SetMember): readonly Range[] {
  if (member.type === "range") return [[member.from, member.to]];
  if (member.type === "property") return [];
  switch (member.name) {
    case "d":
      return DIGITS;
    case "w":
      return WORD;
    case "s":
      return SPACE;
    case "D":
      return complement(DIGITS);
    case "W":
      return complement(WORD);
    case "S":
      return complement(SPACE);
  }
}

function complement(ranges: readonly Range[]): readonly Range[] {
  const ends = [...ranges.map(([from]) => from - 1), LAST_CODE_POINT];
  return [0, ...ranges.map(([, to]) => to + 1)].map((from, index) => [from, ends[index] ?? from]);
}
