/** A conversation as the system prompt and messages of Anthropic's Messages API. */
import type { ContentPart } from "../core/content.ts";
import type { JsonObject } from "../core/json.ts";
import type { ModelMessage } from "../core/message.ts";
import { partText } from "../core/result.ts";
import { IMAGE_TYPES, answerText, contentParts, contentText, conversationSteps, inputObject, isErrorAnswer } from "./conversation-steps.ts";
import type { AssistantStep, SpokenStep, WireCall } from "./conversation-steps.ts";

export interface AnthropicConversation {
  /** The `system` of a request: what every system message said, wherever it stood. Left out when there is none. */
  readonly system?: readonly JsonObject[];
  /** The `messages` of a request: user and assistant in turn, the user first. */
  readonly messages: readonly JsonObject[];
  /** By the name in a `tool_use` block, the tool's own. */
  readonly toolNames: ReadonlyMap<string, string>;
}

const ID_RULE = { allowed: /^[A-Za-z0-9_-]+$/u, maxLength: 64 };
const MAX_TITLE_LENGTH = 500;

/**
 * Writes a conversation as Anthropic's Messages API takes it.
 *
 * The results of one message's calls come first in the next message of the user, errors with `is_error` and as text only. Documents
 * are document blocks. Blocks without text are left out: Anthropic refuses them. A conversation that begins with
 * the assistant is given a message of the user before it.
 *
 * @see https://docs.anthropic.com/en/api/messages
 */
export function toAnthropicMessages(messages: readonly ModelMessage[]): AnthropicConversation {
  const { steps, toolNames } = conversationSteps(messages, ID_RULE);
  const system: JsonObject[] = [];
  const turns = new Turns();
  for (const step of steps) {
    if (step.kind === "assistant") writeAssistant(step, turns);
    else if (step.kind === "system") system.push(...textBlock(contentText(step.content)));
    else turns.add("user", spokenBlocks(step));
  }
  return { ...(system.length === 0 ? {} : { system }), messages: turns.written, toolNames };
}

/** Messages of one side that follow each other become one. */
class Turns {
  readonly written: { readonly role: "user" | "assistant"; readonly content: JsonObject[] }[] = [];

  add(role: "user" | "assistant", blocks: readonly JsonObject[]): void {
    if (blocks.length === 0) return;
    const last = this.written.at(-1);
    if (last?.role === role) {
      last.content.push(...blocks);
      return;
    }
    if (last === undefined && role === "assistant") this.add("user", textBlock("(The conversation begins with the assistant.)"));
    this.written.push({ role, content: [...blocks] });
  }
}

function writeAssistant({ content, calls }: AssistantStep, turns: Turns): void {
  turns.add("assistant", [
    ...textBlock(contentText(content)),
    ...calls.map(({ id, name, input }) => ({ type: "tool_use", id, name, input: inputObject(input) })),
  ]);
  turns.add("user", calls.map(resultBlock));
}

function resultBlock({ id, result }: WireCall): JsonObject {
  const block = { type: "tool_result", tool_use_id: id };
  if (isErrorAnswer(result)) return { ...block, content: answerText(result), is_error: true };
  if (result?.content?.some(isImage) !== true) return { ...block, content: answerText(result) };
  const { content = [], ...rest } = result;
  return { ...block, content: [...textBlock(answerText({ ...rest, content: [] })), ...content.flatMap(partBlock)] };
}

function spokenBlocks({ kind, content, title }: SpokenStep): readonly JsonObject[] {
  if (kind === "user") return contentParts(content).flatMap(partBlock);
  const named = title === undefined || title === "" ? {} : { title: title.slice(0, MAX_TITLE_LENGTH).toWellFormed() };
  const source = documentSource(content);
  return source === undefined ? [] : [{ type: "document", source, ...named }];
}

function documentSource(content: string | readonly ContentPart[]): JsonObject | undefined {
  if (contentParts(content).some(isImage)) return { type: "content", content: contentParts(content).flatMap(partBlock) };
  const data = contentText(content);
  return data === "" ? undefined : { type: "text", media_type: "text/plain", data };
}

function isImage(part: ContentPart): boolean {
  return part.type === "image" && IMAGE_TYPES.has(part.mediaType);
}

function partBlock(part: ContentPart): readonly JsonObject[] {
  if (part.type === "image" && isImage(part))
    return [{ type: "image", source: { type: "base64", media_type: part.mediaType, data: part.data } }];
  return textBlock(partText(part).toWellFormed());
}

function textBlock(text: string): readonly JsonObject[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}
