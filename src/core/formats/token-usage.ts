/** Validates the token counts that a provider reports. */
import type { TokenUsage } from "../model.ts";
import type { Mutable } from "../base/mutable.ts";

const USAGE_FIELDS = ["inputTokens", "outputTokens", "cachedInputTokens", "cacheWriteTokens", "reasoningTokens"] as const;

/** Returns the valid counts, as integers; both totals are always set. Budgets add these up and logs store them, so invalid values are dropped. */
export function readUsage(reported: Partial<TokenUsage> | undefined): TokenUsage {
  const usage: Mutable<TokenUsage> = { inputTokens: 0, outputTokens: 0 };
  for (const part of USAGE_FIELDS) {
    const amount: unknown = reported?.[part];
    if (typeof amount === "number" && amount >= 0 && amount <= Number.MAX_SAFE_INTEGER) usage[part] = Math.round(amount);
  }
  return usage;
}
