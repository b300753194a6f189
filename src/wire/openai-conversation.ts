/** A conversation as the messages of OpenAI's Chat Completions. */
import type { ContentPart } from "../core/content.ts";
import type { JsonObject } from "../core/json.ts";
import type { ModelMessage } from "../core/message.ts";
import { partText } from "../core/result.ts";
import { IMAGE_TYPES, answerText, contentParts, contentText, conversationSteps, documentHeading } from "./conversation-steps.ts";
import type { AssistantStep, SpokenStep } from "./conversation-steps.ts";

export interface OpenAiConversation {
  /** The `messages` of a request. */
  readonly messages: readonly JsonObject[];
  /** By the name in a `tool_calls` entry, the tool's own. */
  readonly toolNames: ReadonlyMap<string, string>;
}

/** OpenAI takes any text; 40 characters are what it has refused to exceed. */
const ID_RULE = { allowed: /^[\x21-\x7e]+$/u, maxLength: 40 };

/**
 * Writes a conversation as OpenAI's Chat Completions take it.
 *
 * A `tool` message holds text only, and errors are marked in it: images and sounds of results follow as a message of the user.
 * An assistant's words before its calls are one message with them. Documents become messages of the user.
 *
 * @see https://platform.openai.com/docs/api-reference/chat/create
 */
export function toOpenAiMessages(messages: readonly ModelMessage[]): OpenAiConversation {
  const { steps, toolNames } = conversationSteps(messages, ID_RULE);
  const written: JsonObject[] = [];
  for (const step of steps) {
    if (step.kind !== "assistant") written.push(writeSpoken(step));
    else if (step.calls.length > 0) written.push(...writeCalls(step));
    else written.push({ role: "assistant", content: contentText(step.content) });
  }
  return { messages: written, toolNames };
}

function writeSpoken({ kind, content, title }: SpokenStep): JsonObject {
  if (kind === "system") return { role: kind, content: contentText(content) };
  const heading = kind === "document" ? documentHeading(title) : undefined;
  if (contentParts(content).every((part) => !isMedia(part))) {
    const text = contentText(content);
    return { role: "user", content: heading === undefined ? text : `${heading}\n${text}` };
  }
  const parts = contentParts(content).map(writePart);
  return { role: "user", content: heading === undefined ? parts : [{ type: "text", text: heading }, ...parts] };
}

function writeCalls({ content, calls }: AssistantStep): readonly JsonObject[] {
  const written: JsonObject[] = [
    {
      role: "assistant",
      content: content === "" ? null : contentText(content),
      tool_calls: calls.map(({ id, name, input }) => ({ id, type: "function", function: { name, arguments: JSON.stringify(input) } })),
    },
  ];
  const shown: JsonObject[] = [];
  for (const { id, result } of calls) {
    written.push({ role: "tool", tool_call_id: id, content: answerText(result) });
    const media = result?.content?.filter(isMedia) ?? [];
    if (media.length > 0) shown.push({ type: "text", text: `What ${id} showed:` }, ...media.map(writePart));
  }
  if (shown.length > 0) written.push({ role: "user", content: shown });
  return written;
}

function isMedia(part: ContentPart): boolean {
  if (part.type === "image") return IMAGE_TYPES.has(part.mediaType);
  return part.type === "audio" && audioFormat(part.mediaType) !== undefined;
}

function writePart(part: ContentPart): JsonObject {
  if (part.type === "image" && IMAGE_TYPES.has(part.mediaType))
    return { type: "image_url", image_url: { url: `data:${part.mediaType};base64,${part.data}` } };
  const format = part.type === "audio" ? audioFormat(part.mediaType) : undefined;
  if (part.type === "audio" && format !== undefined) return { type: "input_audio", input_audio: { data: part.data, format } };
  return { type: "text", text: partText(part).toWellFormed() };
}

function audioFormat(mediaType: string): string | undefined {
  if (mediaType === "audio/wav" || mediaType === "audio/x-wav") return "wav";
  return mediaType === "audio/mpeg" || mediaType === "audio/mp3" ? "mp3" : undefined;
}
