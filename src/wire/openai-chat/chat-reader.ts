/** Reads replies of Chat Completions, whole and streamed, from any server that implements it. */
import { ToolError } from "../../core/error.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { endedWell, type ModelEvent, type ModelReply, type TokenUsage } from "../../core/model.ts";
import type { ChatVariant } from "../chat-variants.ts";
import { isFirst, nonEmptyText } from "../read-field.ts";
import { ReplyBuilder } from "../reply-builder.ts";
import type { DecodeOptions, StreamDecoder } from "../wire-format.ts";
import { ChatCalls } from "./chat-calls.ts";
import { chatError } from "./chat-error.ts";
import { refuseDamaged } from "../framing/wire-json.ts";
import { finishReason } from "./finish-reason.ts";
import { ReasoningDetails } from "./reasoning-details.ts";
import type { ContentPart } from "../../core/content.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";

/**
 * Reads one reply; not reusable.
 *
 * The first of several choices is read in full, the others only for their text and log probabilities. A reply without a finish reason ended well if it was
 * whole or ended with `[DONE]`. A refusal is text, with the finish `refusal`.
 */
export class ChatReader implements StreamDecoder {
  readonly #variant: ChatVariant;
  readonly #builder: ReplyBuilder;
  readonly #calls: ChatCalls;
  readonly #details = new ReasoningDetails();
  readonly #text: string[] = [];
  readonly #reasoning: string[] = [];
  readonly #refusal: string[] = [];
  #kept: JsonObject = {};
  #isKnown = false;
  /** Whether the message is sent as deltas. */
  #inDeltas = false;
  #done = false;
  #ended = false;
  readonly #sink: ContentSink = {
    text: (text) => {
      this.#text.push(text);
      this.#builder.text(text);
    },
    reasoning: (text) => {
      this.#reasoning.push(text);
      this.#builder.reasoning(text);
    },
    refusal: (text) => {
      this.#refusal.push(text);
      this.#builder.text(text);
    },
    media: (part) => this.#builder.media(part),
  };

  constructor(variant: ChatVariant, options?: DecodeOptions) {
    this.#variant = variant;
    this.#builder = new ReplyBuilder(options);
    this.#calls = new ChatCalls(this.#builder, variant.keptFields);
  }

  /** @throws ToolError for a body that is an error, or not a reply */
  whole(body: JsonValue): ModelReply {
    if (isJsonObject(body)) this.#chunk(body, true);
    if (!isJsonObject(body) || !isJsonArray(body["choices"]) || body["choices"].length === 0)
      throw new ToolError("model_failed", "The provider's answer is not a reply of Chat Completions: it has no choices.");
    this.#done = true;
    return this.#finish();
  }

  push(piece: JsonValue): readonly ModelEvent[] {
    if (isJsonObject(piece)) this.#chunk(piece, false);
    else if (typeof piece === "string" && piece.trim() === "[DONE]") this.#done = true;
    else if (!this.#done) refuseDamaged(piece);
    return this.#builder.take();
  }

  get isOver(): boolean {
    return this.#done;
  }

  end(): readonly ModelEvent[] {
    this.#finish();
    return this.#builder.take();
  }

  #chunk(chunk: JsonObject, whole: boolean): void {
    const { error, object, id, model, choices } = chunk;
    if (error !== undefined && error !== null) throw chatError(error);
    if (object === "error") throw chatError(chunk);
    if (!this.#isKnown) this.#about(nonEmptyText(id), nonEmptyText(model));
    const usage = chatUsage(chunk);
    if (usage !== undefined) this.#builder.usage(usage);
    const all = isJsonArray(choices) ? choices : [];
    const choice = all.find(isFirst);
    for (const other of all) if (isJsonObject(other) && other !== choice) this.#other(other);
    if (!isJsonObject(choice)) return;
    if (isJsonObject(choice["error"])) throw chatError(choice["error"]);
    const message = this.#messageOf(choice);
    if (isJsonObject(message)) this.#message(message, whole);
    readLogProbability(choice, (sum) => this.#builder.logProbability(0, sum));
    const reason = nonEmptyText(choice["finish_reason"]);
    if (reason !== undefined && this.#builder.finished === undefined) this.#seal(reason);
  }

  /** Returns the delta or message to read. Some servers stream a whole message with an empty delta; others repeat the message after its deltas. */
  #messageOf({ delta, message }: JsonObject): JsonValue | undefined {
    const says = isJsonObject(delta) && Object.entries(delta).some(([key, value]) => key !== "role" && value !== null && value !== "");
    this.#inDeltas ||= says;
    return says || this.#inDeltas ? delta : (message ?? delta);
  }

  #other(choice: JsonObject): void {
    const { index, delta, message = delta } = choice;
    if (typeof index !== "number" || index < 1) return;
    const text = (said: string): void => this.#builder.otherText(index, said);
    this.#builder.otherText(index, "");
    if (isJsonObject(message)) readContent(message["content"], { text, refusal: text, reasoning: () => {}, media: () => {} });
    readLogProbability(choice, (sum) => this.#builder.logProbability(index, sum));
  }

  /** Records id and model, which every chunk repeats. */
  #about(id: string | undefined, model: string | undefined): void {
    this.#builder.about({ id, model });
    this.#isKnown = id !== undefined && model !== undefined;
  }

  #message(message: JsonObject, whole: boolean): void {
    const { content, refusal, tool_calls: calls, function_call: legacy, reasoning_details: details, images, audio } = message;
    this.#sink.reasoning(
      nonEmptyText(message["reasoning_content"]) ?? nonEmptyText(message["reasoning"]) ?? nonEmptyText(message["thinking"]) ?? "",
    );
    if (isJsonArray(details)) for (const detail of details) this.#details.add(detail);
    readContent(content, this.#sink);
    if (typeof refusal === "string") this.#sink.refusal(refusal);
    if (isJsonObject(audio)) this.#sink.text(nonEmptyText(audio["transcript"]) ?? "");
    if (isJsonArray(images)) for (const image of images) if (isJsonObject(image)) readImage(image, this.#sink);
    if (isJsonArray(calls)) this.#calls.add(calls, whole);
    if (isJsonObject(legacy)) this.#calls.addLegacy(legacy);
    for (const field of this.#variant.keptFields) {
      const value = message[field];
      if (value !== undefined && value !== null) this.#kept = { ...this.#kept, [field]: value };
    }
  }

  #seal(reason: string): void {
    const finish = finishReason(reason);
    this.#builder.finish(finish === "stop" && this.#isRefusal ? "refusal" : finish, reason);
    if (endedWell(finish) && !this.#isRefusal) this.#calls.sealAll();
  }

  get #isRefusal(): boolean {
    return this.#refusal.some((text) => text !== "") && !this.#calls.hasCalls;
  }

  #finish(): ModelReply {
    if (!this.#ended) {
      this.#ended = true;
      if (this.#builder.finished === undefined && this.#done) this.#builder.finish(this.#isRefusal ? "refusal" : "stop");
      const native = this.#native();
      if (native !== undefined) this.#builder.native({ format: this.#variant.name, blocks: [native] });
    }
    return this.#builder.end();
  }

  /** Returns the message to be sent back; undefined if Haft's types can express all of it. */
  #native(): JsonObject | undefined {
    const refusal = this.#refusal.join("");
    const extra = { ...(refusal === "" ? {} : { refusal }), ...this.#kept, ...this.#reasoningFields() };
    if (Object.keys(extra).length === 0 && !this.#calls.hasMore) return undefined;
    const text = this.#text.join("");
    return {
      role: "assistant",
      content: text === "" && (this.#calls.hasCalls || refusal !== "") ? null : text,
      ...extra,
      ...(this.#calls.hasCalls ? { tool_calls: this.#calls.written() } : {}),
    };
  }

  #reasoningFields(): JsonObject {
    const { reasoning: rule } = this.#variant;
    if (rule === undefined || (rule.when === "calls" && !this.#calls.hasCalls)) return {};
    const { blocks } = this.#details;
    if (rule.field === "reasoning_details" && blocks.length > 0) return { reasoning_details: blocks };
    const reasoning = this.#reasoning.join("");
    if (reasoning === "") return {};
    if (rule.field === "chunks") return { content: chunks(reasoning, this.#text.join("")) };
    return { [rule.field === "reasoning_details" ? "reasoning" : rule.field]: reasoning };
  }
}

function chunks(thinking: string, text: string): readonly JsonObject[] {
  const thought = { type: "thinking", thinking: [{ type: "text", text: thinking }] };
  return text === "" ? [thought] : [thought, { type: "text", text }];
}

/** Returns the usage of a chunk or body, wherever its provider puts it; undefined if there is none. */
function chatUsage(chunk: JsonObject): Partial<TokenUsage> | undefined {
  const { usage, x_groq: groq, choices } = chunk;
  const [choice] = Array.isArray(choices) ? (choices as readonly JsonValue[]) : []; // Array.isArray narrows to any[]
  const found = [usage, isJsonObject(groq) ? groq["usage"] : undefined, isJsonObject(choice) ? choice["usage"] : undefined].find(
    isJsonObject,
  );
  return found === undefined ? undefined : readUsage(found);
}

function readUsage(usage: JsonObject): Partial<TokenUsage> {
  const input = count(usage, "prompt_tokens") ?? count(usage, "input_tokens");
  const written = count(usage, "completion_tokens") ?? count(usage, "output_tokens");
  const total = count(usage, "total_tokens") ?? 0;
  const inputDetails = usage["prompt_tokens_details"];
  const outputDetails = usage["completion_tokens_details"];
  const cached = count(inputDetails, "cached_tokens") ?? count(usage, "prompt_cache_hit_tokens") ?? count(usage, "cached_tokens");
  const cacheWrite = count(inputDetails, "cache_write_tokens");
  const reasoning = count(outputDetails, "reasoning_tokens");
  return omitUndefined({
    inputTokens: input,
    // xAI and Gemini count reasoning tokens only in the total
    outputTokens: written === undefined ? undefined : Math.max(written, total - (input ?? total)),
    cachedInputTokens: cached,
    cacheWriteTokens: cacheWrite,
    reasoningTokens: reasoning,
  });
}

function count(value: JsonValue | undefined, key: string): number | undefined {
  const number = isJsonObject(value) ? value[key] : undefined;
  return typeof number === "number" && number >= 0 ? number : undefined;
}

/**
 * Calls `tell` with the summed log probability of the tokens of a choice, or of a chunk of one, if there are any.
 *
 * `logprobs: { content: [{ logprob }], refusal }`; Together's form is `logprobs: { token_logprobs: [] }`.
 */
function readLogProbability({ logprobs }: JsonObject, tell: (sum: number) => void): void {
  if (!isJsonObject(logprobs)) return;
  const { content, refusal, token_logprobs: plain } = logprobs;
  const values = [content, refusal, plain].flatMap((tokens) => (isJsonArray(tokens) ? tokens.map(valueOf) : []));
  const known = values.filter((value) => value !== undefined);
  if (known.length > 0) tell(known.reduce((sum, value) => sum + value, 0));
}

function valueOf(token: JsonValue): number | undefined {
  const value = isJsonObject(token) ? token["logprob"] : token;
  return typeof value === "number" ? value : undefined;
}

/** Receives the content of a message, piece by piece. */
interface ContentSink {
  text(text: string): void;
  reasoning(text: string): void;
  refusal(text: string): void;
  media(part: ContentPart): void;
}

function readContent(content: JsonValue | undefined, sink: ContentSink): void {
  if (typeof content === "string") sink.text(content);
  else if (isJsonArray(content)) for (const chunk of content) if (isJsonObject(chunk)) readChunk(chunk, sink);
}

function readChunk(chunk: JsonObject, sink: ContentSink): void {
  const { type, text, refusal, thinking } = chunk;
  if (type === "thinking" || type === "reasoning") sink.reasoning(plainText(thinking ?? text));
  else if (typeof refusal === "string") sink.refusal(refusal);
  else if (type === "image_url") readImage(chunk, sink);
  else if (typeof text === "string") sink.text(text);
}

/** Returns thinking that is a text, or an array of text chunks. */
function plainText(value: JsonValue | undefined): string {
  if (typeof value === "string") return value;
  if (!isJsonArray(value)) return "";
  return value.map((chunk) => (isJsonObject(chunk) && typeof chunk["text"] === "string" ? chunk["text"] : "")).join("");
}

const DATA_URL = /^data:([a-z]+\/[a-z0-9.+-]{1,64});base64,/u;

/** Reads an image: with its bytes if it is a data URL, else as a file with its URL. */
function readImage({ image_url: image }: JsonObject, sink: ContentSink): void {
  const url = isJsonObject(image) ? image["url"] : image;
  if (typeof url !== "string") return;
  const [head, mediaType] = DATA_URL.exec(url.slice(0, 128)) ?? [];
  if (head !== undefined && mediaType !== undefined) sink.media({ type: "image", mediaType, data: url.slice(head.length) });
  else if (!url.startsWith("data:")) sink.media({ type: "file", uri: url });
}
