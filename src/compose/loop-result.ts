import type { ToolError } from "../core/error.ts";
import type { TokenUsage } from "../core/model.ts";
import type { ToolResult } from "../core/result.ts";
import type { PendingCall } from "./pending-calls.ts";
import type { StopReason } from "./stop-reason.ts";
import type { Mutable } from "../core/base/mutable.ts";

/** The result of a run. Calls that were made are not undone and stay in the session, whatever the reason. */
export interface LoopResult<Output = unknown> {
  /** The model's last text, as far as it was received; empty if there is none. */
  readonly text: string;
  readonly reason: StopReason;
  /** More about the reason, as text for people. Left out if the reason says it all, as `answered` does unless the last message is empty, or lacks announced calls. */
  readonly detail?: string;
  /** Number of requests to the model. */
  readonly rounds: number;
  /** Every result of the run, in call order. Results of messages that the model discarded are only in the session's log. */
  readonly results: readonly ToolResult[];
  readonly usage: TokenUsage;
  /** The cost of the run by the option `cost`, including delegates. Left out without that option. */
  readonly cost?: number;
  /** With the reason `approval`: the calls that `resume` must decide. */
  readonly pending?: readonly PendingCall[];
  /** With the reasons `model-error` and `invalid-output`. */
  readonly error?: ToolError;
  /** The answer as read by the run's `output` schema. Only with the reason `answered`. */
  readonly output?: Output;
}

export const NO_USAGE: TokenUsage = Object.freeze({ inputTokens: 0, outputTokens: 0 });

const PARTS = ["cachedInputTokens", "cacheWriteTokens", "reasoningTokens"] as const;

export function addUsage(one: TokenUsage, other: TokenUsage): TokenUsage {
  const sum: Mutable<TokenUsage> = {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
  };
  for (const part of PARTS) {
    const amount = (one[part] ?? 0) + (other[part] ?? 0);
    if (one[part] !== undefined || other[part] !== undefined) sum[part] = amount;
  }
  return sum;
}
