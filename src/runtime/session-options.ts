/** Options of `simulate` and `submit`, and the results of a simulation. */
import type { ToolResult } from "../core/result.ts";
import { EXECUTE_OPTIONS, type ExecuteOptions } from "../call/execute-options.ts";
import { checkArgument } from "../core/check-argument.ts";
import { isOptionsObject } from "../core/base/wording.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { SessionDiff } from "../session/session-diff.ts";

/** How a call is simulated. */
export interface SimulateOptions extends Omit<ExecuteOptions, "recordHistory" | "idempotencyKey"> {
  /** The tools whose calls run for real all the same, as patterns over qualified names; `true` = all. @default none */
  readonly allowSideEffects?: boolean | readonly string[];
}

const { recordHistory: _recordHistory, idempotencyKey: _idempotencyKey, ...ALSO_SIMULATED } = EXECUTE_OPTIONS;
export const SIMULATE_OPTIONS: OptionNames<SimulateOptions> = { ...ALSO_SIMULATED, allowSideEffects: ["array", "boolean"] };
const { background: _background, onError: _onError, ...OF_SUBMIT } = ALSO_SIMULATED;
const SUBMIT_OPTIONS: OptionNames<SubmitOptions> = OF_SUBMIT;

/** How a background job is started. */
export type SubmitOptions = Omit<ExecuteOptions, "background" | "onError" | "idempotencyKey" | "recordHistory">;

/** @throws ToolError `invalid_argument` for anything but one call, and for options of `execute` that no job has */
export function checkSubmission(call: unknown, options: SubmitOptions): void {
  checkArgument(!Array.isArray(call), "submit(call, options)", "one call", call, "Start several: execute(calls, { background: true }).");
  if (isOptionsObject(options) && "idempotencyKey" in options)
    throw new ToolError("invalid_argument", 'submit() has no option "idempotencyKey".', {
      hint: "Use execute(call, { background: true, idempotencyKey }): its first result is pending, and a later one is the job's.",
    });
  checkKnownKeys(options, SUBMIT_OPTIONS, "submit()");
}

/** The results that calls would have had. */
export interface Simulation {
  /** In call order; `origin` says whether each is real. */
  readonly results: readonly ToolResult[];
  readonly diff: SessionDiff;
  /**
   * Makes the simulated calls part of the session: calls and results with their origins, and the state changes. No call is run again.
   *
   * @throws ToolError `conflict` if the session has more events since; `invalid_argument` if there is no session, or if it was committed already; as
   * a rejection
   */
  commit(): Promise<void>;
}
