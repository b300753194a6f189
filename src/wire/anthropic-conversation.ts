/** A conversation as the system prompt and messages of Anthropic's Messages API. */
import { pushAll } from "../core/collections/push-all.ts";
import type { ContentPart } from "../core/content.ts";
import { readPdfData } from "../core/formats/data-uri.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../core/base/json.ts";
import type { ModelMessage } from "../core/message.ts";
import { partText, type ToolResult } from "../core/result.ts";
import { AlternatingTurns, type UserTurnOptions, type TurnRules } from "./alternating-turns.ts";
import {
  answerText,
  contentParts,
  contentText,
  conversationSteps,
  toInputObject,
  isErrorAnswer,
  isSupportedImage,
  nativeBlocks,
  toWellFormedJson,
  withValidName,
} from "./conversation-steps.ts";
import type { AssistantStep, BlockIds, PromptStep, WireCall } from "./conversation-steps.ts";
import { withStepCache } from "./step-cache.ts";
import type { EncodedMessages } from "./wire-format.ts";

export interface AnthropicOptions extends UserTurnOptions {
  /** The names of the tools of the request that have `defer_loading`: `tool_reference` blocks may refer to these. @default none */
  readonly deferred?: ReadonlySet<string>;
}

const NO_NAMES: ReadonlySet<string> = new Set();
const ID_RULE = { allowed: /^[A-Za-z0-9_-]+$/u, maxLength: 64 };
const MAX_TITLE_LENGTH = 500;

/** The value of `NativeMessage.format` of this API's messages, and the key in `ModelTool.providers`. */
export const ANTHROPIC = "anthropic-messages";

/**
 * Writes a conversation as Anthropic's Messages API takes it.
 *
 * The results of one message's calls come first in the next user message; errors have `is_error` and are text only. Messages that the API made are
 * sent back unchanged, with thinking, signatures and provider-executed calls. Documents are document blocks. Blocks without text are left out:
 * Anthropic refuses them. A conversation that begins with the assistant gets a user message before it. System messages after the beginning are
 * written as the user's, so that `system` stays unchanged.
 *
 * @see https://docs.anthropic.com/en/api/messages
 */
export function toAnthropicMessages(
  messages: readonly ModelMessage[],
  { mustEndWithUser = false, deferred = NO_NAMES }: AnthropicOptions = {},
): EncodedMessages {
  const { steps, toolNames } = conversationSteps(messages, ID_RULE);
  const system: JsonObject[] = [];
  const turns = new AlternatingTurns(TURNS);
  for (const step of steps) {
    if (step.kind === "assistant") {
      turns.addAssistantBlocks(writeAssistant(step));
      turns.addResults(writeFound(step, deferred) ?? writeResults(step));
    } else if (step.kind !== "system") turns.addUserBlocks(writePrompt(step));
    else if (turns.writesSystemAsUser) turns.addUserBlocks(writeSystemNote(step));
    else pushAll(system, writeSystemNote(step));
  }
  if (mustEndWithUser) turns.askToContinue();
  return { ...(system.length === 0 ? {} : { system }), messages: turns.messages, toolNames };
}

const writeAssistant = withStepCache(
  (step: AssistantStep) =>
    nativeBlocks(step, ANTHROPIC, BLOCK_IDS)
      ?.filter(isSendable)
      .map((block) => withValidName(block, callOf(block, step))) ?? blocksFromStep(step),
);
const writeResults = withStepCache((step: AssistantStep) => resultBlocks(step));
const writePrompt = withStepCache(promptBlocks);
const writeSystemNote = withStepCache(({ content }: PromptStep) => textBlock(contentText(content)));

const ENDS: ReadonlySet<JsonValue | undefined> = new Set(["text", "tool_use", "thinking", "redacted_thinking"]);

/** The ids of compatible servers may repeat in later messages, or have other characters; the reasoning before such a call is still sent back. */
const BLOCK_IDS: BlockIds = { idOf: callIdOf, withId: (block, id) => (isJsonObject(block) ? { ...block, id } : block) };

/** The result of a provider-executed call is in the same message as the call, unless the message is paused. */
const TURNS: TurnRules = {
  toTextBlock: (text) => ({ type: "text", text }),
  isPauseBlock: ({ type }) => !ENDS.has(type),
  withoutUnansweredCalls: (blocks, behind) => {
    const answered = new Set([...blocks, ...behind].map(({ tool_use_id: id }) => id));
    return blocks.filter(({ type, id }) => (type !== "server_tool_use" && type !== "mcp_tool_use") || answered.has(id));
  },
  isReasoningBlock,
};

export function isReasoningBlock({ type }: JsonObject): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

function blocksFromStep({ content, calls }: AssistantStep): readonly JsonObject[] {
  return [
    ...textBlock(contentText(content)),
    ...calls.map(({ id, name, input }) => ({ type: "tool_use", id, name, input: toInputObject(input) })),
  ];
}

/** Returns the results of a step that refer to deferred tools; undefined if none does. They depend on the request, so they are not written once. */
function writeFound(step: AssistantStep, deferred: ReadonlySet<string>): readonly JsonObject[] | undefined {
  if (deferred.size === 0 || !step.calls.some(({ result }) => references(result, deferred).length > 0)) return undefined;
  return resultBlocks(step).map((block, index) => {
    const found = references(step.calls[index]?.result, deferred);
    return found.length === 0 ? block : { ...block, content: found };
  });
}

function resultBlocks(step: AssistantStep): readonly JsonObject[] {
  const made = nativeBlocks(step, ANTHROPIC, BLOCK_IDS) ?? [];
  return step.calls.map(({ id, result }) => toolResultBlock(id, result, findToolsetField(made, id)));
}

/**
 * Returns the `tool_reference` blocks of an output that is an array of them. References to tools that the request does not defer are left out, as the
 * API refuses them; if no other is left, the output is written as text.
 *
 * @see https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool
 */
function references(result: ToolResult | undefined, deferred: ReadonlySet<string>): readonly JsonObject[] {
  const { output, content = [] } = result ?? {};
  if (!isJsonArray(output) || content.length > 0 || isErrorAnswer(result) || !output.every(isReference)) return [];
  return output.flatMap(({ tool_name: name }) => (deferred.has(name) ? [{ type: "tool_reference", tool_name: name }] : []));
}

function isReference(block: JsonValue): block is { readonly tool_name: string } {
  return isJsonObject(block) && block["type"] === "tool_reference" && typeof block["tool_name"] === "string";
}

function callIdOf(block: JsonValue): string | undefined {
  const { type, id } = isJsonObject(block) ? block : {};
  return type === "tool_use" && typeof id === "string" ? id : undefined;
}

function callOf(block: JsonObject, { calls }: AssistantStep): WireCall | undefined {
  const id = callIdOf(block);
  return id === undefined ? undefined : calls.find((call) => call.id === id);
}

/** Returns the `toolset_name` for the answer to a call of a toolset's member, which must name the toolset, too. */
function findToolsetField(made: readonly JsonValue[], id: string): JsonObject {
  return toolsetField(made.filter(isJsonObject).find((block) => callIdOf(block) === id) ?? {});
}

/** Returns the `toolset_name` field of a call, which its answer must repeat. */
export function toolsetField({ toolset_name: name }: JsonObject): JsonObject {
  return typeof name === "string" ? { toolset_name: name } : {};
}

/** False for text blocks without text, which the API produces but refuses when they are sent back, and for blocks without a type. */
function isSendable(block: JsonValue): block is JsonObject {
  if (!isJsonObject(block)) return false;
  const { type, text } = block;
  if (typeof type !== "string" || type === "") return false;
  return type !== "text" || (typeof text === "string" && text.trim() !== "");
}

/** Returns the block that answers one call. @param toolset the fields returned by `toolsetField` */
export function toolResultBlock(id: string, result: ToolResult | undefined, toolset: JsonObject = {}): JsonObject {
  const block = { type: "tool_result", tool_use_id: id, ...toolset };
  if (isErrorAnswer(result)) return { ...block, content: answerText(result), is_error: true };
  const { output } = result ?? {};
  const isState = toolset["toolset_name"] === "browser" && isJsonObject(output) && output["type"] === "browser_state";
  if (result === undefined || (!isState && result.content?.some(isShownAsBlock) !== true)) return { ...block, content: answerText(result) };
  const { content = [], ...rest } = result;
  if (isState) return { ...block, content: [toWellFormedJson(output), ...content.flatMap(partBlock)] };
  return { ...block, content: [...textBlock(answerText({ ...rest, content: [] })), ...content.flatMap(partBlock)] };
}

function promptBlocks({ kind, content, title }: PromptStep): readonly JsonObject[] {
  const parts = contentParts(content);
  if (kind === "user") return parts.flatMap(partBlock);
  const source = documentSource(parts.filter((part) => documentPart(part) === undefined));
  return [
    ...parts.map(documentPart).filter((block) => block !== undefined),
    ...(source === undefined ? [] : [{ type: "document", source, ...titleField(title) }]),
  ];
}

function documentSource(parts: readonly ContentPart[]): JsonObject | undefined {
  if (parts.some(isSupportedImage)) return { type: "content", content: parts.flatMap(partBlock) };
  const data = contentText(parts);
  return data === "" ? undefined : { type: "text", media_type: "text/plain", data };
}

function isShownAsBlock(part: ContentPart): boolean {
  return isSupportedImage(part) || documentPart(part) !== undefined;
}

function partBlock(part: ContentPart): readonly JsonObject[] {
  if (isSupportedImage(part)) return [{ type: "image", source: { type: "base64", media_type: part.mediaType, data: part.data } }];
  const document = documentPart(part);
  return document === undefined ? textBlock(partText(part).toWellFormed()) : [document];
}

/** Returns the document block of a PDF that comes with its bytes. Text files are written as text, and URLs are not followed. */
function documentPart(part: ContentPart): JsonObject | undefined {
  const data = readPdfData(part);
  if (data === undefined || part.type !== "file") return undefined;
  return {
    type: "document",
    source: { type: "base64", media_type: "application/pdf", data },
    ...titleField(part.name),
  };
}

function titleField(title: string | undefined): JsonObject {
  return title === undefined || title === "" ? {} : { title: title.slice(0, MAX_TITLE_LENGTH).toWellFormed() };
}

function textBlock(text: string): readonly JsonObject[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}
