/** The tokens that delegates have used, as the results of their calls tell it. */
import { isJsonObject } from "../../core/base/json.ts";
import type { TokenUsage } from "../../core/model.ts";
import type { ToolResult } from "../../core/result.ts";
import { readUsage } from "../../core/token-usage.ts";
import type { Registry } from "../../registry/registry.ts";
import { NO_USAGE } from "../loop-result.ts";

/** The usage of the delegate that answered, those that it called included. No third-party tool is believed about it: theirs are not composite. */
export function delegatedUsage({ name, metadata }: ToolResult, registry: Registry): TokenUsage {
  const told: unknown = metadata?.["delegate"];
  if (!isJsonObject(told) || registry.get(name)?.tool.composite !== true) return NO_USAGE;
  const { usage } = told;
  return isJsonObject(usage) ? readUsage(usage) : NO_USAGE;
}

/** The tokens in and out of all of them. */
export function delegatedTokens(results: readonly ToolResult[], registry: Registry): number {
  return results.reduce((sum, result) => {
    const { inputTokens, outputTokens } = delegatedUsage(result, registry);
    return sum + inputTokens + outputTokens;
  }, 0);
}
