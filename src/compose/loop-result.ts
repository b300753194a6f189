/** The result of a run of a loop. */
import type { ToolError } from "../core/error.ts";
import type { TokenUsage } from "../core/model.ts";
import type { ToolResult } from "../core/result.ts";
import type { PendingCall } from "./pending-calls.ts";
import type { StopReason } from "./stop-reason.ts";
import type { Mutable } from "../core/base/mutable.ts";

/** The result of a run. Calls that were made stay made, and in the session, whatever the reason. */
export interface LoopResult<Output = unknown> {
  /** The model's last text, as far as it came; empty where there is none. */
  readonly text: string;
  readonly reason: StopReason;
  /** More about the reason, as text for people; left out where the reason says it all, as with `answered`, unless the last message is empty. */
  readonly detail?: string;
  /** Requests to the model. */
  readonly rounds: number;
  /** Every result of the run, in call order; those of messages that the model took back are in the session's log only. */
  readonly results: readonly ToolResult[];
  readonly usage: TokenUsage;
  /** The cost of its replies by the option `cost`, with that of delegates; left out without that option. */
  readonly cost?: number;
  /** With the reason `approval`: what `resume` must decide. */
  readonly pending?: readonly PendingCall[];
  /** With the reasons `model-error` and `invalid-output`. */
  readonly error?: ToolError;
  /** The answer as read by the run's `output` schema: with the reason `answered`, and no other. */
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
