import { isJsonObject, type JsonValue } from "../../core/base/json.ts";
import type { TokenUsage } from "../../core/model.ts";

/** Reads the counts; values that are not counts are left out. */
export function readUsage(usage: JsonValue | undefined): Partial<TokenUsage> {
  if (!isJsonObject(usage)) return {};
  const { input_tokens_details: input, output_tokens_details: output } = usage;
  return {
    ...count("inputTokens", usage["input_tokens"]),
    ...count("outputTokens", usage["output_tokens"]),
    ...(isJsonObject(input) ? count("cachedInputTokens", input["cached_tokens"]) : {}),
    ...(isJsonObject(input) ? count("cacheWriteTokens", input["cache_write_tokens"]) : {}),
    ...(isJsonObject(output) ? count("reasoningTokens", output["reasoning_tokens"]) : {}),
  };
}

function count(name: keyof TokenUsage, value: JsonValue | undefined): Partial<TokenUsage> {
  return typeof value === "number" && value >= 0 ? { [name]: value } : {};
}
