/** A conversation as the steps of Gemini's Interactions API. */
import { pushAll } from "../../core/collections/push-all.ts";
import type { ContentPart } from "../../core/content.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { ModelMessage } from "../../core/message.ts";
import { partText, type ToolResult } from "../../core/result.ts";
import { CONTINUE_TEXT, type UserTurnOptions } from "../alternating-turns.ts";
import {
  answerText,
  contentParts,
  contentText,
  conversationSteps,
  documentHeading,
  toInputObject,
  isErrorAnswer,
  nativeBlocks,
  toWellFormedJson,
  withValidName,
} from "../conversation-steps.ts";
import type { AssistantStep, BlockIds, ConversationStep, PromptStep, WireCall } from "../conversation-steps.ts";
import { inlineMedia } from "../gemini-conversation.ts";
import { isAcknowledged } from "./computer-use.ts";
import { withApprovalResults } from "../approval-results.ts";
import { asString } from "../read-field.ts";
import type { EncodedMessages } from "../wire-format.ts";
import { withStepCache } from "../step-cache.ts";

/** The name of the wire format. */
export const INTERACTIONS = "gemini-interactions";

const ID_RULE = { allowed: /^[A-Za-z0-9_-]+$/u, maxLength: 64 };

/**
 * Writes a conversation as steps.
 *
 * Gemini's own steps are sent back unchanged, with thoughts and their signatures. A step of the user is put between two messages of the model, unless
 * the first paused; new models refuse a request that ends with the model's message. System messages after the beginning are written as the user's.
 */
export function toInteractionSteps(messages: readonly ModelMessage[], { mustEndWithUser = false }: UserTurnOptions = {}): EncodedMessages {
  const { steps, toolNames } = conversationSteps(messages, ID_RULE);
  const system: JsonObject[] = [];
  const written: JsonObject[] = [];
  const endsWithModel = (): boolean => FINAL_STEP_TYPES.has(written.at(-1)?.["type"]);
  const writesSystemAsUser = (): boolean => endsWithModel() || USER_STEP_TYPES.has(written.at(-1)?.["type"]);
  const askToContinue = (): void => {
    if (written.length === 0 || endsWithModel()) written.push(CONTINUE);
  };
  for (const step of withApprovalResults(steps)) {
    if (step.kind === "system" && !writesSystemAsUser()) pushAll(system, textContent(contentText(step.content)));
    else {
      if (step.kind === "assistant") askToContinue();
      for (const one of writeStep(step)) written.push(one);
    }
  }
  if (mustEndWithUser) askToContinue();
  return { messages: written, ...(system.length === 0 ? {} : { system }), toolNames };
}

/** The types of steps with which a message ends, unless Gemini paused during its own provider-executed tools. */
const FINAL_STEP_TYPES: ReadonlySet<JsonValue | undefined> = new Set(["model_output", "function_call", "thought"]);
/** The types of steps of the user's side. */
const USER_STEP_TYPES: ReadonlySet<JsonValue | undefined> = new Set(["user_input", "function_result"]);
const CONTINUE: JsonObject = { type: "user_input", content: [{ type: "text", text: CONTINUE_TEXT }] };

const writeStep = withStepCache((step: ConversationStep) =>
  step.kind === "assistant" ? assistantSteps(step) : userStep(promptContent(step)),
);

function assistantSteps(step: AssistantStep): readonly JsonObject[] {
  const { content, calls } = step;
  const byId = new Map(calls.map((call) => [call.id, call]));
  const native = nativeBlocks(step, INTERACTIONS, BLOCK_IDS)
    ?.filter(isJsonObject)
    .map((block) => withValidName(block, byId.get(callIdOf(block) ?? "")));
  const said = textContent(contentText(content));
  const spoken: readonly JsonObject[] = native ?? [
    ...(said.length === 0 ? [] : [{ type: "model_output", content: said }]),
    ...calls.map(({ id, name, input }) => ({ type: "function_call", id, name, arguments: toInputObject(input) })),
  ];
  const names = new Map(spoken.map((block) => [callIdOf(block), block["name"]]));
  return [...spoken, ...resultSteps(calls.map((call) => ({ ...call, name: asString(names.get(call.id)) ?? call.name })))];
}

function callIdOf(block: JsonValue): string | undefined {
  return isJsonObject(block) && block["type"] === "function_call" && typeof block["id"] === "string" ? block["id"] : undefined;
}

/** Ids may repeat in later replies; the thought before such a call is still sent back. */
const BLOCK_IDS: BlockIds = { idOf: callIdOf, withId: (block, id) => (isJsonObject(block) ? { ...block, id } : block) };

/**
 * Returns the steps that answer calls, followed by a step of the user with their other files: an answer may have only text and images.
 *
 * @see https://ai.google.dev/api/interactions-api — FunctionResultSubcontent
 */
export function resultSteps(calls: readonly Pick<WireCall, "id" | "name" | "input" | "result">[]): readonly JsonObject[] {
  const shown = calls.flatMap(({ id, result }) => {
    const files = isErrorAnswer(result) ? [] : (result?.content?.filter(isShownAfterAnswer) ?? []);
    return files.length === 0 ? [] : [...textContent(`Attachments of ${id}:`), ...files.flatMap(writeContent)];
  });
  return [...calls.map(resultStep), ...userStep(shown)];
}

function resultStep({ id, name, input, result }: Pick<WireCall, "id" | "name" | "input" | "result">): JsonObject {
  const step = { type: "function_result", call_id: id, name, ...(isErrorAnswer(result) ? { is_error: true } : {}) };
  const text = acknowledgedText(name, input, result);
  if (isErrorAnswer(result) || result?.content?.some(isShownInAnswer) !== true) return { ...step, result: text ?? answerText(result) };
  const { content = [], ...rest } = result;
  return { ...step, result: [...textContent(text ?? answerText({ ...rest, content: [] })), ...content.flatMap(answerContent)] };
}

/**
 * Returns the answer to a call that was confirmed; undefined for any other.
 *
 * @see https://ai.google.dev/gemini-api/docs/computer-use (2026-11)
 */
function acknowledgedText(name: string, input: JsonValue, result: ToolResult | undefined): string | undefined {
  if (result === undefined || !isAcknowledged(name, input, result)) return undefined;
  const { output, content: _shown, ...rest } = result;
  const fields = isErrorAnswer(result)
    ? { error: answerText(result) }
    : isJsonObject(output)
      ? output
      : { output: answerText({ ...rest, ...(output === undefined ? {} : { output }) }) };
  return JSON.stringify(toWellFormedJson({ ...fields, safety_acknowledgement: true }));
}

/** Whether a part may be in the answer itself. */
function isShownInAnswer(part: ContentPart): boolean {
  return inlineMedia(part)?.kind === "image";
}

/** Whether a part follows the answer: documents and audio. */
function isShownAfterAnswer(part: ContentPart): boolean {
  return !isShownInAnswer(part) && inlineMedia(part) !== undefined;
}

function answerContent(part: ContentPart): readonly JsonObject[] {
  return isShownAfterAnswer(part) ? textContent(partText(part).toWellFormed()) : writeContent(part);
}

function userStep(content: readonly JsonObject[]): readonly JsonObject[] {
  return content.length === 0 ? [] : [{ type: "user_input", content }];
}

function promptContent({ kind, content, title }: PromptStep): readonly JsonObject[] {
  const parts = contentParts(content).flatMap(writeContent);
  return kind === "document" ? [...textContent(documentHeading(title)), ...parts] : parts;
}

function writeContent(part: ContentPart): readonly JsonObject[] {
  const media = inlineMedia(part);
  if (media !== undefined) return [{ type: media.kind, mime_type: media.mediaType, data: media.data }];
  return textContent(partText(part).toWellFormed());
}

function textContent(text: string): readonly JsonObject[] {
  return text === "" ? [] : [{ type: "text", text }];
}
