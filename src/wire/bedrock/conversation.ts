/** A conversation as the system prompt and messages of Bedrock's Converse API. */
import type { ContentPart } from "../../core/content.ts";
import { fileData } from "../../core/data-uri.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { ModelMessage } from "../../core/message.ts";
import { partText, type ToolResult } from "../../core/result.ts";
import { AlternatingTurns, type AskOptions, type TurnRules } from "../alternating-turns.ts";
import {
  answerText,
  contentParts,
  contentText,
  conversationSteps,
  documentHeading,
  inputObject,
  isErrorAnswer,
  isShownImage,
  nativeBlocks,
  orNoOutput,
  withReturnableName,
  wellFormed,
} from "../conversation-steps.ts";
import type { AssistantStep, SpokenStep } from "../conversation-steps.ts";
import { asTextNotes } from "../text-notes.ts";
import type { EncodeMessagesOptions, EncodedMessages } from "../wire-format.ts";
import { isSettled, settle, writtenOnce } from "../written-once.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

/** The value of `NativeMessage.format` of this API's messages, and the key in `ModelTool.providers`. */
export const BEDROCK = "bedrock-converse";

/** The ids that the API accepts if it did not make them itself. */
export const ID_RULE = { allowed: /^[A-Za-z0-9_-]+$/u, maxLength: 64 };
/** Models that accept results only as JSON objects. */
const JSON_ONLY = /(?:^|[./])mistral\./u;

/**
 * Writes a conversation as the Converse API takes it.
 *
 * The results of one message's calls come first in the next user message. Messages that the API made are sent back unchanged, with their reasoning,
 * signatures and ids. Blank texts are left out, as the API refuses them, and so is reasoning that the model does not accept. System messages after
 * the beginning are written as the user's, so that `system` stays unchanged.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
 */
export function toConverseMessages(messages: readonly ModelMessage[], options: EncodeMessagesOptions & AskOptions = {}): EncodedMessages {
  const { tools = true, model = "", asks = false } = options;
  const { steps, toolNames } = conversationSteps(tools ? messages : asTextNotes(messages), ID_RULE);
  const rules = rulesFor(tools, model);
  const writer = new ConverseWriter(rules);
  const system: JsonObject[] = [];
  const turns = new AlternatingTurns(TURNS);
  const ownIds = new OwnIds();
  for (const step of steps) {
    if (step.kind === "system" && turns.takesNotes) turns.say(writeNote(step));
    else if (step.kind === "system") system.push(...writeNote(step));
    else if (step.kind !== "assistant") turns.say(writer.spoken(step));
    else {
      const own = ownIds.restore(step);
      turns.answer(writeAssistant(own, rules));
      // the names of documents depend on the documents before them, so they cannot be cached
      const hasFiles = own.calls.some(({ result }) => result?.content?.some(({ type }) => type === "file"));
      turns.results(hasFiles ? own.calls.map(({ id, result }) => writer.result(id, result)) : writeResults(own, rules));
    }
  }
  if (asks) turns.askToContinue();
  for (const { role, content } of turns.written) {
    const has = (kind: string): boolean => content.some((block) => block[kind] !== undefined);
    if (role === "user" && has("document") && !has("text")) content.push({ text: "(The document is above.)" });
  }
  return { messages: turns.written, ...(system.length === 0 ? {} : { system }), toolNames };
}

interface ConverseRules {
  readonly tools: boolean;
  /** Whether results must be JSON objects. */
  readonly jsonOnly: boolean;
  /** The reasoning that the model accepts: Claude only signed or encrypted reasoning, other models only reasoning that is neither. */
  readonly reasoning: "signed" | "plain" | "any";
}

/** The same rules object for every request, because `writtenOnce` caches what was written by its identity. */
const RULES = new Map<string, ConverseRules>();

function rulesFor(tools: boolean, model: string): ConverseRules {
  const rules: ConverseRules = { tools, jsonOnly: JSON_ONLY.test(model), reasoning: reasoningOf(model) };
  return getOrAdd(RULES, JSON.stringify(rules), () => rules);
}

/** The ARN of an inference profile does not tell which model it is for. */
function reasoningOf(model: string): ConverseRules["reasoning"] {
  if (model.includes("claude")) return "signed";
  return model.slice(model.lastIndexOf("/") + 1).includes(".") ? "plain" : "any";
}

const writeAssistant = writtenOnce(
  (own: AssistantStep, rules: ConverseRules) =>
    nativeBlocks(own, BEDROCK, callIdOf)
      ?.filter((block) => isSendable(block, rules))
      .map((block) => returnable(block, own)) ?? ownBlocks(own),
);
const writeNote = writtenOnce(({ content }: SpokenStep) => textBlock(contentText(content)));
const writeResults = writtenOnce(({ calls }: AssistantStep, rules: ConverseRules) => {
  const writer = new ConverseWriter(rules);
  return calls.map(({ id, result }) => writer.result(id, result));
});

/** The restored form of settled steps, which depends only on them and on earlier steps, all unchanging. */
const RESTORED = new WeakMap<AssistantStep, AssistantStep>();

/** Restores the ids that the API gave itself: it accepts them back, even if it would refuse them from another provider. */
class OwnIds {
  readonly #used = new Set<string>();

  restore(step: AssistantStep): AssistantStep {
    const known = RESTORED.get(step) ?? this.#restored(step);
    for (const { id } of known.calls) this.#used.add(id);
    return known;
  }

  #restored(step: AssistantStep): AssistantStep {
    const given = new Set(step.native?.format === BEDROCK ? step.native.blocks.map(callIdOf) : []);
    const used = new Set<string>();
    const calls = step.calls.map((call) => {
      const { providerId } = call;
      const isOwn = providerId !== undefined && given.has(providerId) && !this.#used.has(providerId) && !used.has(providerId);
      const restored = isOwn ? { ...call, id: providerId } : call;
      used.add(restored.id);
      return restored;
    });
    if (!isSettled(step)) return { ...step, calls };
    const restored = calls.every((call, index) => call === step.calls[index]) ? step : { ...step, calls };
    settle(restored);
    RESTORED.set(step, restored);
    return restored;
  }
}

function ownBlocks({ content, calls }: AssistantStep): readonly JsonObject[] {
  return [
    ...textBlock(contentText(content)),
    ...calls.map(({ id, name, input }) => ({ toolUse: { toolUseId: id, name, input: inputObject(input) } })),
  ];
}

function callIdOf(block: JsonValue): string | undefined {
  const { toolUse } = isJsonObject(block) ? block : {};
  const { toolUseId, type } = isJsonObject(toolUse) ? toolUse : {};
  return type !== "server_tool_use" && typeof toolUseId === "string" ? toolUseId : undefined;
}

function returnable(block: JsonObject, { calls }: AssistantStep): JsonObject {
  const id = callIdOf(block);
  const { toolUse } = block;
  if (id === undefined || !isJsonObject(toolUse)) return block;
  const named = withReturnableName(
    toolUse,
    calls.find((call) => call.id === id),
  );
  return named === toolUse ? block : { ...block, toolUse: named };
}

/** Whether the API accepts the block back: it refuses blocks without text, which it makes itself, and blocks of tools in a request without tools. */
function isSendable(block: JsonValue, { tools, reasoning }: ConverseRules): block is JsonObject {
  if (!isJsonObject(block)) return false;
  const { text, toolUse, toolResult, reasoningContent } = block;
  if (isJsonObject(reasoningContent)) return reasoning === "any" || isSigned(reasoningContent) === (reasoning === "signed");
  return typeof text === "string" ? text.trim() !== "" : tools || (toolUse === undefined && toolResult === undefined);
}

function isSigned({ reasoningText, redactedContent }: JsonObject): boolean {
  const { signature = "" } = isJsonObject(reasoningText) ? reasoningText : {};
  return redactedContent !== undefined || signature !== "";
}

/** The result of a provider-executed call is in the same message as the call, unless the message is paused. */
const TURNS: TurnRules = {
  text: (text) => ({ text }),
  isPause: ({ toolUse, toolResult }) => toolResult !== undefined || isProviderCall(toolUse),
  answered: (blocks, behind) => {
    const answered = new Set(
      [...blocks, ...behind].map(({ toolResult }) => (isJsonObject(toolResult) ? toolResult["toolUseId"] : undefined)),
    );
    return blocks.filter(({ toolUse }) => !isProviderCall(toolUse) || answered.has(toolUse["toolUseId"]));
  },
  isThought: ({ reasoningContent }) => reasoningContent !== undefined,
};

function isProviderCall(toolUse: JsonValue | undefined): toolUse is JsonObject {
  return isJsonObject(toolUse) && toolUse["type"] === "server_tool_use";
}

/** Writes the blocks of user messages, documents and results; gives documents unique names. */
export class ConverseWriter {
  readonly #jsonOnly: boolean;
  readonly #names = new DocumentNames();

  constructor({ jsonOnly }: Pick<ConverseRules, "jsonOnly"> = { jsonOnly: false }) {
    this.#jsonOnly = jsonOnly;
  }

  spoken({ kind, content, title }: SpokenStep): readonly JsonObject[] {
    const blocks = contentParts(content).flatMap((part) => this.#part(part));
    return kind === "document" && blocks.length > 0 ? [{ text: documentHeading(title) }, ...blocks] : blocks;
  }

  result(toolUseId: string, result: ToolResult | undefined): JsonObject {
    return { toolResult: { toolUseId, content: this.#answer(result), status: isErrorAnswer(result) ? "error" : "success" } };
  }

  #answer(result: ToolResult | undefined): readonly JsonObject[] {
    if (result === undefined || isErrorAnswer(result)) return [this.#text(answerText(result))];
    const { content, ...rest } = result;
    if (content === undefined)
      return [rest.error === undefined && isJsonObject(rest.output) ? { json: wellFormed(rest.output) } : this.#text(answerText(result))];
    const blocks = [...textBlock(answerText({ ...rest, content: [] })), ...content.flatMap((part) => this.#part(part))];
    if (blocks.length === 0) return [this.#text("")];
    return blocks.map((block) => (typeof block["text"] === "string" ? this.#text(block["text"]) : block));
  }

  #text(text: string): JsonObject {
    const shown = orNoOutput(text);
    return this.#jsonOnly ? { json: { output: shown } } : { text: shown };
  }

  #part(part: ContentPart): readonly JsonObject[] {
    if (isShownImage(part)) return [{ image: { format: part.mediaType.slice("image/".length), source: { bytes: part.data } } }];
    const document = this.#document(part);
    return document === undefined ? textBlock(partText(part)) : [document];
  }

  #document(part: ContentPart): JsonObject | undefined {
    const data = fileData(part);
    const format = data === undefined ? undefined : FORMATS.get(data.mediaType);
    if (data === undefined || format === undefined || part.type !== "file") return undefined;
    return { document: { format, name: this.#names.take(part.name), source: { bytes: data.base64 } } };
  }
}

export function textBlock(text: string): readonly JsonObject[] {
  return text.trim() === "" ? [] : [{ text: text.toWellFormed() }];
}

/**
 * Bedrock's format names by media type.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html
 */
const FORMATS: ReadonlyMap<string, string> = new Map([
  ["application/pdf", "pdf"],
  ["text/csv", "csv"],
  ["application/msword", "doc"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
  ["application/vnd.ms-excel", "xls"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"],
  ["text/html", "html"],
  ["text/plain", "txt"],
  ["text/markdown", "md"],
]);
const MAX_NAME_LENGTH = 200;

/** Makes document names of letters, digits, single spaces, hyphens, parentheses and brackets, unique in a request. */
class DocumentNames {
  readonly #taken = new Set<string>();
  /** The number to try next for a repeated name. */
  readonly #next = new Map<string, number>();

  take(name = ""): string {
    const plain = name
      .replaceAll(/[^A-Za-z0-9()[\]-]+/gu, " ")
      .trim()
      .slice(0, MAX_NAME_LENGTH - 10)
      .trim();
    const base = plain === "" ? "Document" : plain;
    let free = base;
    let count = this.#next.get(base) ?? 2;
    for (; this.#taken.has(free); count++) free = `${base} (${count})`;
    this.#next.set(base, count);
    this.#taken.add(free);
    return free;
  }
}
