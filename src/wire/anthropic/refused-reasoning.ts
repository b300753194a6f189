/** Leaves out the reasoning of earlier replies, which newer Claude models refuse once anything before it has changed. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";

/** @see https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation (2026-11) */
const REFUSED = /invalid `?signature`? in `?(?:redacted_)?thinking`? block|block is bound to a different conversation/iu;

/**
 * Returns the body of a request without the reasoning of the assistant's messages; undefined if the provider refused the request for another reason,
 * or if it has no reasoning. All reasoning is left out, because blocks after a missing one are refused, too. If the last message answers calls,
 * thinking with a budget is turned off, because the API then requires a thinking block before the calls.
 */
export function withoutReasoningBlocks(
  body: JsonObject,
  refusal: string,
  isReasoning: (block: JsonObject) => boolean,
): JsonObject | undefined {
  const { messages } = body;
  if (!REFUSED.test(refusal) || !isJsonArray(messages)) return undefined;
  const isLeftOut = (block: JsonValue): boolean => isJsonObject(block) && isReasoning(block);
  let count = 0;
  const kept = messages.flatMap((message) => {
    const { role, content } = isJsonObject(message) ? message : {};
    if (!isJsonObject(message) || role !== "assistant" || !isJsonArray(content)) return [message];
    const blocks = content.filter((block) => !isLeftOut(block));
    if (blocks.length === content.length) return [message];
    count++;
    return blocks.length === 0 ? [] : [{ ...message, content: blocks }];
  });
  if (count === 0) return undefined;
  return { ...(hasResults(kept.at(-1)) ? withoutThinkingBudget(body) : body), messages: kept };
}

/** Whether a message has results, in Anthropic's or in Bedrock's format. */
function hasResults(message: JsonValue | undefined): boolean {
  const { content } = isJsonObject(message) ? message : {};
  return isJsonArray(content) && content.some((block) => isJsonObject(block) && (block["type"] === "tool_result" || "toolResult" in block));
}

/** @see https://platform.claude.com/docs/en/build-with-claude/extended-thinking (2026-11) */
function withoutThinkingBudget(body: JsonObject): JsonObject {
  const { additionalModelRequestFields: ofModel } = body;
  return isJsonObject(ofModel) ? { ...body, additionalModelRequestFields: withoutEnabledThinking(ofModel) } : withoutEnabledThinking(body);
}

/** Removes thinking with a budget, under either of Bedrock's names. */
function withoutEnabledThinking(fields: JsonObject): JsonObject {
  const isBudget = (key: string, value: JsonValue): boolean =>
    (key === "thinking" || key === "reasoning_config") && isJsonObject(value) && value["type"] === "enabled";
  return Object.fromEntries(Object.entries(fields).filter(([key, value]) => !isBudget(key, value)));
}
