/** Reads replies of Chat Completions, whole and streamed, from any server that implements it. */
import { ToolError } from "../../core/error.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { endedWell, type ModelEvent, type ModelReply, type TokenUsage } from "../../core/model.ts";
import type { ChatVariant } from "../chat-variants.ts";
import { asIndex, isFirstCandidate, asNonEmptyString } from "../read-field.ts";
import { ReplyBuilder } from "../reply-builder.ts";
import type { DecodeOptions, StreamDecoder } from "../wire-format.ts";
import { ChatCalls } from "./chat-calls.ts";
import { chatError } from "./chat-error.ts";
import { checkStreamPiece } from "../framing/wire-json.ts";
import { toFinishReason } from "./finish-reason.ts";
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
  #keptFields: JsonObject = {};
  #hasMetadata = false;
  /** Whether the message is sent as deltas. */
  #hasDeltas = false;
  #done = false;
  #ended = false;
  readonly #sink: ContentSink = {
    text: (text) => {
      this.#text.push(text);
      this.#builder.addText(text);
    },
    reasoning: (text) => {
      this.#reasoning.push(text);
      this.#builder.addReasoning(text);
    },
    refusal: (text) => {
      this.#refusal.push(text);
      this.#builder.addText(text);
    },
    media: (part) => this.#builder.addMedia(part),
  };

  constructor(variant: ChatVariant, options?: DecodeOptions) {
    this.#variant = variant;
    this.#builder = new ReplyBuilder(options);
    this.#calls = new ChatCalls(this.#builder, variant.keptFields);
  }

  /** @throws ToolError for a body that is an error, or not a reply */
  readWhole(body: JsonValue): ModelReply {
    if (isJsonObject(body)) this.#readChunk(body, true);
    if (!isJsonObject(body) || !isJsonArray(body["choices"]) || body["choices"].length === 0)
      throw new ToolError("model_failed", "The provider's answer is not a reply of Chat Completions: it has no choices.");
    this.#done = true;
    return this.#buildReply();
  }

  push(piece: JsonValue): readonly ModelEvent[] {
    if (isJsonObject(piece)) this.#readChunk(piece, false);
    else if (typeof piece === "string" && piece.trim() === "[DONE]") this.#done = true;
    else if (!this.#done) checkStreamPiece(piece);
    return this.#builder.takeEvents();
  }

  get isOver(): boolean {
    return this.#done;
  }

  end(): readonly ModelEvent[] {
    this.#buildReply();
    return this.#builder.takeEvents();
  }

  #readChunk(chunk: JsonObject, whole: boolean): void {
    const { error, object, id, model, choices } = chunk;
    if (error !== undefined && error !== null) throw chatError(error);
    if (object === "error") throw chatError(chunk);
    if (!this.#hasMetadata) this.#setMetadata(asNonEmptyString(id), asNonEmptyString(model));
    const usage = chatUsage(chunk);
    if (usage !== undefined) this.#builder.addUsage(usage);
    const all = isJsonArray(choices) ? choices : [];
    const choice = all.find(isFirstCandidate);
    for (const other of all) if (isJsonObject(other) && other !== choice) this.#readOtherChoice(other);
    if (!isJsonObject(choice)) return;
    if (isJsonObject(choice["error"])) throw chatError(choice["error"]);
    const message = this.#pickMessage(choice);
    if (isJsonObject(message)) this.#readMessage(message, whole);
    readLogProbability(choice, (sum) => this.#builder.addLogProbability(0, sum));
    const reason = asNonEmptyString(choice["finish_reason"]);
    if (reason !== undefined && this.#builder.finishReason === undefined) this.#setFinish(reason);
  }

  /** Returns the delta or message to read. Some servers stream a whole message with an empty delta; others repeat the message after its deltas. */
  #pickMessage({ delta, message }: JsonObject): JsonValue | undefined {
    const hasContent =
      isJsonObject(delta) && Object.entries(delta).some(([key, value]) => key !== "role" && value !== null && value !== "");
    this.#hasDeltas ||= hasContent;
    return hasContent || this.#hasDeltas ? delta : (message ?? delta);
  }

  #readOtherChoice(choice: JsonObject): void {
    const { delta, message = delta } = choice;
    const index = asIndex(choice["index"]);
    if (index === undefined || index < 1) return;
    const text = (piece: string): void => this.#builder.addCandidateText(index, piece);
    this.#builder.addCandidateText(index, "");
    if (isJsonObject(message)) readContent(message["content"], { text, refusal: text, reasoning: () => {}, media: () => {} });
    readLogProbability(choice, (sum) => this.#builder.addLogProbability(index, sum));
  }

  /** Records id and model, which every chunk repeats. */
  #setMetadata(id: string | undefined, model: string | undefined): void {
    this.#builder.setMetadata({ id, model });
    this.#hasMetadata = id !== undefined && model !== undefined;
  }

  #readMessage(message: JsonObject, whole: boolean): void {
    const { content, refusal, tool_calls: calls, function_call: legacy, reasoning_details: details, images, audio } = message;
    this.#sink.reasoning(
      asNonEmptyString(message["reasoning_content"]) ??
        asNonEmptyString(message["reasoning"]) ??
        asNonEmptyString(message["reasoning_text"]) ??
        asNonEmptyString(message["thinking"]) ??
        "",
    );
    if (isJsonArray(details)) for (const detail of details) this.#details.add(detail);
    readContent(content, this.#sink);
    if (typeof refusal === "string") this.#sink.refusal(refusal);
    if (isJsonObject(audio)) this.#sink.text(asNonEmptyString(audio["transcript"]) ?? "");
    if (isJsonArray(images)) for (const image of images) if (isJsonObject(image)) readImage(image, this.#sink);
    if (isJsonArray(calls)) this.#calls.add(calls, whole);
    else if (isJsonObject(calls)) this.#calls.add([calls], whole);
    if (isJsonObject(legacy)) this.#calls.addLegacy(legacy);
    for (const field of this.#variant.keptFields) {
      const value = message[field];
      if (value !== undefined && value !== null) this.#keptFields = { ...this.#keptFields, [field]: value };
    }
  }

  #setFinish(reason: string): void {
    const finish = toFinishReason(reason);
    this.#builder.setFinish(finish === "stop" && this.#isRefusal ? "refusal" : finish, reason);
    if (endedWell(finish) && !this.#isRefusal) this.#calls.sealAll();
  }

  get #isRefusal(): boolean {
    return this.#refusal.some((text) => text !== "") && !this.#calls.hasCalls;
  }

  #buildReply(): ModelReply {
    if (!this.#ended) {
      this.#ended = true;
      if (this.#builder.finishReason === undefined && this.#done) this.#builder.setFinish(this.#isRefusal ? "refusal" : "stop");
      const native = this.#buildNativeMessage();
      if (native !== undefined) this.#builder.setNative({ format: this.#variant.name, blocks: [native] });
    }
    return this.#builder.endReply();
  }

  /** Returns the message to be sent back; undefined if Haft's types can express all of it. */
  #buildNativeMessage(): JsonObject | undefined {
    const refusal = this.#refusal.join("");
    const extra = { ...(refusal === "" ? {} : { refusal }), ...this.#keptFields, ...this.#reasoningFields() };
    if (Object.keys(extra).length === 0 && !this.#calls.needsNative) return undefined;
    const text = this.#text.join("");
    return {
      role: "assistant",
      content: text === "" && (this.#calls.hasCalls || refusal !== "") ? null : text,
      ...extra,
      ...(this.#calls.hasCalls ? { tool_calls: this.#calls.toToolCalls() } : {}),
    };
  }

  #reasoningFields(): JsonObject {
    const { reasoning: rule } = this.#variant;
    if (rule === undefined || (rule.when === "calls" && !this.#calls.hasCalls)) return {};
    const { blocks } = this.#details;
    if (rule.field === "reasoning_details" && blocks.length > 0) return { reasoning_details: blocks };
    const reasoning = this.#reasoning.join("");
    if (reasoning === "") return {};
    if (rule.field === "chunks") return { content: reasoningChunks(reasoning, this.#text.join("")) };
    return { [rule.field === "reasoning_details" ? "reasoning" : rule.field]: reasoning };
  }
}

function reasoningChunks(thinking: string, text: string): readonly JsonObject[] {
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
  const input = countField(usage, "prompt_tokens") ?? countField(usage, "input_tokens");
  const written = countField(usage, "completion_tokens") ?? countField(usage, "output_tokens");
  const total = countField(usage, "total_tokens") ?? 0;
  const inputDetails = usage["prompt_tokens_details"];
  const outputDetails = usage["completion_tokens_details"];
  const cached =
    countField(inputDetails, "cached_tokens") ?? countField(usage, "prompt_cache_hit_tokens") ?? countField(usage, "cached_tokens");
  const cacheWrite = countField(inputDetails, "cache_write_tokens");
  const reasoning = countField(outputDetails, "reasoning_tokens");
  return omitUndefined({
    inputTokens: input,
    // xAI and Gemini count reasoning tokens only in the total
    outputTokens: written === undefined ? undefined : Math.max(written, total - (input ?? total)),
    cachedInputTokens: cached,
    cacheWriteTokens: cacheWrite,
    reasoningTokens: reasoning,
  });
}

function countField(value: JsonValue | undefined, key: string): number | undefined {
  const number = isJsonObject(value) ? value[key] : undefined;
  return typeof number === "number" && number >= 0 ? number : undefined;
}

/**
 * Calls `report` with the summed log probability of the tokens of a choice, or of a chunk of one, if there are any.
 *
 * `logprobs: { content: [{ logprob }], refusal }`; Together's form is `logprobs: { token_logprobs: [] }`.
 */
function readLogProbability({ logprobs }: JsonObject, report: (sum: number) => void): void {
  if (!isJsonObject(logprobs)) return;
  const { content, refusal, token_logprobs: plain } = logprobs;
  const values = [content, refusal, plain].flatMap((tokens) => (isJsonArray(tokens) ? tokens.map(logProbabilityOf) : []));
  const known = values.filter((value) => value !== undefined);
  if (known.length > 0) report(known.reduce((sum, value) => sum + value, 0));
}

function logProbabilityOf(token: JsonValue): number | undefined {
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
  else if (isJsonObject(content)) readChunk(content, sink);
  else if (isJsonArray(content)) for (const chunk of content) readContent(isJsonArray(chunk) ? undefined : chunk, sink);
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
