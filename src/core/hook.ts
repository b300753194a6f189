/** Code that looks at every call and every result, and may change or stop it. */
import type { ToolCall } from "./call.ts";
import type { ToolResult } from "./result.ts";

export interface Hook {
  readonly name: string;
  /** Lower runs first; equal ones in the order given. @default 0 */
  readonly priority?: number;
  /**
   * What becomes of it in a simulation. `run`: it leaves no trace of its own, or looks at `context.simulated`; `skip`: it is
   * left out. Said of neither, calls of a simulation are refused rather than run past it or through it.
   */
  readonly inSimulation?: "run" | "skip";
  /**
   * What becomes of a call whose hook throws or does not answer in time. `skip`: that is logged, and the call goes on without it;
   * `stop`: the call ends as `vetoed`, and after it ran without its answer, for a hook that judges calls. @default "skip"
   */
  readonly onFailure?: "skip" | "stop";
  /** Longest time it may take for one call, in milliseconds. Integer ≥ 1. @default 10_000 */
  readonly timeoutMs?: number;
  /**
   * Before the name is resolved. Return a changed call, `{ veto: reason }` to stop it with that reason as the
   * model's result, or nothing to leave it. A hook that fails is skipped, unless its
   * `onFailure` says otherwise; an answer that is neither a call nor a veto stops the call.
   */
  beforeCall?(call: ToolCall, context: HookContext): HookDecision | Promise<HookDecision>;
  /**
   * Before the result is cut to size and recorded. Return nothing, or a whole changed result: an `output`, `content`,
   * `error` or `metadata` it lacks is gone. Which call it belongs to, its origin, attempts, time and repairs stay.
   * Not run for a name that is not a tool.
   *
   * A hook that gives what is no result is logged and skipped, as one that fails is, unless its `onFailure` says otherwise. When the call
   * is cancelled or its deadline passes before all hooks have seen its answer, it ends without that answer.
   */
  afterCall?(result: ToolResult, context: HookContext): ToolResult | undefined | void | Promise<ToolResult | undefined | void>;
}

export type HookDecision = ToolCall | { readonly veto: string } | undefined | void;

export interface HookContext {
  readonly callId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly simulated: boolean;
}
