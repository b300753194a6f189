/** A model's message as its provider made it, for formats in which it is one message with `tool_calls`. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { withValidArguments, withValidName, type AssistantStep, type WireCall } from "../conversation-steps.ts";

/**
 * Returns the message with the calls that the conversation still has, each with the id that its result refers to; undefined if it must be written
 * from Haft's own fields: another provider made it, none of its calls is left, or its calls are not those of the conversation. Calls that the
 * provider gave no ids stay without.
 */
export function nativeMessage(step: AssistantStep, format: string): JsonObject | undefined {
  const { native, calls } = step;
  const [message] = native?.format === format ? native.blocks : [];
  if (!isJsonObject(message)) return undefined;
  const { tool_calls: made = [], ...rest } = message;
  if (!isJsonArray(made)) return undefined;
  const isNameless = made.length === calls.length && calls.every(({ providerId }) => providerId === undefined);
  if (isNameless && made.every((call) => callId(call) === ""))
    return made.length === 0
      ? message
      : { ...message, tool_calls: made.map((one, index) => (isJsonObject(one) ? withValidCall(one, calls[index]) : one)) };
  const known = new Map(calls.map((call) => [call.providerId, call]));
  if (known.size !== calls.length) return undefined;
  const kept = made.flatMap((one) => {
    const call = known.get(callId(one));
    return call === undefined || !isJsonObject(one) ? [] : [{ ...withValidCall(one, call), id: call.id }];
  });
  return kept.length === 0 || kept.length !== calls.length ? undefined : { ...rest, tool_calls: kept };
}

function withValidCall(made: JsonObject, call: WireCall | undefined): JsonObject {
  const { function: plain, custom } = made;
  if (isJsonObject(plain)) return { ...made, function: withValidArguments(withValidName(plain, call), call) };
  return isJsonObject(custom) ? { ...made, custom: withValidName(custom, call) } : made;
}

/** Adds Haft's ids to the calls of a native message that have none, because the results refer to them. */
export function withCallIds(message: JsonObject, calls: readonly WireCall[]): JsonObject {
  const { tool_calls: made } = message;
  if (!isJsonArray(made) || made.every((call) => callId(call) !== "")) return message;
  return { ...message, tool_calls: made.map((call, index) => ({ ...(isJsonObject(call) ? call : {}), id: calls[index]?.id ?? "" })) };
}

/** Returns the id of a call; an empty string if it has none. */
export function callId(call: JsonValue): string {
  return isJsonObject(call) && typeof call["id"] === "string" ? call["id"] : "";
}
