/** The tokens that delegates have used and their cost, as the results of their calls tell it. */
import { isJsonObject } from "../../core/base/json.ts";
import type { TokenUsage } from "../../core/model.ts";
import type { ToolResult } from "../../core/result.ts";
import { readUsage } from "../../core/token-usage.ts";
import type { Registry } from "../../registry/registry.ts";
import type { LoopBudget } from "../loop-budget.ts";
import type { LoopOptions } from "../loop-options.ts";
import { NO_USAGE } from "../loop-result.ts";

/** The spending of a delegate, with that of those that it called. */
export interface DelegatedSpending {
  readonly usage: TokenUsage;
  /** Undefined where the delegate does not know it. */
  readonly cost: number | undefined;
}

const NOTHING: DelegatedSpending = { usage: NO_USAGE, cost: undefined };

/** The spending of the delegate that answered. No third-party tool is believed about it: theirs are not composite. */
export function delegatedSpending({ name, metadata }: ToolResult, registry: Registry): DelegatedSpending {
  const told: unknown = metadata?.["delegate"];
  if (!isJsonObject(told) || registry.get(name)?.tool.composite !== true) return NOTHING;
  const { usage, cost } = told;
  return { usage: isJsonObject(usage) ? readUsage(usage) : NO_USAGE, cost: typeof cost === "number" ? cost : undefined };
}

interface Account {
  readonly cost: LoopOptions["cost"] | undefined;
  readonly budget: LoopBudget;
  readonly registry: Registry;
}

/** Counts the tokens and the cost of delegates in the budget of their caller. */
export function spendDelegated(results: readonly ToolResult[], { budget, registry, cost }: Account): void {
  for (const result of results) {
    const { usage, cost: told } = delegatedSpending(result, registry);
    const tokens = usage.inputTokens + usage.outputTokens;
    budget.spend("tokens", tokens);
    if (cost !== undefined && tokens > 0) budget.spend("cost", told ?? cost(usage, undefined));
  }
}
