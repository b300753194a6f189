/** The tokens and cost of delegates, as reported in the results of their calls. */
import { isJsonObject } from "../../core/base/json.ts";
import type { TokenUsage } from "../../core/model.ts";
import type { ToolResult } from "../../core/result.ts";
import { readUsage } from "../../core/formats/token-usage.ts";
import type { Registry } from "../../registry/registry.ts";
import type { LoopBudget } from "../loop-budget.ts";
import type { LoopOptions } from "../loop-options.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";
import { NO_USAGE } from "../loop-result.ts";
import { endedCallResults } from "./tools-read-by-event.ts";

/** The spending of a delegate, including the delegates that it called. */
export interface DelegateSpending {
  readonly usage: TokenUsage;
  /** Undefined if the delegate does not know its cost. */
  readonly cost: number | undefined;
  /** The model that the delegate used last, if known. */
  readonly model: string | undefined;
}

const NO_SPENDING: DelegateSpending = { usage: NO_USAGE, cost: undefined, model: undefined };

/** Returns the spending of the delegate that answered. Metadata of third-party tools is ignored: they are not composite. */
export function readDelegateSpending({ name, metadata }: ToolResult, registry: Registry): DelegateSpending {
  const report: unknown = metadata?.["delegate"];
  if (!isJsonObject(report) || registry.get(name)?.tool.composite !== true) return NO_SPENDING;
  const { usage, cost, model } = report;
  return {
    usage: isJsonObject(usage) ? readUsage(usage) : NO_USAGE,
    cost: typeof cost === "number" ? cost : undefined,
    model: typeof model === "string" ? model : undefined,
  };
}

interface Account {
  readonly cost: LoopOptions["cost"] | undefined;
  readonly budget: LoopBudget;
  readonly session: RuntimeSession;
  /** Number of session events that are counted already. */
  readonly since: number;
}

/**
 * Adds the tokens and the cost of all delegates that ended since `since` to the budget of their caller, including those that programs and chains have
 * called.
 *
 * @param results counted instead if the session has recorded no events since, or no longer has them in memory
 */
export function addDelegateSpending(results: readonly ToolResult[], { budget, session, since, cost }: Account): void {
  const events = session.length > since ? session.logSince(since) : undefined;
  for (const result of events === undefined ? results : endedCallResults(events)) {
    const { usage, cost: reportedCost, model } = readDelegateSpending(result, session.registry);
    const tokens = usage.inputTokens + usage.outputTokens;
    budget.spend("tokens", tokens);
    if (cost !== undefined && tokens > 0) budget.spend("cost", reportedCost ?? cost(usage, model));
  }
}
