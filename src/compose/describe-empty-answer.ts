/** Explains the end of a run whose last message is empty. */
import type { ModelReply } from "../core/model.ts";
import { providerToolsIn } from "./provider-calls.ts";

/** Returns the explanation of an empty message, as text for people; undefined if the message has text or media. */
export function describeEmptyAnswer(reply: ModelReply): string | undefined {
  const { text, media, finishDetail, warnings = [] } = reply;
  if (text.trim() !== "" || media.length > 0) return undefined;
  const ran = providerToolsIn(reply);
  return [
    "The model's last message has no text.",
    ...(ran.length === 0 ? [] : [`The provider ran ${ran.join(", ")} for it.`]),
    ...(finishDetail === undefined ? [] : [`The provider's finish reason is ${JSON.stringify(finishDetail)}.`]),
    ...warnings,
  ].join(" ");
}
