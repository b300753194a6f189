/** A model's message as its provider made it, for the formats where that is one message with `tool_calls`. */
import { isJsonArray, isJsonObject } from "../../core/json.ts";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { nativeBlocks } from "../conversation-steps.ts";
import type { AssistantStep } from "../conversation-steps.ts";

/**
 * The message with the calls that the conversation still has; undefined where it must be written in our words: another provider made
 * it, none of its calls is left, or they are not those of the conversation. Calls that the provider gave no ids have none.
 */
export function nativeMessage(step: AssistantStep, format: string): JsonObject | undefined {
  const { native, calls } = step;
  const [message] = native?.format === format ? native.blocks : [];
  if (!isJsonObject(message)) return undefined;
  const { tool_calls: made = [], ...rest } = message;
  if (!isJsonArray(made)) return undefined;
  const isNameless = made.length === calls.length && calls.every(({ providerId }) => providerId === undefined);
  if (isNameless && made.every((call) => callId(call) === "")) return message;
  const kept = nativeBlocks({ ...step, native: { format, blocks: made } }, format, callId);
  return kept === undefined || kept.length === 0 ? undefined : { ...rest, tool_calls: kept };
}

/** Empty where there is none. */
export function callId(call: JsonValue): string {
  return isJsonObject(call) && typeof call["id"] === "string" ? call["id"] : "";
}
