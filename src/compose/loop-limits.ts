/** How far a loop may go. */
import { ToolError } from "../core/error.ts";
import { checkLimits, type LoopBudgetLimits } from "./loop-budget.ts";
import { checkRepeatOptions, type RepeatGuardOptions } from "./repeat-guard.ts";
import { checkKnownKeys } from "../core/known-keys.ts";

/** How far a loop may go. */
export interface LoopLimits {
  /** Most requests to the model in one run. @default 50 */
  readonly maxRounds?: number;
  /** Most calls of one message; those beyond it are answered `limit_exceeded`. @default 128 */
  readonly maxCallsPerRound?: number;
  /** False: one call a run is made, and the run ends after it. @default true */
  readonly multiAction?: boolean;
  /** What a run may spend. @default no limit */
  readonly budget?: LoopBudgetLimits;
  /** What is done about calls that come to the same again and again; false = nothing. @default see `RepeatGuardOptions` */
  readonly repeat?: RepeatGuardOptions | false;
  /** Longest run, in milliseconds; then what runs is cancelled. 0 = no limit. @default 0 */
  readonly maxDurationMs?: number;
  /** Longest time without a word of the model, progress of a tool or a result, in milliseconds; then what runs is cancelled. 0 = no limit. @default 0 */
  readonly idleMs?: number;
  /** How often in a row a provider may pause its message and be asked to go on. @default 10 */
  readonly maxPauses?: number;
  /** How many tokens the model's context holds: then results and the model are told how full it is. @default not told */
  readonly contextTokens?: number;
}

export type CheckedLimits = Required<Omit<LoopLimits, "contextTokens">> & Pick<LoopLimits, "contextTokens">;

const DEFAULTS: CheckedLimits = {
  maxRounds: 50,
  maxCallsPerRound: 128,
  multiAction: true,
  budget: {},
  repeat: {},
  maxDurationMs: 0,
  idleMs: 0,
  maxPauses: 10,
};

export const LIMIT_NAMES: readonly string[] = [...Object.keys(DEFAULTS), "contextTokens"];

/** The limits with their defaults. @throws ToolError `invalid_argument` */
export function checkLoopLimits(limits: LoopLimits = {}): CheckedLimits {
  checkKnownKeys(limits, LIMIT_NAMES, "createLoop({ limits })");
  const checked = { ...DEFAULTS, ...limits };
  for (const name of ["maxRounds", "maxCallsPerRound"] as const) checkCount(name, checked[name], 1);
  checkCount("maxPauses", checked.maxPauses, 0);
  for (const name of ["maxDurationMs", "idleMs"] as const)
    if (!(Number.isFinite(checked[name]) && checked[name] >= 0)) throw wrong(name, "a number of milliseconds from 0", checked[name]);
  const { contextTokens } = checked;
  if (contextTokens !== undefined && !(contextTokens > 0)) throw wrong("contextTokens", "a number above 0", contextTokens);
  checkLimits(checked.budget);
  if (checked.repeat !== false) checkRepeatOptions(checked.repeat);
  return checked;
}

/** How many rounds and calls a loop of single steps may take. */
export interface ReactOptions {
  /** How many rounds a run has. Integer, 1–10. @default 5 */
  readonly maxIterations?: number;
  /** False: one action a run. @default true */
  readonly multiAction?: boolean;
}

const MOST_ITERATIONS = 10;

/** The limits of a ReAct loop. @throws ToolError `invalid_argument` */
export function reactLimits({ maxIterations = 5, multiAction = true }: ReactOptions = {}): LoopLimits {
  if (!Number.isSafeInteger(maxIterations) || maxIterations < 1 || maxIterations > MOST_ITERATIONS)
    throw wrong("maxIterations", `an integer from 1 to ${MOST_ITERATIONS}`, maxIterations);
  return { maxRounds: maxIterations, multiAction };
}

function checkCount(name: string, value: number, least: number): void {
  if (!((Number.isSafeInteger(value) && value >= least) || value === Infinity)) throw wrong(name, `an integer from ${least}`, value);
}

function wrong(name: string, wanted: string, value: unknown): ToolError {
  return new ToolError("invalid_argument", `The limit ${name} of a loop is ${wanted}, not ${String(value)}.`);
}
