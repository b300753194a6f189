/** A conversation as the messages of OpenAI's Chat Completions. */
import type { ContentPart } from "../core/content.ts";
import { readPdfData } from "../core/formats/data-uri.ts";
import { type JsonObject, type JsonValue } from "../core/base/json.ts";
import type { ModelMessage } from "../core/message.ts";
import { partText, type ToolResult } from "../core/result.ts";
import { CONTINUE_TEXT, type UserTurnOptions } from "./alternating-turns.ts";
import { PLAIN_CHAT, type ChatVariant } from "./chat-variants.ts";
import {
  contentParts,
  contentText,
  conversationSteps,
  documentHeading,
  isSupportedImage,
  isEmptyStep,
  nonEmptyAnswerText,
} from "./conversation-steps.ts";
import type { AssistantStep, ConversationStep, PromptStep, WireCall } from "./conversation-steps.ts";
import { nativeMessage, withCallIds } from "./openai-chat/native-message.ts";
import { spacedJson } from "./spaced-json.ts";
import { withStepCache } from "./step-cache.ts";

export interface OpenAiConversation {
  readonly messages: readonly JsonObject[];
  /** The tool's own name by the name in a `tool_calls` entry. */
  readonly toolNames: ReadonlyMap<string, string>;
}

/**
 * Writes a conversation as OpenAI's Chat Completions take it.
 *
 * A `tool` message is text only, including its errors: images, audio and PDF files of results follow as a user message. The assistant's text before
 * its calls is in the same message as they are. Documents become user messages.
 *
 * @param variant the differences of the provider
 * @see https://platform.openai.com/docs/api-reference/chat/create
 */
export function toOpenAiMessages(
  messages: readonly ModelMessage[],
  variant: ChatVariant = PLAIN_CHAT,
  { mustEndWithUser = false }: UserTurnOptions = {},
): OpenAiConversation {
  const { steps, toolNames } = conversationSteps(messages, variant.ids);
  const { assistantAfterResults, strictTurns = false } = variant;
  const written: JsonObject[] = [];
  const last = (): JsonValue | undefined => written.at(-1)?.["role"];
  const askToContinue = (): void => {
    if (strictTurns && last() !== "user" && last() !== "tool") written.push(CONTINUE);
  };
  let hasStarted = false;
  for (const step of steps) {
    const newMessages = strictTurns && hasStarted && step.kind === "system" ? writeSystemNote(step) : writeStep(step, variant);
    hasStarted ||= step.kind !== "system";
    const role = newMessages[0]?.["role"];
    if (assistantAfterResults && role === "user" && last() === "tool") written.push(ACKNOWLEDGEMENT);
    if (role === "assistant") askToContinue();
    for (const message of newMessages) written.push(message);
  }
  if (mustEndWithUser) askToContinue();
  return { messages: written, toolNames };
}

const writeStep = withStepCache((step: ConversationStep, variant: ChatVariant) =>
  step.kind === "assistant" ? writeAssistant(step, variant) : [writePrompt(step, variant)],
);

/** Writes a system message as the user's, for providers that accept none after the beginning. */
const writeSystemNote = withStepCache(({ content }: PromptStep) => [{ role: "user", content: contentText(content) }]);

const CONTINUE: JsonObject = { role: "user", content: CONTINUE_TEXT };
const ACKNOWLEDGEMENT: JsonObject = { role: "assistant", content: "(The results are read.)" };

function writePrompt({ kind, content, title }: PromptStep, variant: ChatVariant): JsonObject {
  if (kind === "system") return { role: variant.systemRole, content: contentText(content) };
  const heading = kind === "document" ? documentHeading(title) : undefined;
  if (!variant.media || contentParts(content).every((part) => !isMedia(part, variant))) {
    const text = contentText(content);
    return { role: "user", content: heading === undefined ? text : `${heading}\n${text}` };
  }
  const parts = contentParts(content).map((part) => writePart(part, variant));
  return { role: "user", content: heading === undefined ? parts : [textPart(heading), ...parts] };
}

function writeAssistant(step: AssistantStep, variant: ChatVariant): readonly JsonObject[] {
  const { calls } = step;
  const native = nativeMessage(step, variant.name);
  if (native === undefined && isEmptyStep(step)) return [];
  const message = native === undefined ? assistantMessage(step, variant) : withCallIds(native, calls);
  const written = [calls.length === 0 ? message : { ...message, ...requiredReasoningFields(message, variant) }];
  for (const call of calls) written.push(toolMessage(call, variant));
  const shown = variant.mediaInResults || !variant.media ? [] : calls.flatMap((call) => resultMediaParts(call, variant));
  if (shown.length > 0) written.push({ role: "user", content: shown });
  return written;
}

function assistantMessage({ content, calls }: AssistantStep, { spacedJson: spaced }: ChatVariant): JsonObject {
  if (calls.length === 0) return { role: "assistant", content: contentText(content) };
  const text = spaced ? spacedJson : (value: JsonValue): string => JSON.stringify(value);
  return {
    role: "assistant",
    content: content === "" ? null : contentText(content),
    tool_calls: calls.map(({ id, name, input }) => ({ id, type: "function", function: { name, arguments: text(input) } })),
  };
}

function requiredReasoningFields(message: JsonObject, { reasoning }: ChatVariant): JsonObject {
  if (reasoning?.required !== true || message[reasoning.field] !== undefined) return {};
  return { [reasoning.field]: reasoning.placeholder ?? "" };
}

function toolMessage({ id, name, result }: WireCall, variant: ChatVariant): JsonObject {
  const { namedResults, mediaInResults, spacedJson: spaced } = variant;
  const named = { role: "tool", tool_call_id: id, ...(namedResults ? { name } : {}) };
  const images = mediaInResults ? (result?.content ?? []).filter((part) => part.type === "image" && isMedia(part, variant)) : [];
  if (images.length > 0)
    return { ...named, content: [textPart(resultContent(result, spaced)), ...images.map((part) => writePart(part, variant))] };
  return { ...named, content: resultContent(result, spaced) };
}

/** Returns the content of a result; JSON is spaced as Python would write it if `spaced` is true. */
export function resultContent(result: ToolResult | undefined, spaced: boolean): string {
  const { output, content, error } = result ?? {};
  const isJson = content === undefined && error === undefined && output !== undefined && typeof output !== "string";
  return spaced && isJson ? spacedJson(output).toWellFormed() : nonEmptyAnswerText(result);
}

/** Returns the media of a call's result, for a user message after the results. */
export function resultMediaParts({ id, result }: Pick<WireCall, "id" | "result">, variant: ChatVariant): readonly JsonObject[] {
  const media = result?.content?.filter((part) => isMedia(part, variant)) ?? [];
  return media.length === 0 ? [] : [textPart(`Attachments of ${id}:`), ...media.map((part) => writePart(part, variant))];
}

function isMedia(part: ContentPart, { documents }: ChatVariant): boolean {
  if (isSupportedImage(part)) return true;
  if (part.type === "file") return documents && readPdfData(part) !== undefined;
  return part.type === "audio" && audioFormat(part.mediaType) !== undefined;
}

function writePart(part: ContentPart, { documents, audioWithoutFormat = false }: ChatVariant): JsonObject {
  if (isSupportedImage(part)) return { type: "image_url", image_url: { url: `data:${part.mediaType};base64,${part.data}` } };
  const format = part.type === "audio" ? audioFormat(part.mediaType) : undefined;
  if (part.type === "audio" && format !== undefined)
    return { type: "input_audio", input_audio: audioWithoutFormat ? part.data : { data: part.data, format } };
  const pdf = documents ? readPdfData(part) : undefined;
  if (part.type === "file" && pdf !== undefined)
    return { type: "file", file: { filename: (part.name ?? "file.pdf").toWellFormed(), file_data: `data:application/pdf;base64,${pdf}` } };
  return textPart(partText(part).toWellFormed());
}

export function textPart(text: string): JsonObject {
  return { type: "text", text };
}

function audioFormat(mediaType: string): string | undefined {
  if (mediaType === "audio/wav" || mediaType === "audio/x-wav") return "wav";
  return mediaType === "audio/mpeg" || mediaType === "audio/mp3" ? "mp3" : undefined;
}
