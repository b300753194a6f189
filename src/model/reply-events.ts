/** Turns a whole reply into the events of a stream, for providers and scripts that have it all at once. */
import { valueText } from "../core/content.ts";
import { isJsonObject, type JsonValue } from "../core/base/json.ts";
import type { ModelCall, ModelEvent, ModelReply } from "../core/model.ts";

/**
 * The events in order: reasoning, text, provider calls, calls (which may depend on those), end. `calls`: those to emit if the reply leaves them out.
 */
export function toReplyEvents(reply: ModelReply, calls: readonly ModelCall[] = reply.calls): ModelEvent[] {
  const events: ModelEvent[] = [];
  if (reply.reasoning !== "") events.push({ type: "reasoning-delta", text: reply.reasoning });
  if (reply.text !== "") events.push({ type: "text-delta", text: reply.text });
  for (const call of reply.providerCalls) events.push({ type: "provider-call", call });
  for (let index = 0; index < calls.length; index++) {
    const call = calls[index];
    if (call === undefined) continue;
    events.push({ type: "call-open", index, name: call.name });
    const text = formatInput(call);
    if (text !== "") events.push({ type: "call-delta", index, text });
    events.push({ type: "call-seal", index, call });
  }
  events.push({ type: "reply-end", reply });
  return events;
}

/** The arguments as the model would have written them: a custom tool's text as it is. */
function formatInput({ kind, input }: ModelCall): string {
  if (kind === "custom" && isJsonObject(input)) return valueText(input["input"]);
  return input === undefined ? "" : valueText(input as JsonValue); // a model's input is JSON
}
