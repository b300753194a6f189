/** Validates the token counts that a provider reports. */
import type { TokenUsage } from "./model.ts";
import type { Mutable } from "./base/mutable.ts";

const PARTS = ["inputTokens", "outputTokens", "cachedInputTokens", "cacheWriteTokens", "reasoningTokens"] as const;

/** Returns the valid counts, as integers; both totals are always set. Budgets add these up and logs store them, so invalid values are dropped. */
export function readUsage(told: Partial<TokenUsage> | undefined): TokenUsage {
  const usage: Mutable<TokenUsage> = { inputTokens: 0, outputTokens: 0 };
  for (const part of PARTS) {
    const amount: unknown = told?.[part];
    if (typeof amount === "number" && amount >= 0 && amount <= Number.MAX_SAFE_INTEGER) usage[part] = Math.round(amount);
  }
  return usage;
}
