/** Explains the end of a run whose last message is empty, or without the calls that its provider announced. */
import type { ModelReply } from "../core/model.ts";
import { providerToolsIn } from "./provider-calls.ts";

/** Returns the explanation of such a message, as text for people; undefined for any other. */
export function describeEmptyAnswer(reply: ModelReply): string | undefined {
  const { text, media, finish, finishDetail, calls, providerCalls, warnings = [] } = reply;
  const hasContent = text.trim() !== "" || media.length > 0;
  const lacksCalls = finish === "calls" && calls.length + providerCalls.length === 0;
  if (hasContent && lacksCalls)
    return `The provider's finish reason is ${JSON.stringify(finishDetail ?? finish)}, but the message has no call.`;
  if (hasContent) return undefined;
  const ran = providerToolsIn(reply);
  return [
    "The model's last message has no text.",
    ...(ran.length === 0 ? [] : [`The provider ran ${ran.join(", ")} for it.`]),
    ...(finishDetail === undefined ? [] : [`The provider's finish reason is ${JSON.stringify(finishDetail)}.`]),
    ...warnings,
  ].join(" ");
}
