/** Reads messages of Anthropic's Messages API, whole and streamed. */
import { ToolError } from "../../core/error.ts";
import { DEFAULT_MAX_CHARS, isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { MAX_ID_LENGTH } from "../../core/recording/read-event.ts";
import { endedWell, type FinishReason, type ModelEvent, type ModelReply, type TokenUsage } from "../../core/model.ts";
import { ANTHROPIC } from "../anthropic-conversation.ts";
import { ReplyBuilder } from "../reply-builder.ts";
import type { DecodeOptions, StreamDecoder } from "../wire-format.ts";
import { ContentBlock, needsNative } from "./content-block.ts";
import { providerError } from "../provider-error.ts";
import { refuseDamaged } from "../framing/wire-json.ts";
import { countsBesideCache, nonEmptyText, textOf } from "../read-field.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { wordsFor } from "../../core/base/wording.ts";

/** @see https://docs.anthropic.com/en/api/handling-stop-reasons */
const FINISH: ReadonlyMap<string, FinishReason> = new Map([
  ...wordsFor("stop", "end_turn stop_sequence"),
  ...wordsFor("calls", "tool_use"),
  ...wordsFor("length", "max_tokens model_context_window_exceeded"),
  ...wordsFor("pause", "pause_turn compaction"),
  ...wordsFor("refusal", "refusal"),
]);
const PROVIDER_CALLS: ReadonlySet<string> = new Set(["server_tool_use", "mcp_tool_use"]);

/** Reads a message, from the events of a stream or whole. Events after its end are ignored. */
export class MessageReader implements StreamDecoder {
  readonly #reply: ReplyBuilder;
  readonly #maxChars: number;
  #blocks: ContentBlock[] = [];
  /** The position in `#blocks` of the current block, by its index in the stream. */
  #open = new Map<JsonValue | undefined, number>();
  #usage: JsonObject = {};
  #container: string | undefined;
  #chars = 0;
  #begun = false;
  #over = false;

  constructor(options: DecodeOptions = {}) {
    this.#reply = new ReplyBuilder(options);
    this.#maxChars = options.maxChars ?? DEFAULT_MAX_CHARS;
  }

  whole(body: JsonValue): ModelReply {
    if (isJsonObject(body) && body["type"] === "error") throw anthropicError(body["error"]);
    if (!isJsonObject(body) || !isJsonArray(body["content"]))
      throw new ToolError("model_failed", "The answer of Anthropic is not a message: it has no content.");
    this.#begin(body);
    return this.#end();
  }

  push(piece: JsonValue): readonly ModelEvent[] {
    if (!this.#over && isJsonObject(piece)) this.#read(piece);
    else if (!this.#over) refuseDamaged(piece);
    return this.#reply.take();
  }

  get isOver(): boolean {
    return this.#over;
  }

  end(): readonly ModelEvent[] {
    this.#over = true;
    this.#end();
    return this.#reply.take();
  }

  #read(event: JsonObject): void {
    const { type, index, message, content_block: block, delta, usage, error } = event;
    if (type === "message_start" && isJsonObject(message)) this.#begin(message);
    else if (type === "content_block_start" && isJsonObject(block)) this.#start(index, new ContentBlock(block), block);
    else if (type === "content_block_delta" && isJsonObject(delta)) this.#add(index, delta);
    else if (type === "content_block_stop") this.#stop(index);
    else if (type === "message_delta") this.#close(delta, usage);
    else if (type === "message_stop") this.#over = true;
    else if (type === "error") throw anthropicError(error);
  }

  /** Begins a message, which may have whole blocks already. A second beginning replaces the first: a gateway switched to another model. */
  #begin(message: JsonObject): void {
    if (this.#begun) this.#void();
    this.#begun = true;
    const { id, model, content, usage } = message;
    this.#reply.about({ id: typeof id === "string" ? id : undefined, model: typeof model === "string" ? model : undefined });
    for (const [place, block] of (isJsonArray(content) ? content : []).entries()) {
      if (!isJsonObject(block)) continue;
      const index = `whole ${place}`;
      this.#start(index, new ContentBlock(block), block);
      this.#stop(index);
    }
    this.#close(message, usage);
  }

  #void(): void {
    this.#reply.void("The provider began the message again.");
    this.#blocks = [];
    this.#open = new Map();
    this.#usage = {};
    this.#container = undefined;
    this.#chars = 0;
  }

  #start(index: JsonValue | undefined, block: ContentBlock, start: JsonObject): void {
    this.#grow(start);
    const key = this.#blocks.push(block) - 1;
    this.#open.set(index, key);
    if (block.type === "text") this.#reply.text(block.text("text"));
    else if (block.type === "thinking") this.#reply.reasoning(block.text("thinking"));
    else if (block.type === "tool_use") this.#reply.open(key, { id: block.text("id"), name: block.toolName, native: block.answered });
  }

  #add(index: JsonValue | undefined, delta: JsonObject): void {
    if (!this.#open.has(index)) {
      const untold = ContentBlock.of(delta);
      if (untold === undefined) return;
      this.#start(index, untold, {});
    }
    const key = this.#open.get(index) ?? -1;
    const block = this.#blocks[key];
    if (block === undefined || block.stopped) return;
    block.add(delta);
    const { type, text, thinking, partial_json: json } = delta;
    if (type === "text_delta" && typeof text === "string") this.#reply.text(text);
    else if (type === "thinking_delta" && typeof thinking === "string") this.#reply.reasoning(thinking);
    else if (block.type === "tool_use" && typeof json === "string") this.#reply.argumentText(key, json);
    else this.#grow(delta);
  }

  #stop(index: JsonValue | undefined): void {
    const key = this.#open.get(index) ?? -1;
    const block = this.#blocks[key];
    if (block === undefined || block.stopped) return;
    block.stopped = true;
    this.#finishBlock(block, key);
  }

  #finishBlock(block: ContentBlock, key: number): void {
    if (block.type === "tool_use") {
      this.#reply.setInput(key, block.toolInput);
      this.#reply.seal(key);
    } else if (PROVIDER_CALLS.has(block.type)) {
      const { input = {} } = block.whole;
      const id = block.text("id");
      this.#reply.providerCall({ ...(id === "" ? {} : { id }), name: block.text("name"), kind: block.type, input });
    }
  }

  #close(message: JsonValue | undefined, usage: JsonValue | undefined): void {
    const { stop_reason: reason, stop_details: details, container } = isJsonObject(message) ? message : {};
    const id = isJsonObject(container) ? nonEmptyText(container["id"]) : undefined;
    if (id !== undefined && id.length <= MAX_ID_LENGTH) this.#container = id;
    if (typeof reason === "string") this.#reply.finish(FINISH.get(reason) ?? "other", detailOf(reason, details));
    if (!isJsonObject(usage)) return;
    const told = Object.entries(usage).filter(([, value]) => value !== null);
    this.#usage = { ...this.#usage, ...Object.fromEntries(told) }; // later numbers are totals, not increments
    this.#reply.usage(tokenUsage(this.#usage));
  }

  #end(): ModelReply {
    const well = this.#reply.finished !== undefined && endedWell(this.#reply.finished);
    if (well) for (const index of this.#open.keys()) this.#stop(index);
    const blocks = this.#blocks.filter(({ stopped }) => stopped);
    const container = this.#container;
    if (needsNative(blocks) || container !== undefined)
      this.#reply.native({ format: ANTHROPIC, blocks: blocks.map(({ whole }) => whole), ...omitUndefined({ container }) });
    return this.#reply.end();
  }

  /** Counts the characters that the reply builder does not see. */
  #grow(json: JsonObject): void {
    this.#chars += JSON.stringify(json).length;
    if (this.#chars > this.#maxChars)
      throw new ToolError("too_large", `A message of the model has more than ${this.#maxChars} characters.`);
  }
}

/** Returns the stop reason, with the explanation or else the category of a refusal. */
function detailOf(reason: string, details: JsonValue | undefined): string {
  const { explanation, category } = isJsonObject(details) ? details : {};
  const why = nonEmptyText(explanation) ?? nonEmptyText(category);
  return why === undefined ? reason : `${reason}: ${why}`;
}

/** `input_tokens` excludes tokens read from or written to the cache. */
function tokenUsage(usage: JsonObject): Partial<TokenUsage> {
  const { input_tokens: input, output_tokens: output, cache_read_input_tokens: read, cache_creation_input_tokens: write } = usage;
  const { output_tokens_details: details } = usage;
  const thinking = isJsonObject(details) ? details["thinking_tokens"] : undefined;
  return countsBesideCache({ input, output, read, write, thinking });
}

/** Converts the error in `{ type: "error", error: { type, message } }`. */
function anthropicError(error: JsonValue | undefined): ToolError {
  const { type, message } = isJsonObject(error) ? error : {};
  const text = textOf(message) ?? "it does not say what is wrong";
  const word = textOf(type);
  return providerError({ report: `Anthropic reports ${word ?? "an error"}: ${text}`, words: word === undefined ? [] : [word], text });
}
