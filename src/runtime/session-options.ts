/** The ways to make calls in a session besides `execute`: their options, and a simulation's results. */
import type { ToolResult } from "../core/result.ts";
import { EXECUTE_OPTIONS, type ExecuteOptions } from "../call/execute-options.ts";
import type { OptionNames } from "../core/known-keys.ts";
import type { SessionDiff } from "../session/session-diff.ts";

/** How a call is simulated. */
export interface SimulateOptions extends Omit<ExecuteOptions, "recordHistory" | "idempotencyKey"> {
  /** The tools whose calls happen for real all the same, as patterns over qualified names; `true` = all. @default none */
  readonly allowSideEffects?: boolean | readonly string[];
}

const { recordHistory: _recordHistory, idempotencyKey: _idempotencyKey, ...ALSO_SIMULATED } = EXECUTE_OPTIONS;
/** Their names. */
export const SIMULATE_OPTIONS: OptionNames<SimulateOptions> = { ...ALSO_SIMULATED, allowSideEffects: ["array", "boolean"] };

/** How a background job is begun. */
export type SubmitOptions = Omit<ExecuteOptions, "background" | "onError" | "idempotencyKey" | "recordHistory">;

/** The results that calls would have had. */
export interface Simulation {
  /** In call order; each says in `origin` whether it is real. */
  readonly results: readonly ToolResult[];
  readonly diff: SessionDiff;
  /**
   * Makes what was tried part of the session: calls and results with their origins, and the changes of state. No call is run
   * again.
   *
   * @throws ToolError `conflict` when the session has moved on since; `invalid_argument` when there is no session, or it is done already. By rejecting
   */
  commit(): Promise<void>;
}
