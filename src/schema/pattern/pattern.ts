/** Regular expressions of schemas, which are untrusted: matched in linear time or refused. */
import { ToolError } from "../../core/error.ts";
import { type MatchCost, isAnchored, nativeCost, patternSize } from "./pattern-cost.ts";
import { MAX_RE2_SIZE, re2Matcher } from "./pattern-re2.ts";
import { type PatternNode, UnreadablePattern, readPattern } from "./pattern-syntax.ts";
import { MAX_PATTERN_LENGTH } from "../schema-limits.ts";

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
 * The native engine runs only what is proven linear; the rest runs on RE2. Look-ahead right after a leading
 * `^` is matched on its own; other look-around and back-references work only where the native engine may run.
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
      hint: "Leave out back-references and look-behind, put look-ahead right after a leading ^, and keep counted repeats small.",
      cause: error,
    });
  }
}

function compile(source: string): LinearPattern {
  const native = nativePattern(source);
  const tree = readPattern(source, native.unicode);
  const cost = nativeCost(tree);
  if (cost !== undefined) return { test: (text) => native.test(text), ...nativeSteps(cost), compileCost: NATIVE_COMPILE_COST };
  const conditions = source.startsWith("^") ? leadingLookAheads(tree) : [];
  if (conditions.length > 0) return conjunction(source, conditions);
  const size = patternSize(tree);
  if (size > MAX_RE2_SIZE) throw new UnreadablePattern("its repeats are too large when written out");
  // RE2's table of states stays small for small patterns; for larger ones, each character may cost a new state.
  const stepsPerCharacter = size <= SMALL_SIZE ? 1 : size;
  return { test: re2Matcher(tree), stepsPerTest: 1, stepsPerCharacter, compileCost: RE2_COMPILE_COST + RE2_COMPILE_COST_PER_STATE * size };
}

const NATIVE_COMPILE_COST = 50;
const RE2_COMPILE_COST = 500;
const RE2_COMPILE_COST_PER_STATE = 4;

const SMALL_SIZE = 16;
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

type Look = Extract<PatternNode, { type: "look" }>;

/** The look-aheads of `^(?=…)(?!…)rest`: conditions on the whole text, each of which can be matched alone. */
function leadingLookAheads(tree: PatternNode): readonly Look[] {
  if (tree.type !== "sequence" || !isAnchored(tree)) return [];
  const looks: Look[] = [];
  for (const item of tree.items.slice(1)) {
    if (item.type !== "look" || !item.ahead) break;
    looks.push(item);
  }
  return looks;
}

function conjunction(source: string, looks: readonly Look[]): LinearPattern {
  const conditions = looks.map((look) => ({ pattern: compile(`^(?:${source.slice(look.start, look.end)})`), expected: !look.negated }));
  const restStart = (looks.at(-1)?.end ?? 0) + 1;
  conditions.push({ pattern: compile(`^${source.slice(restStart)}`), expected: true });
  return {
    test: (text) => conditions.every(({ pattern, expected }) => pattern.test(text) === expected),
    stepsPerTest: conditions.reduce((sum, { pattern }) => sum + pattern.stepsPerTest, 0),
    stepsPerCharacter: conditions.reduce((sum, { pattern }) => sum + pattern.stepsPerCharacter, 0),
    compileCost: conditions.reduce((sum, { pattern }) => sum + pattern.compileCost, 0),
  };
}
