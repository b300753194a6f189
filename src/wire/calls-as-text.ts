/** Writes calls and results as plain text, for requests without tools: some providers then refuse a conversation with calls. */
import type { ContentPart } from "../core/content.ts";
import { readPdfData } from "../core/formats/data-uri.ts";
import type { ModelMessage, SessionMessage } from "../core/message.ts";
import { partText } from "../core/result.ts";
import { answerText, contentParts, contentText, conversationSteps, type AssistantStep, type WireCall } from "./conversation-steps.ts";

const ANY_ID = { allowed: /^/u, maxLength: Infinity };

/**
 * Returns the conversation without calls: the model's calls are text in its own message, and their results, with images and audio, are in a user
 * message after it. The provider's own form of a message with calls is left out.
 */
export function withCallsAsText(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  if (messages.every(({ role }) => role !== "call" && role !== "result")) return messages;
  const { steps, toolNames } = conversationSteps(messages, ANY_ID);
  return steps.flatMap((step): readonly ModelMessage[] => {
    if (step.kind !== "assistant") return [toMessage(step.kind, step.content, step.title === undefined ? {} : { title: step.title })];
    if (step.calls.length > 0) return callsAsMessages(step, toolNames);
    return [toMessage("assistant", step.content, step.native === undefined ? {} : { native: step.native })];
  });
}

function callsAsMessages({ content, calls }: AssistantStep, toolNames: ReadonlyMap<string, string>): readonly ModelMessage[] {
  const name = (call: WireCall): string => toolNames.get(call.name) ?? call.name;
  const text = contentText(content);
  const notes = calls.map((call) => `(Called ${name(call)} with ${JSON.stringify(call.input)}.)`);
  return [toMessage("assistant", [...(text === "" ? [] : [text]), ...notes].join("\n")), toMessage("user", resultNotes(calls, name))];
}

/** Returns a single text if there are only texts, because every provider accepts that. */
function resultNotes(calls: readonly WireCall[], name: (call: WireCall) => string): string | readonly ContentPart[] {
  const parts = calls.flatMap((call): readonly ContentPart[] => [
    { type: "text", text: `(Result of ${name(call)}:)\n${answerText(call.result)}` },
    ...(call.result?.content?.filter(isMedia) ?? []),
  ]);
  return parts.every(({ type }) => type === "text") ? parts.map(partText).join("\n\n") : contentParts(parts);
}

/** Whether some provider accepts the part unchanged. */
function isMedia(part: ContentPart): boolean {
  return part.type === "image" || part.type === "audio" || readPdfData(part) !== undefined;
}

function toMessage(
  role: SessionMessage["role"],
  content: SessionMessage["content"],
  rest: Pick<SessionMessage, "title" | "native"> = {},
): ModelMessage {
  return { role, at: 0, content, ...rest };
}
