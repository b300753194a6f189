/** Decides which messages of the assistant a trainer should learn from. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { ERROR_CODES } from "../../core/error-codes.ts";
import type { ToolResult } from "../../core/result.ts";

/**
 * Adds a `weight` to each message of the assistant: 0 if a call in it was refused because of what the model wrote, or if an input had to be repaired,
 * because the line has the input as it was sent. A call that its tool answered with a failure, or that met a fault, was correct.
 *
 * @param results the results of all calls, in order
 * @see https://platform.openai.com/docs/api-reference/fine-tuning/chat-input
 */
export function withWeights(line: JsonObject, results: readonly ToolResult[]): JsonObject {
  const { messages = [] } = line;
  let made = 0;
  const weighted = (isJsonArray(messages) ? messages : []).map((message): JsonValue => {
    if (!isJsonObject(message) || message["role"] !== "assistant") return message;
    const { tool_calls: calls = [] } = message;
    const own = results.slice(made, (made += isJsonArray(calls) ? calls.length : 0));
    return { ...message, weight: own.some((result) => isRefused(result) || isRepaired(result)) ? 0 : 1 };
  });
  return { ...line, messages: weighted };
}

function isRefused({ error, attempts, fault }: ToolResult): boolean {
  if (error === undefined || attempts > 0 || fault !== undefined) return false;
  const { actor, category } = ERROR_CODES[error.code];
  return actor === "model" && (category === "validation" || category === "lookup");
}

/** Whether an input had to be repaired; filling in a default of the schema does not count. */
function isRepaired({ repairs }: ToolResult): boolean {
  return repairs.some(({ kind }) => kind !== "defaulted");
}
