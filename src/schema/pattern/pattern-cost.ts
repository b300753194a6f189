/** Estimates the worst-case work of a backtracking engine for a pattern, for any text. */
import type { PatternNode, SetMember } from "./pattern-syntax.ts";

/** Upper bounds. They are multiplied, so ambiguity anywhere counts for the whole pattern. */
interface Work {
  /** Number of ways in which the term can match at one position, not counting its single unbounded repeat. */
  readonly ways: number;
  /** Character comparisons for one way; an unbounded repeat is counted as one iteration. */
  readonly steps: number;
  /** Number of unbounded repeats that multiply the ways: the exponent of the text's length. */
  readonly waysDegree: number;
  /** The same exponent for the comparisons of all ways. */
  readonly degree: number;
}

/** The cost of a native match: `fixed` comparisons per text, plus `perCharacter` for each character. */
export interface MatchCost {
  readonly fixed: number;
  readonly perCharacter: number;
}

const MAX_FIXED = 20_000;
const MAX_PER_CHARACTER = 100;
/** Above every limit, and still safe to multiply. */
const TOO_MUCH = 1e9;
const ONE: Work = { ways: 1, steps: 1, waysDegree: 0, degree: 0 };

/** Returns the cost of running a pattern natively; undefined if it is not proven to be linear and small. */
export function nativeCost(tree: PatternNode): MatchCost | undefined {
  let fixed = 0;
  let perCharacter = 0;
  for (const branch of tree.type === "choice" ? tree.branches : [tree]) {
    const { ways, steps, degree } = work(branch);
    const comparisons = steps + ways;
    const power = degree + (isAnchored(branch) ? 0 : 1); // an unanchored search starts again at each character
    if (power > 1) return undefined;
    if (power === 1) perCharacter += comparisons;
    else fixed += comparisons;
  }
  return fixed <= MAX_FIXED && perCharacter <= MAX_PER_CHARACTER ? { fixed, perCharacter } : undefined;
}

/** True if a match can begin only at the start of the text. */
export function isAnchored(tree: PatternNode): boolean {
  if (tree.type === "edge") return tree.edge === "start";
  return tree.type === "sequence" && tree.items[0]?.type === "edge" && tree.items[0].edge === "start";
}

/** Additional size of a look-around, which is a separate run. */
const LOOK_SIZE = 8;

/** Returns the number of states of the pattern with its repeats written out. */
export function patternSize(tree: PatternNode): number {
  switch (tree.type) {
    case "set":
    case "edge":
      return 1;
    case "sequence":
      return tree.items.reduce((sum, item) => sum + patternSize(item), 0);
    case "choice":
      return tree.branches.reduce((sum, branch) => sum + patternSize(branch) + 1, 0);
    case "repeat":
      return Math.min(TOO_MUCH, (patternSize(tree.body) + 1) * Math.max(1, tree.max === Infinity ? tree.min : tree.max));
    case "look":
      return patternSize(tree.body) + LOOK_SIZE;
  }
}

function work(tree: PatternNode): Work {
  switch (tree.type) {
    case "set":
      return setWork(tree);
    case "edge":
      return ONE;
    case "sequence":
      return sequenceWork(tree.items);
    case "choice":
      return choiceWork(tree.branches);
    case "repeat":
      return isLongRun(tree)
        ? { ...ONE_BY_ONE, steps: Math.max(ONE_BY_ONE.steps, work(tree.body).steps) }
        : repeatWork(work(tree.body), tree.min, tree.max);
    case "look": {
      const { steps, degree } = work(tree.body);
      return { ways: 1, steps: bounded(steps + 1), waysDegree: 0, degree }; // a look-around is not retried in another way
    }
  }
}

/** A set of many ranges is searched, and a property such as `\p{L}` has 600 ranges; the engine also takes long to compile several in a row. */
function setWork({ members, negated }: Extract<PatternNode, { type: "set" }>): Work {
  if (members.length > MANY_RANGES || members.some(({ type }) => type === "property")) return { ...ONE, steps: SEARCH_STEPS };
  return negated || members.some(holdsPairs) ? { ...ONE, steps: PAIR_STEPS } : ONE;
}

/** Whether the member has characters of two UTF-16 units, which the engine tries both as two and as one. */
function holdsPairs(member: SetMember): boolean {
  return member.type === "range" ? member.to > 0xffff : /[DWS]/u.test(member.name);
}

const PAIR_STEPS = 4;
const MANY_RANGES = 16;
const SEARCH_STEPS = 32;

/** Returns how many character properties the pattern uses. */
export function propertyCount(tree: PatternNode): number {
  switch (tree.type) {
    case "set":
      return tree.members.filter(({ type }) => type === "property").length;
    case "edge":
      return 0;
    case "sequence":
      return tree.items.reduce((sum, item) => sum + propertyCount(item), 0);
    case "choice":
      return tree.branches.reduce((sum, branch) => sum + propertyCount(branch), 0);
    case "repeat":
    case "look":
      return propertyCount(tree.body);
  }
}

/** Whether a repeat is like `.{0,5000}`, which is limited by the text just as `.*` is. */
function isLongRun({ body, max }: Extract<PatternNode, { type: "repeat" }>): boolean {
  return body.type === "set" && max > LONG && max !== Infinity;
}

const LONG = 500;
/**
 * The work of such a repeat. It has many steps since the engine counts the iterations and stores each of them: validation runs out of steps
 * before a text exhausts the engine's memory.
 */
const ONE_BY_ONE: Work = { ways: 1, steps: 16, waysDegree: 1, degree: 1 };

/** Each item runs once for every way in which the items before it matched. */
function sequenceWork(items: readonly PatternNode[]): Work {
  let { ways, steps, waysDegree, degree } = { ...ONE, steps: 0 };
  for (const item of items) {
    const part = work(item);
    steps = bounded(steps + ways * part.steps);
    ways = bounded(ways * part.ways);
    degree = Math.max(degree, waysDegree + part.degree);
    waysDegree += part.waysDegree;
  }
  return { ways, steps, waysDegree, degree };
}

function choiceWork(branches: readonly PatternNode[]): Work {
  let { ways, steps, waysDegree, degree } = { ...ONE, ways: 0, steps: 0 };
  for (const branch of branches) {
    const part = work(branch);
    ways = bounded(ways + part.ways);
    steps = bounded(steps + part.steps);
    waysDegree = Math.max(waysDegree, part.waysDegree);
    degree = Math.max(degree, part.degree);
  }
  return { ways, steps, waysDegree, degree };
}

function repeatWork(body: Work, min: number, max: number): Work {
  if (max === Infinity) {
    // iterations of a body with one way and no repeat of its own add up; those of any other body may multiply
    const degree = body.degree === 0 && body.ways === 1 ? 1 : 2;
    return { ways: 1, steps: bounded(body.steps * Math.max(1, min)), waysDegree: degree, degree };
  }
  if (max === 0) return { ...ONE, steps: 0 };
  const waysDegree = body.waysDegree * max;
  const degree = body.waysDegree * (max - 1) + body.degree;
  if (body.ways === 1) return { ways: max - min + 1, steps: bounded(body.steps * max), waysDegree, degree };
  const ways = bounded((max - min + 1) * body.ways ** max);
  return { ways, steps: bounded(ways * body.steps * max), waysDegree, degree };
}

function bounded(amount: number): number {
  return amount < TOO_MUCH ? amount : TOO_MUCH; // NaN, from Infinity × 0, also ends here
}
