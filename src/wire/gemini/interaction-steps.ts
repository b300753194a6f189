/** A conversation as the steps of Gemini's Interactions API. */
import { isMedia } from "../gemini-conversation.ts";
import type { ContentPart } from "../../core/content.ts";
import { isJsonObject } from "../../core/json.ts";
import type { JsonObject } from "../../core/json.ts";
import type { ModelMessage } from "../../core/message.ts";
import { partText } from "../../core/result.ts";
import type { ToolResult } from "../../core/result.ts";
import {
  answerText,
  contentParts,
  contentText,
  conversationSteps,
  documentHeading,
  inputObject,
  isErrorAnswer,
  nativeBlocks,
} from "../conversation-steps.ts";
import type { AssistantStep, SpokenStep } from "../conversation-steps.ts";
import type { EncodedMessages } from "../wire-format.ts";

/** The name of the wire format. */
export const INTERACTIONS = "gemini-interactions";

const ID_RULE = { allowed: /^[A-Za-z0-9_-]+$/u, maxLength: 64 };

/** What Gemini did itself goes back as it came, thoughts and their signatures included. */
export function toInteractionSteps(messages: readonly ModelMessage[]): EncodedMessages {
  const { steps, toolNames } = conversationSteps(messages, ID_RULE);
  const system: JsonObject[] = [];
  const written: JsonObject[] = [];
  for (const step of steps) {
    if (step.kind === "assistant") written.push(...assistantSteps(step));
    else if (step.kind === "system") system.push(...textContent(contentText(step.content)));
    else written.push(...userStep(spokenContent(step)));
  }
  return { messages: written, ...(system.length === 0 ? {} : { system }), toolNames };
}

function assistantSteps(step: AssistantStep): readonly JsonObject[] {
  const { content, calls } = step;
  const native = nativeBlocks(step, INTERACTIONS, (block) =>
    isJsonObject(block) && block["type"] === "function_call" && typeof block["id"] === "string" ? block["id"] : undefined,
  );
  const said = textContent(contentText(content));
  const spoken = native?.filter(isJsonObject) ?? [
    ...(said.length === 0 ? [] : [{ type: "model_output", content: said }]),
    ...calls.map(({ id, name, input }) => ({ type: "function_call", id, name, arguments: inputObject(input) })),
  ];
  return [...spoken, ...calls.map(({ id, name, result }) => resultStep(id, name, result))];
}

/** The step that answers a call. */
export function resultStep(id: string, name: string, result: ToolResult | undefined): JsonObject {
  const step = { type: "function_result", call_id: id, name };
  if (isErrorAnswer(result)) return { ...step, is_error: true, result: answerText(result) };
  if (result?.content?.some(isMedia) !== true) return { ...step, result: answerText(result) };
  const { content = [], ...rest } = result;
  return { ...step, result: [...textContent(answerText({ ...rest, content: [] })), ...content.flatMap(writeContent)] };
}

function userStep(content: readonly JsonObject[]): readonly JsonObject[] {
  return content.length === 0 ? [] : [{ type: "user_input", content }];
}

function spokenContent({ kind, content, title }: SpokenStep): readonly JsonObject[] {
  const parts = contentParts(content).flatMap(writeContent);
  return kind === "document" ? [...textContent(documentHeading(title)), ...parts] : parts;
}

function writeContent(part: ContentPart): readonly JsonObject[] {
  if (isMedia(part)) return [{ type: part.type, mime_type: part.mediaType, data: part.data }];
  return textContent(partText(part).toWellFormed());
}

function textContent(text: string): readonly JsonObject[] {
  return text === "" ? [] : [{ type: "text", text }];
}
