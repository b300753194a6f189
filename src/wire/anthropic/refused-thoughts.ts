/** The reasoning of earlier replies, which newer models of Claude's refuse once anything before it has changed. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";

/** @see https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation (2026-11) */
const REFUSED = /invalid `?signature`? in `?(?:redacted_)?thinking`? block|block is bound to a different conversation/iu;

/**
 * The body of a request without the reasoning of the assistant's messages; undefined where the provider refused the request for another
 * reason, and where there is no reasoning in it. All of it goes: what comes behind a block that was left out is refused, too. Thinking
 * within a budget is not asked for between calls and their answer, as the API then demands a block of it before the calls.
 */
export function withoutThoughts(body: JsonObject, refusal: string, isThought: (block: JsonObject) => boolean): JsonObject | undefined {
  const { messages } = body;
  if (!REFUSED.test(refusal) || !isJsonArray(messages)) return undefined;
  const isLeftOut = (block: JsonValue): boolean => isJsonObject(block) && isThought(block);
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
  return { ...(answersCalls(kept.at(-1)) ? withoutBudget(body) : body), messages: kept };
}

/** True for a message with results, in the words of Anthropic or of Bedrock. */
function answersCalls(message: JsonValue | undefined): boolean {
  const { content } = isJsonObject(message) ? message : {};
  return isJsonArray(content) && content.some((block) => isJsonObject(block) && (block["type"] === "tool_result" || "toolResult" in block));
}

/** @see https://platform.claude.com/docs/en/build-with-claude/extended-thinking (2026-11) */
function withoutBudget(body: JsonObject): JsonObject {
  const { additionalModelRequestFields: ofModel } = body;
  return isJsonObject(ofModel) ? { ...body, additionalModelRequestFields: withoutEnabled(ofModel) } : withoutEnabled(body);
}

/** By both names that Bedrock has for it. */
function withoutEnabled(fields: JsonObject): JsonObject {
  const isBudget = (key: string, value: JsonValue): boolean =>
    (key === "thinking" || key === "reasoning_config") && isJsonObject(value) && value["type"] === "enabled";
  return Object.fromEntries(Object.entries(fields).filter(([key, value]) => !isBudget(key, value)));
}
