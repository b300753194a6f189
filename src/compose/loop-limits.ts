import { omitUndefined } from "../core/base/omit-undefined.ts";
import { quoteValue } from "../core/base/wording.ts";
import { ToolError } from "../core/error.ts";
import { checkBudgetLimits, type LoopBudgetLimits } from "./loop-budget.ts";
import { checkRepeatOptions, type RepeatGuardOptions } from "./repeat-guard.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";

/** The limits of a loop. */
export interface LoopLimits {
  /** Maximum number of requests to the model in one run. @default 50 */
  readonly maxRounds?: number;
  /** Maximum number of calls in one message; further ones are answered `limit_exceeded`. @default 128 */
  readonly maxCallsPerRound?: number;
  /** If false, a run makes one call and ends after it. @default true */
  readonly multiAction?: boolean;
  /** The budget of a run. @default no limit */
  readonly budget?: LoopBudgetLimits;
  /** The limits on calls that repeatedly have the same result; false = none. @default see `RepeatGuardOptions` */
  readonly repeat?: RepeatGuardOptions | false;
  /** Maximum duration of a run, in milliseconds; running work is then cancelled. 0 = no limit. @default 0 */
  readonly maxDurationMs?: number;
  /** Longest time without model output, tool progress or a result, in milliseconds; running work is then cancelled. 0 = no limit. @default 0 */
  readonly idleMs?: number;
  /** How many times in a row a provider may pause its message and be asked to continue. @default 10 */
  readonly maxPauses?: number;
  /** The size of the model's context in tokens. If given, results report how full it is, and the model gets a note. @default unknown */
  readonly contextTokens?: number;
}

export type CheckedLimits = Required<Omit<LoopLimits, "contextTokens">> & Pick<LoopLimits, "contextTokens">;

export const LIMIT_DEFAULTS: CheckedLimits = {
  maxRounds: 50,
  maxCallsPerRound: 128,
  multiAction: true,
  budget: {},
  repeat: {},
  maxDurationMs: 0,
  idleMs: 0,
  maxPauses: 10,
};

export const LIMIT_NAMES: OptionNames<LoopLimits> = {
  maxRounds: true,
  maxCallsPerRound: true,
  multiAction: true,
  budget: true,
  repeat: true,
  maxDurationMs: true,
  idleMs: true,
  maxPauses: true,
  contextTokens: true,
};

/** Returns the limits with their defaults. @throws ToolError `invalid_argument` */
export function checkLoopLimits(limits: LoopLimits = {}): CheckedLimits {
  checkKnownKeys(limits, LIMIT_NAMES, "createLoop({ limits })");
  const checked = { ...LIMIT_DEFAULTS, ...omitUndefined(limits) };
  for (const name of ["maxRounds", "maxCallsPerRound"] as const) checkCount(name, checked[name], 1);
  checkCount("maxPauses", checked.maxPauses, 0);
  for (const name of ["maxDurationMs", "idleMs"] as const)
    if (!(Number.isFinite(checked[name]) && checked[name] >= 0))
      throw invalidLimitError(name, "a number of milliseconds from 0", checked[name]);
  const { contextTokens } = checked;
  if (contextTokens !== undefined && !(contextTokens > 0)) throw invalidLimitError("contextTokens", "a number above 0", contextTokens);
  checkBudgetLimits(checked.budget);
  if (checked.repeat !== false) checkRepeatOptions(checked.repeat);
  return checked;
}

/** Refuses a budget of cost if no function counts the cost. @throws ToolError `invalid_argument` */
export function checkCostIsCounted({ limits, cost }: { readonly limits?: LoopLimits; readonly cost?: unknown }, owner: string): void {
  if (limits?.budget?.cost === undefined || cost !== undefined) return;
  throw new ToolError("invalid_argument", `${owner} has a cost budget, but nothing that gives the cost of a reply.`, {
    hint: "Give the function cost as well, or the prices of the model in the configuration: [model.prices].",
  });
}

/** Options of `reactLimits`. */
export interface ReactOptions {
  /** Maximum number of rounds of a run. Integer, 1–10. @default 5 */
  readonly maxIterations?: number;
  /** If false, a run makes one call. @default true */
  readonly multiAction?: boolean;
}

const MOST_ITERATIONS = 10;

/** Returns the limits of a ReAct loop. @throws ToolError `invalid_argument` */
export function reactLimits(options: ReactOptions = {}): LoopLimits {
  checkKnownKeys(options, { maxIterations: true, multiAction: true }, "reactLimits()");
  const { maxIterations = 5, multiAction = true } = options;
  if (!Number.isSafeInteger(maxIterations) || maxIterations < 1 || maxIterations > MOST_ITERATIONS)
    throw invalidLimitError("maxIterations", `an integer from 1 to ${MOST_ITERATIONS}`, maxIterations);
  return { maxRounds: maxIterations, multiAction };
}

function checkCount(name: string, value: number, least: number): void {
  if (!((Number.isSafeInteger(value) && value >= least) || value === Infinity))
    throw invalidLimitError(name, `an integer from ${least}`, value);
}

function invalidLimitError(name: string, wanted: string, value: unknown): ToolError {
  return new ToolError("invalid_argument", `The limit ${name} of a loop must be ${wanted}, not ${quoteValue(value)}.`);
}
