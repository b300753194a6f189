/** Estimates the worst-case work of a backtracking engine for a pattern, for any text. */
import type { PatternNode, SetMember } from "./pattern-syntax.ts";

/** Upper bounds. They are multiplied, so ambiguity anywhere counts for the whole pattern. */
interface WorkEstimate {
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
const UNIT_WORK: WorkEstimate = { ways: 1, steps: 1, waysDegree: 0, degree: 0 };

/** Returns the cost of running a pattern natively; undefined if it is not proven to be linear and small. */
export function nativeCost(tree: PatternNode): MatchCost | undefined {
  let fixed = 0;
  let perCharacter = 0;
  for (const branch of tree.type === "choice" ? tree.branches : [tree]) {
    const { ways, steps, degree } = estimateWork(branch);
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

function estimateWork(tree: PatternNode): WorkEstimate {
  switch (tree.type) {
    case "set":
      return estimateSet(tree);
    case "edge":
      return UNIT_WORK;
    case "sequence":
      return estimateSequence(tree.items);
    case "choice":
      return estimateChoice(tree.branches);
    case "repeat":
      return isLongRun(tree)
        ? { ...LONG_RUN_WORK, steps: Math.max(LONG_RUN_WORK.steps, estimateWork(tree.body).steps) }
        : estimateRepeat(estimateWork(tree.body), tree.min, tree.max);
    case "look": {
      const { steps, degree } = estimateWork(tree.body);
      return { ways: 1, steps: clampWork(steps + 1), waysDegree: 0, degree }; // a look-around is not retried in another way
    }
  }
}

/** A set of many ranges is searched, and a property such as `\p{L}` has 600 ranges; the engine also takes long to compile several in a row. */
function estimateSet({ members, negated }: Extract<PatternNode, { type: "set" }>): WorkEstimate {
  if (members.length > MANY_RANGES || members.some(({ type }) => type === "property")) return { ...UNIT_WORK, steps: SEARCH_STEPS };
  return negated || members.some(hasSurrogatePairs) ? { ...UNIT_WORK, steps: PAIR_STEPS } : UNIT_WORK;
}

/** Whether the member has characters of two UTF-16 units, which the engine tries both as two and as one. */
function hasSurrogatePairs(member: SetMember): boolean {
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
  return body.type === "set" && max > LONG_RUN && max !== Infinity;
}

const LONG_RUN = 500;
/**
 * The work of such a repeat. It has many steps since the engine counts the iterations and stores each of them: validation runs out of steps
 * before a text exhausts the engine's memory.
 */
const LONG_RUN_WORK: WorkEstimate = { ways: 1, steps: 16, waysDegree: 1, degree: 1 };

/** Each item runs once for every way in which the items before it matched. */
function estimateSequence(items: readonly PatternNode[]): WorkEstimate {
  let { ways, steps, waysDegree, degree } = { ...UNIT_WORK, steps: 0 };
  for (const item of items) {
    const part = estimateWork(item);
    steps = clampWork(steps + ways * part.steps);
    ways = clampWork(ways * part.ways);
    degree = Math.max(degree, waysDegree + part.degree);
    waysDegree += part.waysDegree;
  }
  return { ways, steps, waysDegree, degree };
}

function estimateChoice(branches: readonly PatternNode[]): WorkEstimate {
  let { ways, steps, waysDegree, degree } = { ...UNIT_WORK, ways: 0, steps: 0 };
  for (const branch of branches) {
    const part = estimateWork(branch);
    ways = clampWork(ways + part.ways);
    steps = clampWork(steps + part.steps);
    waysDegree = Math.max(waysDegree, part.waysDegree);
    degree = Math.max(degree, part.degree);
  }
  return { ways, steps, waysDegree, degree };
}

function estimateRepeat(body: WorkEstimate, min: number, max: number): WorkEstimate {
  if (max === Infinity) {
    // iterations of a body with one way and no repeat of its own add up; those of any other body may multiply
    const degree = body.degree === 0 && body.ways === 1 ? 1 : 2;
    return { ways: 1, steps: clampWork(body.steps * Math.max(1, min)), waysDegree: degree, degree };
  }
  if (max === 0) return { ...UNIT_WORK, steps: 0 };
  const waysDegree = body.waysDegree * max;
  const degree = body.waysDegree * (max - 1) + body.degree;
  if (body.ways === 1) return { ways: max - min + 1, steps: clampWork(body.steps * max), waysDegree, degree };
  const ways = clampWork((max - min + 1) * body.ways ** max);
  return { ways, steps: clampWork(ways * body.steps * max), waysDegree, degree };
}

function clampWork(amount: number): number {
  return amount < TOO_MUCH ? amount : TOO_MUCH; // NaN, from Infinity × 0, also ends here
}
