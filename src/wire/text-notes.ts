/** Calls and results as plain words, for requests that offer no tools: some providers refuse a conversation with calls then. */
import type { ContentPart } from "../core/content.ts";
import { pdfData } from "../core/data-uri.ts";
import type { ModelMessage, SessionMessage } from "../core/message.ts";
import { partText } from "../core/result.ts";
import { answerText, contentParts, contentText, conversationSteps, type AssistantStep, type WireCall } from "./conversation-steps.ts";

const ANY_ID = { allowed: /^/u, maxLength: Infinity };

/**
 * The conversation without calls: the calls of the model are in its own message, what came of it in a message of the user behind
 * that, images and sounds included. The provider's own form of a message with calls is left out.
 */
export function asTextNotes(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  if (messages.every(({ role }) => role !== "call" && role !== "result")) return messages;
  const { steps, toolNames } = conversationSteps(messages, ANY_ID);
  return steps.flatMap((step): readonly ModelMessage[] => {
    if (step.kind !== "assistant") return [message(step.kind, step.content, step.title === undefined ? {} : { title: step.title })];
    if (step.calls.length > 0) return noted(step, toolNames);
    return [message("assistant", step.content, step.native === undefined ? {} : { native: step.native })];
  });
}

function noted({ content, calls }: AssistantStep, toolNames: ReadonlyMap<string, string>): readonly ModelMessage[] {
  const name = (call: WireCall): string => toolNames.get(call.name) ?? call.name;
  const said = contentText(content);
  const notes = calls.map((call) => `(Called ${name(call)} with ${JSON.stringify(call.input)}.)`);
  return [message("assistant", [...(said === "" ? [] : [said]), ...notes].join("\n")), message("user", resultNotes(calls, name))];
}

/** One text where there is nothing but text, as every provider takes that. */
function resultNotes(calls: readonly WireCall[], name: (call: WireCall) => string): string | readonly ContentPart[] {
  const parts = calls.flatMap((call): readonly ContentPart[] => [
    { type: "text", text: `(Result of ${name(call)}:)\n${answerText(call.result)}` },
    ...(call.result?.content?.filter(isMedia) ?? []),
  ]);
  return parts.every(({ type }) => type === "text") ? parts.map(partText).join("\n\n") : contentParts(parts);
}

/** Whether a provider may be shown the part as it is. */
function isMedia(part: ContentPart): boolean {
  return part.type === "image" || part.type === "audio" || pdfData(part) !== undefined;
}

function message(
  role: SessionMessage["role"],
  content: SessionMessage["content"],
  rest: Pick<SessionMessage, "title" | "native"> = {},
): ModelMessage {
  return { role, at: 0, content, ...rest };
}
