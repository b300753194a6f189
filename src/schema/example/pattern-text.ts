/** Generates strings that match a regular expression. */
import { type PatternNode, type SetMember, parsePattern } from "../pattern/pattern-syntax.ts";
import type { RandomStream } from "./random-stream.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";
import { memoize } from "../../core/base/memoize.ts";

type SetNode = Extract<PatternNode, { type: "set" }>;

const MAX_TEXT = 10_000;
const MAX_KEPT = 1_000;
const treeCache = new Map<string, PatternNode | null>();

/**
 * Returns a string that probably matches the pattern, to be checked by the caller; undefined for an unsupported pattern.
 *
 * @param generosity number of repetitions beyond the required ones: at most this many, or exactly as many if `isExact`
 */
export function patternText(
  source: string,
  random: RandomStream,
  generosity: number,
  { isExact = false }: { readonly isExact?: boolean } = {},
): string | undefined {
  const tree = getPatternTree(source);
  if (tree === null) return undefined;
  const writer = new PatternWriter(random, generosity, isExact);
  writer.write(tree);
  return writer.charsLeft < 0 ? undefined : writer.text;
}

function getPatternTree(source: string): PatternNode | null {
  let tree = treeCache.get(source);
  if (tree !== undefined) return tree;
  try {
    tree = parsePattern(source, isUnicode(source));
  } catch {
    tree = null;
  }
  if (treeCache.size >= MAX_KEPT) treeCache.clear();
  treeCache.set(source, tree);
  return tree;
}

function isUnicode(source: string): boolean {
  try {
    return new RegExp(source, "u").unicode;
  } catch {
    return false;
  }
}

class PatternWriter {
  text = "";
  charsLeft = MAX_TEXT;
  readonly #random: RandomStream;
  readonly #maxExtraRepeats: number;
  readonly #isExact: boolean;

  constructor(random: RandomStream, generosity: number, isExact: boolean) {
    this.#random = random;
    this.#isExact = isExact;
    this.#maxExtraRepeats = generosity;
  }

  write(node: PatternNode): void {
    if (--this.charsLeft < 0) return;
    switch (node.type) {
      case "set":
        this.text += pickCharacter(node, this.#random);
        return;
      case "sequence":
        for (const item of node.items) this.write(item);
        return;
      case "choice":
        this.write(this.#random.pick(node.branches));
        return;
      case "repeat":
        this.#repeat(node);
        return;
      case "look":
        if (node.ahead && !node.negated) this.write(node.body); // a positive look-ahead is approximated by writing its text here
        return;
      default:
        return; // edges have no text
    }
  }

  #repeat({ body, min, max }: Extract<PatternNode, { type: "repeat" }>): void {
    const extra = this.#isExact
      ? this.#maxExtraRepeats
      : this.#random.integer(0, this.#maxExtraRepeats) + (min === 0 && this.#maxExtraRepeats > 1 ? 1 : 0);
    const times = Math.min(max, min + extra);
    for (let count = 0; count < times && this.charsLeft >= 0; count++) this.write(body);
  }
}

const COMMON = Array.from("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
const RARE = Array.from(" _-./:,;@#%+*=!?()[]{}<>|&^~$'\"\\`\t\néß€中一あ😀\u0000");

/** The characters to use for each set: its letters and digits, else one other character. */
const usableCharactersBySet = new WeakMap<SetNode, readonly string[]>();

function pickCharacter(set: SetNode, random: RandomStream): string {
  return random.pick(getOrAdd(usableCharactersBySet, set, usableCharacters));
}

function usableCharacters(set: SetNode): readonly string[] {
  const common = COMMON.filter((character) => containsCharacter(set, character));
  if (common.length > 0) return common;
  const rare = RARE.find((character) => containsCharacter(set, character));
  if (rare !== undefined) return [rare];
  const range = set.members.find((member) => member.type === "range");
  return [set.negated || range === undefined ? "a" : String.fromCodePoint(range.from)];
}

function containsCharacter({ members: list, negated }: SetNode, character: string): boolean {
  return list.some((member) => isMember(member, character)) !== negated;
}

const CLASSES: Readonly<Record<string, RegExp>> = { d: /\d/u, D: /\D/u, w: /\w/u, W: /\W/u, s: /\s/u, S: /\S/u };

function isMember(member: SetMember, character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  if (member.type === "range") return code >= member.from && code <= member.to;
  if (member.type === "class") return CLASSES[member.name]?.test(character) ?? false;
  return propertyPattern(member.name).test(character) !== member.negated;
}

/** Takes a property name that the engine has accepted before. */
const propertyPattern = memoize((name) => new RegExp(`\\p{${name}}`, "u"));
