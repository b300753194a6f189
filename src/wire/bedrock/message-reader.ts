/** Reads messages of Bedrock's Converse API, whole and streamed. */
import { ToolError } from "../../core/error.ts";
import { DEFAULT_MAX_CHARS, isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { endedWell, type FinishReason, type ModelEvent, type ModelReply, type TokenUsage } from "../../core/model.ts";
import { toInputObject } from "../conversation-steps.ts";
import { checkStreamPiece } from "../framing/wire-json.ts";
import { toFinishReason } from "../openai-chat/finish-reason.ts";
import { tokenCountsWithCache } from "../read-field.ts";
import { argumentText } from "../join-arguments.ts";
import { ReplyBuilder, parseInput } from "../reply-builder.ts";
import type { DecodeOptions, StreamDecoder } from "../wire-format.ts";
import { ConverseBlock, needsNative } from "./content-block.ts";
import { BEDROCK } from "./conversation.ts";
import { isKnownError, providerError } from "../provider-error.ts";
import { wordEntries } from "../../core/base/wording.ts";

/** @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html#API_runtime_Converse_ResponseSyntax */
const FINISH: ReadonlyMap<string, FinishReason> = new Map([
  ...wordEntries("stop", "end_turn stop_sequence"),
  ...wordEntries("calls", "tool_use"),
  ...wordEntries("length", "max_tokens model_context_window_exceeded"),
  ...wordEntries("content-filter", "guardrail_intervened content_filtered"),
  ...wordEntries("refusal", "refusal"),
  ...wordEntries("pause", "pause_turn"),
  ...wordEntries("error", "malformed_model_output malformed_tool_use"),
]);

export class ConverseReader implements StreamDecoder {
  readonly #reply: ReplyBuilder;
  readonly #maxChars: number;
  /** The blocks in the order in which they began; the position of each is its key in `#reply`. */
  #blocks: ConverseBlock[] = [];
  /** The position in `#blocks` of the latest block at each index of the stream; without an index, the latest block of all those without. */
  #keyByIndex = new Map<JsonValue | undefined, number>();
  #chars = 0;
  #isStarted = false;
  #isEnded = false;

  constructor(options: DecodeOptions = {}) {
    this.#reply = new ReplyBuilder(options);
    this.#maxChars = options.maxChars ?? DEFAULT_MAX_CHARS;
  }

  readWhole(body: JsonValue): ModelReply {
    const { output, stopReason, usage, message, __type: type } = isJsonObject(body) ? body : {};
    const outputMessage = isJsonObject(output) ? output["message"] : undefined;
    const content = isJsonObject(outputMessage) ? outputMessage["content"] : undefined;
    if (!isJsonArray(content)) {
      const error = typeof message === "string" ? bedrockError(errorName(type), { message }) : undefined;
      throw error ?? new ToolError("model_failed", "The answer of Bedrock is not a message: it has no content.");
    }
    for (const [index, block] of content.entries()) if (isJsonObject(block)) this.#addWholeBlock(index, block);
    this.#setFinish(stopReason);
    this.#addUsage(usage);
    const blocks = content.map(withInputObject);
    if (needsNative(blocks)) this.#reply.setNative({ format: BEDROCK, blocks });
    return this.#reply.endReply();
  }

  push(piece: JsonValue): readonly ModelEvent[] {
    if (!this.#isEnded && isJsonObject(piece)) for (const [name, event] of Object.entries(piece)) this.#readEvent(name, event);
    return this.#reply.takeEvents();
  }

  end(): readonly ModelEvent[] {
    if (this.#isEnded) return this.#reply.takeEvents();
    this.#isEnded = true;
    const { finishReason } = this.#reply;
    if (finishReason !== undefined && endedWell(finishReason)) for (const key of this.#blocks.keys()) this.#finishBlock(key);
    const blocks = this.#blocks.filter(({ stopped }) => stopped).map(({ completeBlock }) => completeBlock);
    if (needsNative(blocks)) this.#reply.setNative({ format: BEDROCK, blocks });
    this.#reply.endReply();
    return this.#reply.takeEvents();
  }

  #readEvent(name: string, event: JsonValue): void {
    if (isJsonObject(event) && this.#readKnownEvent(name, event)) return;
    const error = bedrockError(name, event);
    if (error !== undefined) throw error;
    checkStreamPiece(event);
  }

  #readKnownEvent(name: string, { contentBlockIndex: index, start, delta, stopReason, usage }: JsonObject): boolean {
    if (name === "contentBlockDelta" && isJsonObject(delta)) this.#addDelta(index, delta);
    else if (name === "contentBlockStart") this.#startBlock(index, isJsonObject(start) ? start : {});
    else if (name === "contentBlockStop") this.#finishBlock(this.#keyByIndex.get(index) ?? -1);
    else if (name === "messageStart") this.#startMessage();
    else if (name === "messageStop") this.#setFinish(stopReason);
    else if (name === "metadata") this.#addUsage(usage);
    else return false;
    return true;
  }

  #startMessage(): void {
    if (this.#isStarted) {
      this.#reply.voidReply("The provider began the message again.");
      this.#blocks = [];
      this.#keyByIndex = new Map();
      this.#chars = 0;
    }
    this.#isStarted = true;
  }

  /** Begins a block, also at the index of another: some gateways send no index, or only one. An event that repeats the start of a block is ignored. */
  #startBlock(index: JsonValue | undefined, start: JsonObject): void {
    const block = new ConverseBlock(start);
    const known = this.#blocks[this.#keyByIndex.get(index) ?? -1];
    if (known?.isStartedBy(block) === true) return;
    this.#countChars(start);
    const key = this.#blocks.push(block) - 1;
    this.#keyByIndex.set(index, key);
    const { toolUse } = block;
    if (toolUse === undefined || !isHaftCall(toolUse)) return;
    this.#openCall(key, toolUse);
    if (toolUse["input"] !== undefined && toolUse["input"] !== null) this.#reply.setInput(key, toolUse["input"]);
  }

  /** Adds a delta. Text blocks have no start event. */
  #addDelta(index: JsonValue | undefined, delta: JsonObject): void {
    if (!this.#keyByIndex.has(index)) this.#startBlock(index, {});
    const key = this.#keyByIndex.get(index) ?? -1;
    const block = this.#blocks[key];
    if (block === undefined || block.stopped) return;
    block.addDelta(delta);
    const { text, toolUse, reasoningContent } = delta;
    const json = isJsonObject(toolUse) ? argumentText(toolUse["input"]) : undefined;
    if (typeof text === "string") this.#reply.addText(text);
    else if (isJsonObject(reasoningContent) && typeof reasoningContent["text"] === "string")
      this.#reply.addReasoning(reasoningContent["text"]);
    else if (this.#reply.hasCall(key) && json !== undefined) this.#reply.addArgumentText(key, json);
    else this.#countChars(delta);
  }

  #finishBlock(key: number): void {
    const block = this.#blocks[key];
    if (block === undefined || block.stopped) return;
    block.stopped = true;
    if (this.#reply.hasCall(key)) this.#reply.sealCall(key);
    else if (block.toolUse !== undefined) this.#addProviderCall(block.completeBlock["toolUse"]);
    else this.#addImage(block.completeBlock["image"]);
  }

  #addWholeBlock(index: number, { text, toolUse, reasoningContent, citationsContent, image }: JsonObject): void {
    if (typeof text === "string") this.#reply.addText(text);
    if (isJsonObject(reasoningContent)) {
      const { reasoningText } = reasoningContent;
      const reasoning = isJsonObject(reasoningText) ? reasoningText["text"] : undefined;
      if (typeof reasoning === "string") this.#reply.addReasoning(reasoning);
    }
    const cited = isJsonObject(citationsContent) ? citationsContent["content"] : undefined;
    for (const part of isJsonArray(cited) ? cited : [])
      if (isJsonObject(part) && typeof part["text"] === "string") this.#reply.addText(part["text"]);
    this.#addImage(image);
    if (!isJsonObject(toolUse)) return;
    if (!isHaftCall(toolUse)) return this.#addProviderCall(toolUse);
    this.#openCall(index, toolUse);
    this.#reply.setInput(index, toolUse["input"] ?? {});
    this.#reply.sealCall(index);
  }

  #openCall(index: number, { toolUseId, name }: JsonObject): void {
    this.#reply.openCall(index, {
      id: typeof toolUseId === "string" ? toolUseId : undefined,
      name: typeof name === "string" ? name : undefined,
    });
  }

  #addProviderCall(toolUse: JsonValue | undefined): void {
    const { toolUseId, name, type, input = {} } = isJsonObject(toolUse) ? toolUse : {};
    this.#reply.addProviderCall({
      ...(typeof toolUseId === "string" ? { id: toolUseId } : {}),
      name: typeof name === "string" ? name : "",
      kind: typeof type === "string" ? type : "toolUse",
      input,
    });
  }

  #addImage(image: JsonValue | undefined): void {
    const { format, source } = isJsonObject(image) ? image : {};
    const data = isJsonObject(source) ? source["bytes"] : undefined;
    if (typeof format === "string" && typeof data === "string") this.#reply.addMedia({ type: "image", mediaType: `image/${format}`, data });
  }

  #setFinish(reason: JsonValue | undefined): void {
    if (typeof reason === "string") this.#reply.setFinish(FINISH.get(reason) ?? toFinishReason(reason), reason);
  }

  #addUsage(usage: JsonValue | undefined): void {
    if (isJsonObject(usage)) this.#reply.addUsage(tokenUsage(usage));
  }

  /** Counts the characters that the reply builder does not see. */
  #countChars(json: JsonObject): void {
    this.#chars += JSON.stringify(json).length;
    if (this.#chars > this.#maxChars)
      throw new ToolError("too_large", `A message of the model has more than ${this.#maxChars} characters.`);
  }
}

/** Returns `ThrottlingException` for `com.amazon.coral.service#ThrottlingException`. */
function errorName(type: JsonValue | undefined): string {
  return typeof type === "string" ? type.slice(type.lastIndexOf("#") + 1) : "an error";
}

/** Makes the input of a call an object, which the API requires when the block is sent back. */
function withInputObject(block: JsonValue): JsonValue {
  const { toolUse } = isJsonObject(block) ? block : {};
  if (!isJsonObject(block) || !isJsonObject(toolUse) || isJsonObject(toolUse["input"])) return block;
  return { ...block, toolUse: { ...toolUse, input: toInputObject(parseInput(toolUse["input"])) } };
}

function isHaftCall({ type }: JsonObject): boolean {
  return type !== "server_tool_use";
}

/** `inputTokens` excludes tokens read from or written to the cache. */
function tokenUsage(usage: JsonObject): Partial<TokenUsage> {
  const { inputTokens: input, outputTokens: output, cacheReadInputTokens: read, cacheWriteInputTokens: write } = usage;
  return tokenCountsWithCache({ input, output, read, write });
}

/** Matches names of errors that `isKnownError` does not know. */
const ERROR_NAME = /(?:exception|error|failure|fault)$/iu;

/** Returns the error that an event's name and payload describe; undefined for every other event. */
function bedrockError(name: string, payload: JsonValue): ToolError | undefined {
  if (!isKnownError(name) && !ERROR_NAME.test(name)) return undefined;
  const { message, Message } = isJsonObject(payload) ? payload : {};
  const text = [message, Message].find((one) => typeof one === "string") ?? "it does not say what is wrong";
  return providerError({ report: `Bedrock reports ${name}: ${text}`, codes: [name], text });
}
