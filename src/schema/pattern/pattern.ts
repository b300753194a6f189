/** Regular expressions of schemas, which are untrusted: matched in linear time or refused. */
import { ToolError } from "../../core/error.ts";
import { MAX_PATTERN_LENGTH, MAX_STEPS } from "../schema-limits.ts";
import { automatonMatcher } from "./automaton.ts";
import { type MatchCost, nativeCost, patternSize, propertyCount } from "./pattern-cost.ts";
import { type PatternNode, UnsupportedPattern, parsePattern } from "./pattern-syntax.ts";

/** A compiled pattern, and the steps to charge for it: `stepsPerTest + text.length * stepsPerCharacter`. */
export interface LinearPattern {
  readonly test: (text: string) => boolean;
  readonly stepsPerTest: number;
  readonly stepsPerCharacter: number;
  /** The cost of compiling it, in units of about half a microsecond, for the budget of its schema. */
  readonly compileCost: number;
}

const MAX_CACHED = 1000;
const cache = new Map<string, LinearPattern>();

/**
 * Compiles an ECMAScript pattern to an unanchored search in linear time.
 *
 * The native engine runs only patterns that are proven linear; others run as an automaton, which does not support back-references.
 *
 * @throws ToolError `invalid_schema` for a syntax error, and for a pattern that cannot run in linear time
 */
export function linearPattern(source: string): LinearPattern {
  const known = cache.get(source);
  if (known !== undefined) return known;
  if (source.length > MAX_PATTERN_LENGTH) {
    throw new ToolError("invalid_schema", `a pattern has ${source.length} characters; ${MAX_PATTERN_LENGTH} is the limit.`);
  }
  const compiled = compileOrThrow(source);
  if (cache.size >= MAX_CACHED) cache.clear();
  cache.set(source, compiled);
  return compiled;
}

/** Runs patterns with the total steps of one validation. */
export class PatternBudget {
  #stepsLeft = MAX_STEPS;

  get isUsedUp(): boolean {
    return this.#stepsLeft < 0;
  }

  /** Charges for other work with texts. */
  spend(steps: number): void {
    this.#stepsLeft -= steps;
  }

  /** Whether the pattern matches; false if the budget is used up. @throws ToolError as `linearPattern` */
  matches(source: string, text: string): boolean {
    const { test, stepsPerTest, stepsPerCharacter } = linearPattern(source);
    this.#stepsLeft -= stepsPerTest + text.length * stepsPerCharacter;
    return this.#stepsLeft >= 0 && test(text);
  }
}

/** Whether `linearPattern` accepts the pattern. */
export function isLinearPattern(source: string): boolean {
  try {
    linearPattern(source);
    return true;
  } catch (error: unknown) {
    if (error instanceof ToolError) return false;
    throw error;
  }
}

function compileOrThrow(source: string): LinearPattern {
  try {
    return compileUncached(source);
  } catch (error: unknown) {
    if (!(error instanceof UnsupportedPattern)) throw error;
    throw new ToolError("invalid_schema", `the pattern ${JSON.stringify(source)} cannot be matched in linear time: ${error.message}.`, {
      hint: "Leave out back-references, and keep counted repeats small.",
      cause: error,
    });
  }
}

function compileUncached(source: string): LinearPattern {
  const native = nativePattern(source);
  const tree = parsePattern(source, native.unicode);
  const cost = nativeCost(tree);
  const properties = propertyCount(tree);
  const compileCost = NATIVE_COMPILE_COST + source.length / CHARACTERS_PER_COST + properties * PROPERTY_COMPILE_COST;
  if (cost !== undefined) return { test: nativeTest(source, native.unicode, tree), ...nativeSteps(cost), compileCost };
  const wanted = simplifyForSearch(tree);
  const size = patternSize(wanted);
  if (size > MAX_STATES) throw new UnsupportedPattern("its repeats are too large when expanded");
  return {
    test: automatonMatcher(wanted, native.unicode),
    stepsPerTest: 1,
    stepsPerCharacter: 1 + size / STATES_PER_STEP + properties / PROPERTIES_PER_STEP,
    compileCost: compileCost + size,
  };
}

/** Returns a native test. Captures are removed: they are not needed, and the engine would store all of them in each iteration of a repeat. */
function nativeTest(source: string, unicode: boolean, tree: PatternNode): (text: string) => boolean {
  const native = new RegExp(
    source.replaceAll(GROUP, (found) => (found.startsWith("(") ? "(?:" : found)),
    unicode ? "u" : "",
  );
  let automaton: ((text: string) => boolean) | undefined;
  return (text) => {
    try {
      return native.test(text);
    } catch (error: unknown) {
      const wanted = simplifyForSearch(tree);
      // the engine's backtrack stack is limited to 64 MB, which some millions of characters can exceed
      if (!(error instanceof RangeError) || patternSize(wanted) > MAX_STATES) throw error;
      automaton ??= automatonMatcher(wanted, unicode);
      return automaton(text);
    }
  };
}

/** Matches an escape or a character class, which stay unchanged, or the beginning of a capturing group. */
const GROUP = /\\[^]|\[(?:\\[^]|[^\]\\])*\]|\((?!\?)|\(\?<(?![=!])[^>]*>/gu;
const NATIVE_COMPILE_COST = 50;
const CHARACTERS_PER_COST = 4;
/** The engine collects the characters of a property each time. */
const PROPERTY_COMPILE_COST = 100;
/** Maximum number of states of an automaton with its repeats written out. */
const MAX_STATES = 5_000;
/** Number of states of an automaton that are advanced in one step. */
const STATES_PER_STEP = 8;
/** Number of properties that a character is tested for in one step. */
const PROPERTIES_PER_STEP = 2;
/** Number of comparisons of the native engine that cost as much as one step. */
const COMPARISONS_PER_STEP = 32;

function nativeSteps(cost: MatchCost): Pick<LinearPattern, "stepsPerTest" | "stepsPerCharacter"> {
  return { stepsPerTest: 1 + cost.fixed / COMPARISONS_PER_STEP, stepsPerCharacter: cost.perCharacter / COMPARISONS_PER_STEP };
}

function nativePattern(source: string): RegExp {
  try {
    return new RegExp(source, "u");
  } catch {
    try {
      return new RegExp(source); // allows `\-` and others, which `u` forbids
    } catch (error: unknown) {
      throw new ToolError("invalid_schema", `the pattern ${JSON.stringify(source)} is not a regular expression.`, { cause: error });
    }
  }
}

/** Returns a pattern that matches in the same texts. A repeat at either end needs only its minimum: `a.{1,500}` matches wherever `a.` does. */
export function simplifyForSearch(tree: PatternNode): PatternNode {
  return trimRepeatAt(trimRepeatAt(tree, "first"), "last");
}

const EMPTY: PatternNode = { type: "sequence", items: [] };

function trimRepeatAt(tree: PatternNode, end: "first" | "last"): PatternNode {
  if (tree.type === "choice") return { type: "choice", branches: tree.branches.map((branch) => trimRepeatAt(branch, end)) };
  if (tree.type === "repeat") {
    if (tree.min === 0) return EMPTY;
    return tree.min === 1 ? trimRepeatAt(tree.body, end) : { ...tree, max: tree.min };
  }
  if (tree.type !== "sequence") return tree;
  const items = [...tree.items];
  while (items.length > 0) {
    const item = end === "first" ? items.shift() : items.pop();
    const cut = item === undefined ? EMPTY : trimRepeatAt(item, end);
    if (cut === EMPTY) continue;
    return { type: "sequence", items: end === "first" ? [cut, ...items] : [...items, cut] };
  }
  return EMPTY;
}
