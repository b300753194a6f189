/** Options of `simulate` and `submit`, and the results of a simulation. */
import type { ToolResult } from "../core/result.ts";
import { EXECUTE_OPTIONS, type ExecuteOptions } from "../call/execute-options.ts";
import type { OptionNames } from "../core/known-keys.ts";
import type { SessionDiff } from "../session/session-diff.ts";

/** How a call is simulated. */
export interface SimulateOptions extends Omit<ExecuteOptions, "recordHistory" | "idempotencyKey"> {
  /** The tools whose calls run for real all the same, as patterns over qualified names; `true` = all. @default none */
  readonly allowSideEffects?: boolean | readonly string[];
}

const { recordHistory: _recordHistory, idempotencyKey: _idempotencyKey, ...ALSO_SIMULATED } = EXECUTE_OPTIONS;
export const SIMULATE_OPTIONS: OptionNames<SimulateOptions> = { ...ALSO_SIMULATED, allowSideEffects: ["array", "boolean"] };

/** How a background job is started. */
export type SubmitOptions = Omit<ExecuteOptions, "background" | "onError" | "idempotencyKey" | "recordHistory">;

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
