/** Regular expressions of schemas, which are untrusted: matched in linear time or refused. */
import { ToolError } from "../../core/error.ts";
import { MAX_PATTERN_LENGTH, MAX_STEPS } from "../schema-limits.ts";
import { automatonMatcher } from "./automaton.ts";
import { type MatchCost, nativeCost, patternSize, propertyCount } from "./pattern-cost.ts";
import { type PatternNode, UnreadablePattern, readPattern } from "./pattern-syntax.ts";

/** A pattern that is ready to run, and the steps to charge for it: `stepsPerTest + text.length * stepsPerCharacter`. */
export interface LinearPattern {
  readonly test: (text: string) => boolean;
  readonly stepsPerTest: number;
  readonly stepsPerCharacter: number;
  /** The cost of compiling it, in halves of a microsecond or so, for the budget of its schema. */
  readonly compileCost: number;
}

const MAX_CACHED = 1000;
const cache = new Map<string, LinearPattern>();

/**
 * Compiles an ECMAScript pattern into an unanchored search that takes linear time.
 *
 * The native engine runs only what is proven linear; the rest runs as an automaton, which supports no back-references.
 *
 * @throws ToolError `invalid_schema` for bad syntax, and for a pattern that cannot be run in linear time.
 */
export function compilePattern(source: string): (text: string) => boolean {
  return linearPattern(source).test;
}

/** As `compilePattern`, with the cost of running it. */
export function linearPattern(source: string): LinearPattern {
  const known = cache.get(source);
  if (known !== undefined) return known;
  if (source.length > MAX_PATTERN_LENGTH) {
    throw new ToolError("invalid_schema", `a pattern has ${source.length} characters; ${MAX_PATTERN_LENGTH} is the limit.`);
  }
  const compiled = compileOrRefuse(source);
  if (cache.size >= MAX_CACHED) cache.clear();
  cache.set(source, compiled);
  return compiled;
}

/** Runs patterns as long as the steps of one validation last. */
export class PatternBudget {
  #stepsLeft = MAX_STEPS;

  get isUsedUp(): boolean {
    return this.#stepsLeft < 0;
  }

  /** Whether the pattern matches; false where it may not run any more. @throws ToolError as `compilePattern` */
  matches(source: string, text: string): boolean {
    const { test, stepsPerTest, stepsPerCharacter } = linearPattern(source);
    this.#stepsLeft -= stepsPerTest + text.length * stepsPerCharacter;
    return this.#stepsLeft >= 0 && test(text);
  }
}

/** Whether `compilePattern` takes it. */
export function isLinearPattern(source: string): boolean {
  try {
    linearPattern(source);
    return true;
  } catch (error: unknown) {
    if (error instanceof ToolError) return false;
    throw error;
  }
}

function compileOrRefuse(source: string): LinearPattern {
  try {
    return compile(source);
  } catch (error: unknown) {
    if (!(error instanceof UnreadablePattern)) throw error;
    throw new ToolError("invalid_schema", `the pattern ${JSON.stringify(source)} cannot be matched in linear time: ${error.message}.`, {
      hint: "Leave out back-references, and keep counted repeats small.",
      cause: error,
    });
  }
}

function compile(source: string): LinearPattern {
  const native = nativePattern(source);
  const tree = readPattern(source, native.unicode);
  const cost = nativeCost(tree);
  const properties = propertyCount(tree);
  const compileCost = NATIVE_COMPILE_COST + source.length / CHARACTERS_PER_COST + properties * PROPERTY_COMPILE_COST;
  if (cost !== undefined) return { test: nativeTest(source, native.unicode, tree), ...nativeSteps(cost), compileCost };
  const wanted = searchForm(tree);
  const size = patternSize(wanted);
  if (size > MAX_STATES) throw new UnreadablePattern("its repeats are too large when written out");
  return {
    test: automatonMatcher(wanted, native.unicode),
    stepsPerTest: 1,
    stepsPerCharacter: 1 + size / STATES_PER_STEP + properties / PROPERTIES_PER_STEP,
    compileCost: compileCost + size,
  };
}

/** Captures are left out: nothing asks for them, and the engine keeps all of them at each turn of a repeat. */
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
      const wanted = searchForm(tree);
      // The engine has 64 MB for the places where it may try again, which some millions of characters can use up.
      if (!(error instanceof RangeError) || patternSize(wanted) > MAX_STATES) throw error;
      automaton ??= automatonMatcher(wanted, unicode);
      return automaton(text);
    }
  };
}

/** An escape or a character class, which stay as they are, or the beginning of a group that captures. */
const GROUP = /\\[^]|\[(?:\\[^]|[^\]\\])*\]|\((?!\?)|\(\?<(?![=!])[^>]*>/gu;
const NATIVE_COMPILE_COST = 50;
const CHARACTERS_PER_COST = 4;
/** The engine collects the characters of a property each time. */
const PROPERTY_COMPILE_COST = 100;
/** Most states of an automaton, its repeats written out. */
const MAX_STATES = 5_000;
/** How many states of an automaton are advanced in one step. */
const STATES_PER_STEP = 8;
/** Of how many properties a character is tried in one step. */
const PROPERTIES_PER_STEP = 2;
/** How many comparisons of the native engine weigh as much as one step. */
const COMPARISONS_PER_STEP = 32;

function nativeSteps(cost: MatchCost): Pick<LinearPattern, "stepsPerTest" | "stepsPerCharacter"> {
  return { stepsPerTest: 1 + cost.fixed / COMPARISONS_PER_STEP, stepsPerCharacter: cost.perCharacter / COMPARISONS_PER_STEP };
}

function nativePattern(source: string): RegExp {
  try {
    return new RegExp(source, "u");
  } catch {
    try {
      return new RegExp(source); // `\-` and the like, which `u` forbids
    } catch (error: unknown) {
      throw new ToolError("invalid_schema", `the pattern ${JSON.stringify(source)} is not a regular expression.`, { cause: error });
    }
  }
}

/** Returns a pattern that matches in the same texts. A repeat at either end needs no more than its minimum: `a.{1,500}` is found wherever `a.` is. */
export function searchForm(tree: PatternNode): PatternNode {
  return cutEnd(cutEnd(tree, "first"), "last");
}

const EMPTY: PatternNode = { type: "sequence", items: [] };

function cutEnd(tree: PatternNode, end: "first" | "last"): PatternNode {
  if (tree.type === "choice") return { type: "choice", branches: tree.branches.map((branch) => cutEnd(branch, end)) };
  if (tree.type === "repeat") {
    if (tree.min === 0) return EMPTY;
    return tree.min === 1 ? cutEnd(tree.body, end) : { ...tree, max: tree.min };
  }
  if (tree.type !== "sequence") return tree;
  const items = [...tree.items];
  while (items.length > 0) {
    const item = end === "first" ? items.shift() : items.pop();
    const cut = item === undefined ? EMPTY : cutEnd(item, end);
    if (cut === EMPTY) continue;
    return { type: "sequence", items: end === "first" ? [cut, ...items] : [...items, cut] };
  }
  return EMPTY;
}
