/** Reads replies of Cohere's chat API, version 2, whole and streamed. */
import { ToolError } from "../../core/error.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { ModelEvent, ModelReply, TokenUsage } from "../../core/model.ts";
import { chatError } from "../openai-chat/chat-error.ts";
import { checkStreamPiece } from "../framing/wire-json.ts";
import { toFinishReason } from "../openai-chat/finish-reason.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";
import { isEmptyInput, joinArguments } from "../join-arguments.ts";
import { asIndex, tokenCounts } from "../read-field.ts";
import { ReplyBuilder } from "../reply-builder.ts";
import type { DecodeOptions, StreamDecoder } from "../wire-format.ts";

export const COHERE_CHAT = "cohere-chat";

interface CohereCall {
  id: string;
  name: string;
  pieces: string[];
  /** Whether the stream said that it is complete. */
  ended: boolean;
}

/** Reads one reply; not reusable. The plan before the calls is reported as reasoning, and is kept in the native message. */
export class CohereReader implements StreamDecoder {
  readonly #builder: ReplyBuilder;
  readonly #plan: string[] = [];
  readonly #thinking: string[] = [];
  readonly #text: string[] = [];
  /** The calls by their key in the builder: their number. */
  readonly #calls = new Map<number, CohereCall>();
  /** The key of the latest call at each index of the stream. */
  readonly #keyByIndex = new Map<number, number>();

  constructor(options?: DecodeOptions) {
    this.#builder = new ReplyBuilder(options);
  }

  readWhole(body: JsonValue): ModelReply {
    if (!isJsonObject(body) || !isJsonObject(body["message"])) {
      if (isJsonObject(body) && typeof body["message"] === "string") throw chatError(body, "Cohere");
      throw new ToolError("model_failed", "The provider's answer is not a reply of Cohere's chat: it has no message.");
    }
    const { id, message } = body;
    if (typeof id === "string") this.#builder.setMetadata({ id });
    const { tool_plan: plan, content, tool_calls: calls } = message;
    this.#addPlan(plan);
    if (isJsonArray(content)) for (const chunk of content) this.#readContent(chunk);
    else this.#readContent({ text: content ?? "" });
    if (isJsonArray(calls)) for (const [index, call] of calls.entries()) this.#readCall(index, call);
    this.#readEnd(body);
    if (this.#builder.finishReason === undefined) this.#builder.setFinish("stop");
    return this.#buildReply();
  }

  push(piece: JsonValue): readonly ModelEvent[] {
    if (isJsonObject(piece)) this.#readEvent(piece);
    else if (!this.isOver) checkStreamPiece(piece);
    return this.#builder.takeEvents();
  }

  get isOver(): boolean {
    return this.#builder.finishReason !== undefined;
  }

  end(): readonly ModelEvent[] {
    this.#buildReply();
    return this.#builder.takeEvents();
  }

  #readEvent(event: JsonObject): void {
    const { type, id, delta, error } = event;
    if (error !== undefined && error !== null) throw chatError(error, "Cohere");
    const fields = isJsonObject(delta) ? delta : {};
    const message = isJsonObject(fields["message"]) ? fields["message"] : {};
    if (type === "message-start" && typeof id === "string") this.#builder.setMetadata({ id });
    else if (type === "content-start" || type === "content-delta") this.#readContent(message["content"]);
    else if (type === "tool-plan-delta") this.#addPlan(message["tool_plan"]);
    else if (type === "tool-call-start") this.#readCall(this.#keyOfStart(indexOf(event), message["tool_calls"]), message["tool_calls"]);
    else if (type === "tool-call-delta") this.#readCall(this.#keyAt(indexOf(event)), message["tool_calls"]);
    else if (type === "tool-call-end") this.#endCall(indexOf(event));
    else if (type === "message-end") this.#readEnd(fields);
  }

  #readContent(chunk: JsonValue | undefined): void {
    const { text, thinking } = isJsonObject(chunk) ? chunk : {};
    if (typeof thinking === "string") {
      this.#thinking.push(thinking);
      this.#builder.addReasoning(thinking);
    }
    if (typeof text === "string") {
      this.#text.push(text);
      this.#builder.addText(text);
    }
  }

  #addPlan(plan: JsonValue | undefined): void {
    if (typeof plan !== "string") return;
    this.#plan.push(plan);
    this.#builder.addReasoning(plan);
  }

  #keyAt(index: number): number {
    return getOrAdd(this.#keyByIndex, index, () => this.#calls.size);
  }

  /** A call that begins at the index of another is a call of its own, unless it is the same one again: some gateways send no index, or only one. */
  #keyOfStart(index: number, given: JsonValue | undefined): number {
    const { id = "" } = firstObject(given) ?? {};
    const known = this.#calls.get(this.#keyByIndex.get(index) ?? -1);
    const isSame = known === undefined || (id === "" || known.id === "" ? !known.ended : known.id === id);
    if (!isSame) this.#keyByIndex.set(index, this.#calls.size);
    return this.#keyAt(index);
  }

  #endCall(index: number): void {
    const key = this.#keyByIndex.get(index) ?? -1;
    const call = this.#calls.get(key);
    if (call === undefined) return;
    call.ended = true;
    this.#builder.sealCall(key);
  }

  #readCall(key: number, given: JsonValue | undefined): void {
    const entry = firstObject(given);
    if (entry === undefined) return;
    const { id = "", function: part } = entry;
    const { name = "", arguments: input } = isJsonObject(part) ? part : {};
    const call = getOrAdd(this.#calls, key, () => ({ id: "", name: "", pieces: [], ended: false }));
    if (typeof id === "string") call.id ||= id;
    if (typeof name === "string") call.name ||= name;
    this.#builder.openCall(key, { id: call.id, name: call.name });
    if (typeof input === "string") {
      call.pieces.push(input);
      this.#builder.addArgumentText(key, input);
    } else if (input !== undefined && input !== null && !(call.pieces.length > 0 && isEmptyInput(input))) {
      call.pieces = [JSON.stringify(input)];
      this.#builder.setInput(key, input);
    }
  }

  #readEnd({ finish_reason: reason, usage, error }: JsonObject): void {
    if (typeof error === "string" && error !== "") throw chatError(error, "Cohere");
    this.#builder.addUsage(readUsage(usage));
    if (this.#builder.finishReason === undefined)
      if (typeof reason === "string" && reason !== "") this.#builder.setFinish(toFinishReason(reason), reason);
      else this.#builder.setFinish("stop");
  }

  #buildReply(): ModelReply {
    const plan = this.#plan.join("");
    const thinking = this.#thinking.join("");
    if (this.#calls.size > 0 && (plan !== "" || thinking !== "")) {
      const text = this.#text.join("");
      const content = [...(thinking === "" ? [] : [{ type: "thinking", thinking }]), ...(text === "" ? [] : [{ type: "text", text }])];
      const calls = [...this.#calls.values()].map(({ id, name, pieces }) => ({
        id,
        type: "function",
        function: { name, arguments: joinArguments(pieces).text || "{}" },
      }));
      const message = { role: "assistant", ...(plan === "" ? {} : { tool_plan: plan }), ...(content.length === 0 ? {} : { content }) };
      this.#builder.setNative({ format: COHERE_CHAT, blocks: [{ ...message, tool_calls: calls }] });
    }
    return this.#builder.endReply();
  }
}

function firstObject(given: JsonValue | undefined): JsonObject | undefined {
  const entry = isJsonArray(given) ? given[0] : given;
  return isJsonObject(entry) ? entry : undefined;
}

function indexOf({ index }: JsonObject): number {
  return asIndex(index) ?? 0;
}

function readUsage(usage: JsonValue | undefined): Partial<TokenUsage> {
  const { tokens, billed_units: billed, cached_tokens: cached } = isJsonObject(usage) ? usage : {};
  const { input_tokens: input, output_tokens: output } = isJsonObject(tokens) ? tokens : isJsonObject(billed) ? billed : {};
  return tokenCounts({ inputTokens: input, outputTokens: output, cachedInputTokens: cached });
}
