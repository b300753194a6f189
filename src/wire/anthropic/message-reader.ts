/** Reads messages of Anthropic's Messages API, whole and streamed. */
import { ToolError } from "../../core/error.ts";
import { DEFAULT_MAX_CHARS, isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { MAX_ID_LENGTH } from "../../core/recording/read-event.ts";
import { endedWell, type FinishReason, type ModelEvent, type ModelReply, type TokenUsage } from "../../core/model.ts";
import { ANTHROPIC } from "../anthropic-conversation.ts";
import { argumentText } from "../join-arguments.ts";
import { ReplyBuilder } from "../reply-builder.ts";
import type { DecodeOptions, StreamDecoder } from "../wire-format.ts";
import { ContentBlock, needsNative } from "./content-block.ts";
import { providerError } from "../provider-error.ts";
import { checkStreamPiece } from "../framing/wire-json.ts";
import { toFinishReason } from "../openai-chat/finish-reason.ts";
import { tokenCountsWithCache, asNonEmptyString, asString } from "../read-field.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { wordEntries } from "../../core/base/wording.ts";

/** @see https://docs.anthropic.com/en/api/handling-stop-reasons */
const FINISH: ReadonlyMap<string, FinishReason> = new Map([
  ...wordEntries("stop", "end_turn stop_sequence"),
  ...wordEntries("calls", "tool_use"),
  ...wordEntries("length", "max_tokens model_context_window_exceeded"),
  ...wordEntries("pause", "pause_turn compaction"),
  ...wordEntries("refusal", "refusal"),
]);
const PROVIDER_CALLS: ReadonlySet<string> = new Set(["server_tool_use", "mcp_tool_use"]);

/** Reads a message, from the events of a stream or whole. Events after its end are ignored. */
export class MessageReader implements StreamDecoder {
  readonly #reply: ReplyBuilder;
  readonly #maxChars: number;
  #blocks: ContentBlock[] = [];
  /** The position in `#blocks` of the current block, by its index in the stream. */
  #blockByIndex = new Map<JsonValue | undefined, number>();
  #usage: JsonObject = {};
  #container: string | undefined;
  #chars = 0;
  #isStarted = false;
  #isEnded = false;

  constructor(options: DecodeOptions = {}) {
    this.#reply = new ReplyBuilder(options);
    this.#maxChars = options.maxChars ?? DEFAULT_MAX_CHARS;
  }

  readWhole(body: JsonValue): ModelReply {
    if (isJsonObject(body) && body["type"] === "error") throw anthropicError(body["error"]);
    if (!isJsonObject(body) || !isJsonArray(body["content"]))
      throw new ToolError("model_failed", "The answer of Anthropic is not a message: it has no content.");
    this.#startMessage(body);
    return this.#buildReply();
  }

  push(piece: JsonValue): readonly ModelEvent[] {
    if (!this.#isEnded && isJsonObject(piece)) this.#readEvent(piece);
    else if (!this.#isEnded) checkStreamPiece(piece);
    return this.#reply.takeEvents();
  }

  get isOver(): boolean {
    return this.#isEnded;
  }

  end(): readonly ModelEvent[] {
    this.#isEnded = true;
    this.#buildReply();
    return this.#reply.takeEvents();
  }

  #readEvent(event: JsonObject): void {
    const { type, index, message, content_block: block, delta, usage, error } = event;
    if (type === "message_start" && isJsonObject(message)) this.#startMessage(message);
    else if (type === "content_block_start" && isJsonObject(block)) this.#startBlock(index, new ContentBlock(block), block);
    else if (type === "content_block_delta" && isJsonObject(delta)) this.#addDelta(index, delta);
    else if (type === "content_block_stop") this.#stopBlock(index);
    else if (type === "message_delta") this.#readMessageEnd(delta, usage);
    else if (type === "message_stop") this.#isEnded = true;
    else if (type === "error") throw anthropicError(error);
  }

  /** Begins a message, which may have whole blocks already. A second beginning replaces the first: a gateway switched to another model. */
  #startMessage(message: JsonObject): void {
    if (this.#isStarted) this.#voidMessage();
    this.#isStarted = true;
    const { id, model, content, usage } = message;
    this.#reply.setMetadata({ id: typeof id === "string" ? id : undefined, model: typeof model === "string" ? model : undefined });
    for (const [place, block] of (isJsonArray(content) ? content : []).entries()) {
      if (!isJsonObject(block)) continue;
      const index = `whole ${place}`;
      this.#startBlock(index, new ContentBlock(block), block);
      this.#stopBlock(index);
    }
    this.#readMessageEnd(message, usage);
  }

  #voidMessage(): void {
    this.#reply.voidReply("The provider began the message again.");
    this.#blocks = [];
    this.#blockByIndex = new Map();
    this.#usage = {};
    this.#container = undefined;
    this.#chars = 0;
  }

  #startBlock(index: JsonValue | undefined, block: ContentBlock, start: JsonObject): void {
    this.#countChars(start);
    const key = this.#blocks.push(block) - 1;
    this.#blockByIndex.set(index, key);
    if (block.type === "text") this.#reply.addText(block.textField("text"));
    else if (block.type === "thinking") this.#reply.addReasoning(block.textField("thinking"));
    else if (block.type === "tool_use")
      this.#reply.openCall(key, { id: block.textField("id"), name: block.toolName, native: block.answerFields });
  }

  #addDelta(index: JsonValue | undefined, delta: JsonObject): void {
    if (!this.#blockByIndex.has(index)) {
      const untold = ContentBlock.fromDelta(delta);
      if (untold === undefined) return;
      this.#startBlock(index, untold, {});
    }
    const key = this.#blockByIndex.get(index) ?? -1;
    const block = this.#blocks[key];
    if (block === undefined || block.stopped) return;
    block.addDelta(delta);
    const { type, text, thinking, partial_json: piece } = delta;
    const json = argumentText(piece);
    if (type === "text_delta" && typeof text === "string") this.#reply.addText(text);
    else if (type === "thinking_delta" && typeof thinking === "string") this.#reply.addReasoning(thinking);
    else if (block.type === "tool_use" && json !== undefined) this.#reply.addArgumentText(key, json);
    else this.#countChars(delta);
  }

  #stopBlock(index: JsonValue | undefined): void {
    const key = this.#blockByIndex.get(index) ?? -1;
    const block = this.#blocks[key];
    if (block === undefined || block.stopped) return;
    block.stopped = true;
    this.#finishBlock(block, key);
  }

  #finishBlock(block: ContentBlock, key: number): void {
    if (block.type === "tool_use") {
      if (!block.isStreamed) this.#reply.setInput(key, block.toolInput);
      this.#reply.sealCall(key);
    } else if (PROVIDER_CALLS.has(block.type)) {
      const { input = {} } = block.completeBlock;
      const id = block.textField("id");
      this.#reply.addProviderCall({ ...(id === "" ? {} : { id }), name: block.textField("name"), kind: block.type, input });
    }
  }

  #readMessageEnd(message: JsonValue | undefined, usage: JsonValue | undefined): void {
    const { stop_reason: reason, stop_details: details, container } = isJsonObject(message) ? message : {};
    const id = isJsonObject(container) ? asNonEmptyString(container["id"]) : undefined;
    if (id !== undefined && id.length <= MAX_ID_LENGTH) this.#container = id;
    if (typeof reason === "string") this.#reply.setFinish(FINISH.get(reason) ?? toFinishReason(reason), detailOf(reason, details));
    if (!isJsonObject(usage)) return;
    const knownCounts = Object.entries(usage).filter(([, value]) => value !== null);
    this.#usage = { ...this.#usage, ...Object.fromEntries(knownCounts) }; // later numbers are totals, not increments
    this.#reply.addUsage(tokenUsage(this.#usage));
  }

  #buildReply(): ModelReply {
    const well = this.#reply.finishReason !== undefined && endedWell(this.#reply.finishReason);
    if (well) for (const index of this.#blockByIndex.keys()) this.#stopBlock(index);
    const blocks = this.#blocks.filter(({ stopped }) => stopped);
    const container = this.#container;
    if (needsNative(blocks) || container !== undefined)
      this.#reply.setNative({
        format: ANTHROPIC,
        blocks: blocks.map(({ completeBlock }) => completeBlock),
        ...omitUndefined({ container }),
      });
    return this.#reply.endReply();
  }

  /** Counts the characters that the reply builder does not see. */
  #countChars(json: JsonObject): void {
    this.#chars += JSON.stringify(json).length;
    if (this.#chars > this.#maxChars)
      throw new ToolError("too_large", `A message of the model has more than ${this.#maxChars} characters.`);
  }
}

/** Returns the stop reason, with the explanation or else the category of a refusal. */
function detailOf(reason: string, details: JsonValue | undefined): string {
  const { explanation, category } = isJsonObject(details) ? details : {};
  const why = asNonEmptyString(explanation) ?? asNonEmptyString(category);
  return why === undefined ? reason : `${reason}: ${why}`;
}

/** `input_tokens` excludes tokens read from or written to the cache. */
function tokenUsage(usage: JsonObject): Partial<TokenUsage> {
  const { input_tokens: input, output_tokens: output, cache_read_input_tokens: read, cache_creation_input_tokens: write } = usage;
  const { output_tokens_details: details } = usage;
  const thinking = isJsonObject(details) ? details["thinking_tokens"] : undefined;
  return tokenCountsWithCache({ input, output, read, write, thinking });
}

/** Converts the error in `{ type: "error", error: { type, message } }`. */
function anthropicError(error: JsonValue | undefined): ToolError {
  const { type, message } = isJsonObject(error) ? error : {};
  const text = asString(message) ?? "it does not say what is wrong";
  const word = asString(type);
  return providerError({ report: `Anthropic reports ${word ?? "an error"}: ${text}`, codes: word === undefined ? [] : [word], text });
}
