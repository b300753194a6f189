/** The token counts that a provider reported, in any form. */
import type { TokenUsage } from "./model.ts";
import type { Mutable } from "./base/mutable.ts";

const PARTS = ["inputTokens", "outputTokens", "cachedInputTokens", "cacheWriteTokens", "reasoningTokens"] as const;

/** Returns those that are counts, as whole numbers; both totals are there. Budgets add them up and logs keep them, so nothing else may pass. */
export function readUsage(told: Partial<TokenUsage> | undefined): TokenUsage {
  const usage: Mutable<TokenUsage> = { inputTokens: 0, outputTokens: 0 };
  for (const part of PARTS) {
    const amount: unknown = told?.[part];
    if (typeof amount === "number" && amount >= 0 && amount <= Number.MAX_SAFE_INTEGER) usage[part] = Math.round(amount);
  }
  return usage;
}
