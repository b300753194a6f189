/** Reads messages of Bedrock's Converse API, whole and streamed. */
import { ToolError } from "../../core/error.ts";
import { DEFAULT_MAX_CHARS, isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { endedWell, type FinishReason, type ModelEvent, type ModelReply, type TokenUsage } from "../../core/model.ts";
import { inputObject } from "../conversation-steps.ts";
import { refuseDamaged } from "../framing/wire-json.ts";
import { countsBesideCache } from "../read-field.ts";
import { ReplyBuilder, readInput } from "../reply-builder.ts";
import type { DecodeOptions, StreamDecoder } from "../wire-format.ts";
import { ConverseBlock, needsNative } from "./content-block.ts";
import { BEDROCK } from "./conversation.ts";
import { isKnownError, providerError } from "../provider-error.ts";
import { wordsFor } from "../../core/base/wording.ts";

/** @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html#API_runtime_Converse_ResponseSyntax */
const FINISH: ReadonlyMap<string, FinishReason> = new Map([
  ...wordsFor("stop", "end_turn stop_sequence"),
  ...wordsFor("calls", "tool_use"),
  ...wordsFor("length", "max_tokens model_context_window_exceeded"),
  ...wordsFor("content-filter", "guardrail_intervened content_filtered"),
  ...wordsFor("refusal", "refusal"),
  ...wordsFor("pause", "pause_turn"),
  ...wordsFor("error", "malformed_model_output malformed_tool_use"),
]);

export class ConverseReader implements StreamDecoder {
  readonly #reply: ReplyBuilder;
  readonly #maxChars: number;
  /** The blocks by their index in the stream, in the order in which they began. */
  #blocks = new Map<number, ConverseBlock>();
  #chars = 0;
  #begun = false;
  #over = false;

  constructor(options: DecodeOptions = {}) {
    this.#reply = new ReplyBuilder(options);
    this.#maxChars = options.maxChars ?? DEFAULT_MAX_CHARS;
  }

  whole(body: JsonValue): ModelReply {
    const { output, stopReason, usage, message, __type: type } = isJsonObject(body) ? body : {};
    const said = isJsonObject(output) ? output["message"] : undefined;
    const content = isJsonObject(said) ? said["content"] : undefined;
    if (!isJsonArray(content)) {
      const error = typeof message === "string" ? bedrockError(errorName(type), { message }) : undefined;
      throw error ?? new ToolError("model_failed", "The answer of Bedrock is not a message: it has no content.");
    }
    for (const [index, block] of content.entries()) if (isJsonObject(block)) this.#wholeBlock(index, block);
    this.#close(stopReason);
    this.#count(usage);
    const blocks = content.map(withInput);
    if (needsNative(blocks)) this.#reply.native({ format: BEDROCK, blocks });
    return this.#reply.end();
  }

  push(piece: JsonValue): readonly ModelEvent[] {
    if (!this.#over && isJsonObject(piece)) for (const [name, event] of Object.entries(piece)) this.#read(name, event);
    return this.#reply.take();
  }

  end(): readonly ModelEvent[] {
    if (this.#over) return this.#reply.take();
    this.#over = true;
    const { finished } = this.#reply;
    if (finished !== undefined && endedWell(finished)) for (const index of this.#blocks.keys()) this.#stop(index);
    const blocks = [...this.#blocks.values()].filter(({ stopped }) => stopped).map(({ whole }) => whole);
    if (needsNative(blocks)) this.#reply.native({ format: BEDROCK, blocks });
    this.#reply.end();
    return this.#reply.take();
  }

  #read(name: string, event: JsonValue): void {
    if (isJsonObject(event) && this.#readKnown(name, event)) return;
    const error = bedrockError(name, event);
    if (error !== undefined) throw error;
    refuseDamaged(event);
  }

  #readKnown(name: string, { contentBlockIndex: index, start, delta, stopReason, usage }: JsonObject): boolean {
    if (name === "contentBlockDelta" && typeof index === "number" && isJsonObject(delta)) this.#add(index, delta);
    else if (name === "contentBlockStart" && typeof index === "number") this.#start(index, isJsonObject(start) ? start : {});
    else if (name === "contentBlockStop" && typeof index === "number") this.#stop(index);
    else if (name === "messageStart") this.#begin();
    else if (name === "messageStop") this.#close(stopReason);
    else if (name === "metadata") this.#count(usage);
    else return false;
    return true;
  }

  #begin(): void {
    if (this.#begun) {
      this.#reply.void("The provider began the message again.");
      this.#blocks = new Map();
      this.#chars = 0;
    }
    this.#begun = true;
  }

  #start(index: number, start: JsonObject): void {
    if (this.#blocks.has(index)) return;
    this.#grow(start);
    const block = new ConverseBlock(start);
    this.#blocks.set(index, block);
    if (block.toolUse !== undefined && isOurs(block.toolUse)) this.#open(index, block.toolUse);
  }

  /** Adds a delta. Text blocks have no start event. */
  #add(index: number, delta: JsonObject): void {
    if (!this.#blocks.has(index)) this.#start(index, {});
    const block = this.#blocks.get(index);
    if (block === undefined || block.stopped) return;
    block.add(delta);
    const { text, toolUse, reasoningContent } = delta;
    if (typeof text === "string") this.#reply.text(text);
    else if (isJsonObject(reasoningContent) && typeof reasoningContent["text"] === "string")
      this.#reply.reasoning(reasoningContent["text"]);
    else if (this.#reply.hasCall(index) && isJsonObject(toolUse) && typeof toolUse["input"] === "string")
      this.#reply.argumentText(index, toolUse["input"]);
    else this.#grow(delta);
  }

  #stop(index: number): void {
    const block = this.#blocks.get(index);
    if (block === undefined || block.stopped) return;
    block.stopped = true;
    if (this.#reply.hasCall(index)) this.#reply.seal(index);
    else if (block.toolUse !== undefined) this.#providerCall(block.whole["toolUse"]);
    else this.#media(block.whole["image"]);
  }

  #wholeBlock(index: number, { text, toolUse, reasoningContent, citationsContent, image }: JsonObject): void {
    if (typeof text === "string") this.#reply.text(text);
    if (isJsonObject(reasoningContent)) {
      const { reasoningText } = reasoningContent;
      const thought = isJsonObject(reasoningText) ? reasoningText["text"] : undefined;
      if (typeof thought === "string") this.#reply.reasoning(thought);
    }
    const cited = isJsonObject(citationsContent) ? citationsContent["content"] : undefined;
    for (const part of isJsonArray(cited) ? cited : [])
      if (isJsonObject(part) && typeof part["text"] === "string") this.#reply.text(part["text"]);
    this.#media(image);
    if (!isJsonObject(toolUse)) return;
    if (!isOurs(toolUse)) return this.#providerCall(toolUse);
    this.#open(index, toolUse);
    this.#reply.setInput(index, toolUse["input"] ?? {});
    this.#reply.seal(index);
  }

  #open(index: number, { toolUseId, name }: JsonObject): void {
    this.#reply.open(index, {
      id: typeof toolUseId === "string" ? toolUseId : undefined,
      name: typeof name === "string" ? name : undefined,
    });
  }

  #providerCall(toolUse: JsonValue | undefined): void {
    const { toolUseId, name, type, input = {} } = isJsonObject(toolUse) ? toolUse : {};
    this.#reply.providerCall({
      ...(typeof toolUseId === "string" ? { id: toolUseId } : {}),
      name: typeof name === "string" ? name : "",
      kind: typeof type === "string" ? type : "toolUse",
      input,
    });
  }

  #media(image: JsonValue | undefined): void {
    const { format, source } = isJsonObject(image) ? image : {};
    const data = isJsonObject(source) ? source["bytes"] : undefined;
    if (typeof format === "string" && typeof data === "string") this.#reply.media({ type: "image", mediaType: `image/${format}`, data });
  }

  #close(reason: JsonValue | undefined): void {
    if (typeof reason === "string") this.#reply.finish(FINISH.get(reason) ?? "other", reason);
  }

  #count(usage: JsonValue | undefined): void {
    if (isJsonObject(usage)) this.#reply.usage(tokenUsage(usage));
  }

  /** Counts the characters that the reply builder does not see. */
  #grow(json: JsonObject): void {
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
function withInput(block: JsonValue): JsonValue {
  const { toolUse } = isJsonObject(block) ? block : {};
  if (!isJsonObject(block) || !isJsonObject(toolUse) || isJsonObject(toolUse["input"])) return block;
  return { ...block, toolUse: { ...toolUse, input: inputObject(readInput(toolUse["input"])) } };
}

function isOurs({ type }: JsonObject): boolean {
  return type !== "server_tool_use";
}

/** `inputTokens` excludes tokens read from or written to the cache. */
function tokenUsage(usage: JsonObject): Partial<TokenUsage> {
  const { inputTokens: input, outputTokens: output, cacheReadInputTokens: read, cacheWriteInputTokens: write } = usage;
  return countsBesideCache({ input, output, read, write });
}

/** Matches names of errors that `isKnownError` does not know. */
const ERROR_NAME = /(?:exception|error|failure|fault)$/iu;

/** Returns the error that an event's name and payload describe; undefined for every other event. */
function bedrockError(name: string, payload: JsonValue): ToolError | undefined {
  if (!isKnownError(name) && !ERROR_NAME.test(name)) return undefined;
  const { message, Message } = isJsonObject(payload) ? payload : {};
  const text = [message, Message].find((one) => typeof one === "string") ?? "it does not say what is wrong";
  return providerError({ report: `Bedrock reports ${name}: ${text}`, words: [name], text });
}
