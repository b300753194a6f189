/** What a reply of Chat Completions cost. */
import { isJsonObject } from "../../core/base/json.ts";
import type { JsonObject, JsonValue } from "../../core/base/json.ts";
import type { TokenUsage } from "../../core/model.ts";

/** The usage of a chunk or body, wherever its provider puts it; undefined where there is none. */
export function chatUsage(chunk: JsonObject): Partial<TokenUsage> | undefined {
  const { usage, x_groq: groq, choices } = chunk;
  const [choice] = Array.isArray(choices) ? (choices as readonly JsonValue[]) : []; // isArray makes any of it
  const found = [usage, isJsonObject(groq) ? groq["usage"] : undefined, isJsonObject(choice) ? choice["usage"] : undefined].find(
    isJsonObject,
  );
  return found === undefined ? undefined : readUsage(found);
}

function readUsage(usage: JsonObject): Partial<TokenUsage> {
  const input = count(usage, "prompt_tokens") ?? count(usage, "input_tokens");
  const written = count(usage, "completion_tokens") ?? count(usage, "output_tokens");
  const total = count(usage, "total_tokens") ?? 0;
  const inputDetails = usage["prompt_tokens_details"];
  const outputDetails = usage["completion_tokens_details"];
  const cached = count(inputDetails, "cached_tokens") ?? count(usage, "prompt_cache_hit_tokens") ?? count(usage, "cached_tokens");
  const cacheWrite = count(inputDetails, "cache_write_tokens");
  const reasoning = count(outputDetails, "reasoning_tokens");
  return {
    ...(input === undefined ? {} : { inputTokens: input }),
    // xAI and Gemini count reasoning in the total only
    ...(written === undefined ? {} : { outputTokens: Math.max(written, total - (input ?? total)) }),
    ...(cached === undefined ? {} : { cachedInputTokens: cached }),
    ...(cacheWrite === undefined ? {} : { cacheWriteTokens: cacheWrite }),
    ...(reasoning === undefined ? {} : { reasoningTokens: reasoning }),
  };
}

function count(value: JsonValue | undefined, key: string): number | undefined {
  const number = isJsonObject(value) ? value[key] : undefined;
  return typeof number === "number" && number >= 0 ? number : undefined;
}
