/** A conversation as the system prompt and messages of Bedrock's Converse API. */
import { pushAll } from "../../core/collections/push-all.ts";
import type { ContentPart } from "../../core/content.ts";
import { readFileData } from "../../core/formats/data-uri.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { ModelMessage } from "../../core/message.ts";
import { partText, type ToolResult } from "../../core/result.ts";
import { AlternatingTurns, type UserTurnOptions, type TurnRules } from "../alternating-turns.ts";
import {
  answerText,
  contentParts,
  contentText,
  conversationSteps,
  documentHeading,
  toInputObject,
  isErrorAnswer,
  isSupportedImage,
  nativeBlocks,
  textOrPlaceholder,
  withValidName,
  toWellFormedJson,
} from "../conversation-steps.ts";
import type { AssistantStep, BlockIds, PromptStep } from "../conversation-steps.ts";
import { withCallsAsText } from "../calls-as-text.ts";
import type { EncodeMessagesOptions, EncodedMessages } from "../wire-format.ts";
import { isStable, markStable, withStepCache } from "../step-cache.ts";
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
export function toConverseMessages(
  messages: readonly ModelMessage[],
  options: EncodeMessagesOptions & UserTurnOptions = {},
): EncodedMessages {
  const { tools = true, model = "", mustEndWithUser = false } = options;
  const { steps, toolNames } = conversationSteps(tools ? messages : withCallsAsText(messages), ID_RULE);
  const rules = rulesFor(tools, model);
  const writer = new ConverseWriter(rules);
  const system: JsonObject[] = [];
  const turns = new AlternatingTurns(TURNS);
  const ownIds = new ProviderIds();
  for (const step of steps) {
    if (step.kind === "system" && turns.writesSystemAsUser) turns.addUserBlocks(writeSystemNote(step));
    else if (step.kind === "system") pushAll(system, writeSystemNote(step));
    else if (step.kind !== "assistant") turns.addUserBlocks(writer.writePrompt(step));
    else {
      const own = ownIds.restore(step);
      turns.addAssistantBlocks(writeAssistant(own, rules));
      // the names of documents depend on the documents before them, so they cannot be cached
      const hasFiles = own.calls.some(({ result }) => result?.content?.some(({ type }) => type === "file"));
      turns.addResults(hasFiles ? own.calls.map(({ id, result }) => writer.writeResult(id, result)) : writeResults(own, rules));
    }
  }
  if (mustEndWithUser) turns.askToContinue();
  for (const { role, content } of turns.messages) {
    const has = (kind: string): boolean => content.some((block) => block[kind] !== undefined);
    if (role === "user" && has("document") && !has("text")) content.push({ text: "(The document is above.)" });
  }
  return { messages: turns.messages, ...(system.length === 0 ? {} : { system }), toolNames };
}

interface ConverseRules {
  readonly tools: boolean;
  /** Whether results must be JSON objects. */
  readonly jsonOnly: boolean;
  /** The reasoning that the model accepts: Claude only signed or encrypted reasoning, other models only reasoning that is neither. */
  readonly reasoning: "signed" | "plain" | "any";
}

/** The same rules object for every request, because `withStepCache` caches what was written by its identity. */
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

const writeAssistant = withStepCache(
  (own: AssistantStep, rules: ConverseRules) =>
    nativeBlocks(own, BEDROCK, BLOCK_IDS)
      ?.filter((block) => isSendable(block, rules))
      .map((block) => withValidCallName(block, own)) ?? blocksFromStep(own),
);
const writeSystemNote = withStepCache(({ content }: PromptStep) => textBlock(contentText(content)));
const writeResults = withStepCache(({ calls }: AssistantStep, rules: ConverseRules) => {
  const writer = new ConverseWriter(rules);
  return calls.map(({ id, result }) => writer.writeResult(id, result));
});

/** The restored form of settled steps, which depends only on them and on earlier steps, all unchanging. */
const RESTORED_STEPS = new WeakMap<AssistantStep, AssistantStep>();

/** Restores the ids that the API gave itself: it accepts them back, even if it would refuse them from another provider. */
class ProviderIds {
  readonly #used = new Set<string>();

  restore(step: AssistantStep): AssistantStep {
    const known = RESTORED_STEPS.get(step) ?? this.#restoreUncached(step);
    for (const { id } of known.calls) this.#used.add(id);
    return known;
  }

  #restoreUncached(step: AssistantStep): AssistantStep {
    const given = new Set(step.native?.format === BEDROCK ? step.native.blocks.map(callIdOf) : []);
    const used = new Set<string>();
    const calls = step.calls.map((call) => {
      const { providerId } = call;
      const isOwn = providerId !== undefined && given.has(providerId) && !this.#used.has(providerId) && !used.has(providerId);
      const restored = isOwn ? { ...call, id: providerId } : call;
      used.add(restored.id);
      return restored;
    });
    if (!isStable(step)) return { ...step, calls };
    const restored = calls.every((call, index) => call === step.calls[index]) ? step : { ...step, calls };
    markStable(restored);
    RESTORED_STEPS.set(step, restored);
    return restored;
  }
}

function blocksFromStep({ content, calls }: AssistantStep): readonly JsonObject[] {
  return [
    ...textBlock(contentText(content)),
    ...calls.map(({ id, name, input }) => ({ toolUse: { toolUseId: id, name, input: toInputObject(input) } })),
  ];
}

function callIdOf(block: JsonValue): string | undefined {
  const { toolUse } = isJsonObject(block) ? block : {};
  const { toolUseId, type } = isJsonObject(toolUse) ? toolUse : {};
  return type !== "server_tool_use" && typeof toolUseId === "string" ? toolUseId : undefined;
}

/** The ids of some models repeat in later messages; the reasoning before such a call is still sent back. */
const BLOCK_IDS: BlockIds = {
  idOf: callIdOf,
  withId: (block, toolUseId) => {
    const { toolUse } = isJsonObject(block) ? block : {};
    return isJsonObject(block) && isJsonObject(toolUse) ? { ...block, toolUse: { ...toolUse, toolUseId } } : block;
  },
};

function withValidCallName(block: JsonObject, { calls }: AssistantStep): JsonObject {
  const id = callIdOf(block);
  const { toolUse } = block;
  if (id === undefined || !isJsonObject(toolUse)) return block;
  const named = withValidName(
    toolUse,
    calls.find((call) => call.id === id),
  );
  return named === toolUse ? block : { ...block, toolUse: named };
}

/** Whether the API accepts the block back: it refuses blocks without text, which it makes itself, and blocks of tools in a request without tools. */
function isSendable(block: JsonValue, { tools, reasoning }: ConverseRules): block is JsonObject {
  if (!isJsonObject(block) || Object.keys(block).length === 0) return false;
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
  toTextBlock: (text) => ({ text }),
  isPauseBlock: ({ toolUse, toolResult }) => toolResult !== undefined || isProviderCall(toolUse),
  withoutUnansweredCalls: (blocks, behind) => {
    const answered = new Set(
      [...blocks, ...behind].map(({ toolResult }) => (isJsonObject(toolResult) ? toolResult["toolUseId"] : undefined)),
    );
    return blocks.filter(({ toolUse }) => !isProviderCall(toolUse) || answered.has(toolUse["toolUseId"]));
  },
  isReasoningBlock: ({ reasoningContent }) => reasoningContent !== undefined,
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

  writePrompt({ kind, content, title }: PromptStep): readonly JsonObject[] {
    const blocks = contentParts(content).flatMap((part) => this.#writePart(part));
    return kind === "document" && blocks.length > 0 ? [{ text: documentHeading(title) }, ...blocks] : blocks;
  }

  writeResult(toolUseId: string, result: ToolResult | undefined): JsonObject {
    return {
      toolResult: { toolUseId, content: this.#writeResultContent(result), status: isErrorAnswer(result) ? "error" : "success" },
    };
  }

  #writeResultContent(result: ToolResult | undefined): readonly JsonObject[] {
    if (result === undefined || isErrorAnswer(result)) return [this.#writeText(answerText(result))];
    const { content, ...rest } = result;
    if (content === undefined)
      return [
        rest.error === undefined && isJsonObject(rest.output)
          ? { json: toWellFormedJson(rest.output) }
          : this.#writeText(answerText(result)),
      ];
    const blocks = [...textBlock(answerText({ ...rest, content: [] })), ...content.flatMap((part) => this.#writePart(part))];
    if (blocks.length === 0) return [this.#writeText("")];
    return blocks.map((block) => (typeof block["text"] === "string" ? this.#writeText(block["text"]) : block));
  }

  #writeText(text: string): JsonObject {
    const shown = textOrPlaceholder(text);
    return this.#jsonOnly ? { json: { output: shown } } : { text: shown };
  }

  #writePart(part: ContentPart): readonly JsonObject[] {
    if (isSupportedImage(part)) return [{ image: { format: part.mediaType.slice("image/".length), source: { bytes: part.data } } }];
    const document = this.#writeDocument(part);
    return document === undefined ? textBlock(partText(part)) : [document];
  }

  #writeDocument(part: ContentPart): JsonObject | undefined {
    const data = readFileData(part);
    const format = data === undefined ? undefined : FORMATS.get(data.mediaType);
    if (data === undefined || format === undefined || part.type !== "file") return undefined;
    return { document: { format, name: this.#names.makeUnique(part.name), source: { bytes: data.base64 } } };
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

  makeUnique(name = ""): string {
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
