/** A model's message as its provider made it, for the formats where that is one message with `tool_calls`. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { AssistantStep } from "../conversation-steps.ts";

/**
 * The message with the calls that the conversation still has, each under the id its result goes by; undefined where it must be written in
 * our words: another provider made it, none of its calls is left, or they are not those of the conversation. Calls that the provider gave
 * no ids have none.
 */
export function nativeMessage(step: AssistantStep, format: string): JsonObject | undefined {
  const { native, calls } = step;
  const [message] = native?.format === format ? native.blocks : [];
  if (!isJsonObject(message)) return undefined;
  const { tool_calls: made = [], ...rest } = message;
  if (!isJsonArray(made)) return undefined;
  const isNameless = made.length === calls.length && calls.every(({ providerId }) => providerId === undefined);
  if (isNameless && made.every((call) => callId(call) === "")) return message;
  const ids = new Map(calls.map(({ id, providerId }) => [providerId, id]));
  if (ids.size !== calls.length) return undefined;
  const kept = made.flatMap((call) => {
    const id = ids.get(callId(call));
    return id === undefined || !isJsonObject(call) ? [] : [{ ...call, id }];
  });
  return kept.length === 0 || kept.length !== calls.length ? undefined : { ...rest, tool_calls: kept };
}

/** Empty where there is none. */
export function callId(call: JsonValue): string {
  return isJsonObject(call) && typeof call["id"] === "string" ? call["id"] : "";
}
