/** The parts of a compiled schema: nodes, rules and resources, and the state of one validation. */
import { isObjectPrototypeClean } from "../core/base/json.ts";
import type { Evaluated } from "./keywords/evaluated.ts";
import { escapePointerStep } from "../core/base/json-pointer.ts";
import { type SchemaProblem, createProblem, showValue } from "./schema-problem.ts";
import { getOrAdd } from "../core/base/get-or-add.ts";

export interface RawSchema {
  readonly [keyword: string]: unknown;
}

/** One keyword, or several that belong together, compiled. Returns whether the value matches, and reports problems if the run explains. */
export type Rule = (value: unknown, run: ValidationRun) => boolean;

/** The JSON types as bits; `integer` is also a `number`. */
export const TYPE_BITS: ReadonlyMap<string, number> = new Map([
  ["null", 1],
  ["boolean", 2],
  ["integer", 4],
  ["number", 4 | 8],
  ["string", 16],
  ["array", 32],
  ["object", 64],
]);
export const ANY_TYPE = -1;
const NO_RULES: readonly Rule[] = [];
/** The rules of the schema `false`. */
export const NEVER: readonly Rule[] = [(_value, run) => run.report("false", "nothing is allowed here")];

/** The location of a subschema in its parent: under a keyword, and possibly under a name or index within it. */
export interface Location {
  readonly parent: SchemaNode | undefined;
  readonly keyword: string;
  readonly step: string | number | undefined;
}

/** A compiled subschema. */
export class SchemaNode implements Location {
  readonly raw: RawSchema;
  readonly parent: SchemaNode | undefined;
  readonly keyword: string;
  readonly step: string | number | undefined;
  /** Set once, directly after the `$id` is known. */
  resource: SchemaResource;
  readonly nesting: number;
  types = ANY_TYPE;
  rules: readonly Rule[] = NO_RULES;
  /** Whether a visit needs more than the rules: see `evaluate`. */
  needsTracking = false;
  /** Rules that need to know what the other rules evaluated. They run last, and only if all others match. */
  readonly lateRules: Rule[] = [];
  /** Subschemas that are applied to the same value as this one, including references. */
  readonly inPlace: SchemaNode[] = [];

  constructor(raw: RawSchema, location: Location, resource: SchemaResource) {
    this.raw = raw;
    this.parent = location.parent;
    this.keyword = location.keyword;
    this.step = location.step;
    this.resource = resource;
    this.nesting = location.parent === undefined ? 0 : location.parent.nesting + 1;
  }
}

/** Returns the JSON pointer of a subschema, or of one of its keywords: `#/properties/a/pattern`. */
export function schemaPointer(location: Location | undefined, keyword = ""): string {
  const steps: string[] = keyword === "" ? [] : [keyword];
  for (let at = location; at !== undefined; at = at.parent) {
    if (at.step !== undefined) steps.push(escapePointerStep(String(at.step)));
    if (at.keyword !== "") steps.push(at.keyword);
  }
  return ["#", ...steps.reverse()].join("/");
}

/** A schema document, or a part of it with its own `$id`: the base of `#` in references. */
export interface SchemaResource {
  /** Absolute, without a fragment. */
  readonly uri: string;
  readonly dialect: string;
  readonly raw: RawSchema;
  readonly anchors: Map<string, SchemaNode>;
  readonly dynamicAnchors: Map<string, SchemaNode>;
}

/** The resources entered on the way to the current subschema; `$dynamicRef` resolves to the outermost. */
export interface DynamicScope {
  readonly resource: SchemaResource;
  readonly outer: DynamicScope | undefined;
}

/** The result of an evaluation whose problems are not reported directly. */
export interface TrialResult {
  readonly valid: boolean;
  readonly problems: readonly SchemaProblem[];
}

const MAX_TRIAL_PROBLEMS = 5;

/** Shared by all runs that do not explain, which never write to them. */
const NO_PROBLEMS: SchemaProblem[] = [];
const NO_PATH: (string | number)[] = [];
const NO_SHOWN_TEXTS = new Map<object, string>();
/** Maximum number of incomplete loops over keys in one run. */
const MAX_EARLY_EXITS = 4;
/** The cost of describing a problem, in steps. */
const STEPS_PER_PROBLEM = 60;

/** The state of one validation: its budget, its current place, and its problems. */
export class ValidationRun {
  stepsLeft: number;
  depth = 0;
  /** Why the validation was aborted; the value then counts as invalid, whatever the rules say. */
  limit: string | undefined = undefined;
  /** Whether problems are collected; false if only the verdict is needed. */
  explaining: boolean;
  problems: SchemaProblem[];
  /** Path of the current value; only tracked while explaining. */
  readonly path: (string | number)[];
  /** Set while an outer subschema needs to know which parts of the current value were evaluated. */
  evaluated: Evaluated | undefined = undefined;
  scope: DynamicScope | undefined = undefined;
  private loopsLeft: number;
  private maxProblems: number;
  private readonly shown: Map<object, string>;

  constructor(maxSteps: number, maxProblems: number) {
    this.stepsLeft = maxSteps;
    this.maxProblems = maxProblems;
    this.explaining = maxProblems > 0;
    this.problems = this.explaining ? [] : NO_PROBLEMS;
    this.path = this.explaining ? [] : NO_PATH;
    this.shown = this.explaining ? new Map() : NO_SHOWN_TEXTS;
    this.loopsLeft = this.explaining || !isObjectPrototypeClean() ? 0 : MAX_EARLY_EXITS;
  }

  /** Whether the object may be checked by a loop over its keys, which sees only own keys. */
  canLoopKeys(object: object): boolean {
    if (this.loopsLeft === 0 || this.explaining || this.evaluated !== undefined) return false;
    return Object.getPrototypeOf(object) === Object.prototype;
  }

  /** Counts a loop that ended early: it listed all keys of the object without a charge. */
  countEarlyExit(): undefined {
    this.loopsLeft--;
  }

  /** Charges for work other than visits. Returns false if the budget is used up. */
  spend(steps: number): boolean {
    this.stepsLeft = Math.floor(this.stepsLeft - steps); // an integer, which is faster than fractions
    return this.stepsLeft >= 0 || this.abort("the value takes too much work to check");
  }

  /** Aborts the validation: every further visit fails at once. Returns false. */
  abort(reason: string): false {
    this.limit ??= reason;
    this.stepsLeft = -1;
    return false;
  }

  /** Reports a problem of the current value, or of its part `step`. Returns false. */
  report(keyword: string, message: string, step?: string | number): false {
    if (!this.shouldContinue() || !this.spend(STEPS_PER_PROBLEM + 2 * this.path.length)) return false;
    this.problems.push(createProblem(step === undefined ? this.path : [...this.path, step], keyword, message));
    return false;
  }

  /** Returns a short text for a value. Cached per object, since reading even the first key means listing all keys. */
  showCached(value: unknown): string {
    if (typeof value !== "object" || value === null) return showValue(value);
    return getOrAdd(this.shown, value, showValue);
  }

  /** True if, after a failure, the rest is still worth checking. */
  shouldContinue(): boolean {
    return this.explaining && this.limit === undefined && this.problems.length < this.maxProblems;
  }

  /** Runs `evaluate` while explaining, and returns its first few problems instead of reporting them. */
  runTrial(evaluate: () => boolean): TrialResult {
    const { problems, maxProblems } = this;
    const found: SchemaProblem[] = [];
    this.problems = found;
    this.maxProblems = Math.min(MAX_TRIAL_PROBLEMS, maxProblems);
    const valid = evaluate();
    this.problems = problems;
    this.maxProblems = maxProblems;
    return { valid, problems: found };
  }

  /** Reports the problems of a `runTrial`. Returns false. */
  reportAll(problems: readonly SchemaProblem[]): false {
    for (const problem of problems) if (this.shouldContinue()) this.problems.push(problem);
    return false;
  }
}
