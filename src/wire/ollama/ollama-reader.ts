/** Reads replies of Ollama, whole and line by line. */
import { ToolError } from "../../core/error.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { ModelEvent, ModelReply } from "../../core/model.ts";
import { toInputObject } from "../conversation-steps.ts";
import { chatError } from "../openai-chat/chat-error.ts";
import { toFinishReason } from "../openai-chat/finish-reason.ts";
import { tokenCounts } from "../read-field.ts";
import { ReplyBuilder, parseInput } from "../reply-builder.ts";
import type { DecodeOptions, StreamDecoder } from "../wire-format.ts";

export const OLLAMA_CHAT = "ollama-chat";

/** Reads one reply; not reusable. */
export class OllamaReader implements StreamDecoder {
  readonly #builder: ReplyBuilder;
  readonly #calls: JsonObject[] = [];
  readonly #text: string[] = [];
  readonly #thinking: string[] = [];

  constructor(options?: DecodeOptions) {
    this.#builder = new ReplyBuilder(options);
  }

  readWhole(body: JsonValue): ModelReply {
    if (isJsonObject(body)) this.#readLine(body);
    if (!isJsonObject(body) || !isJsonObject(body["message"]))
      throw new ToolError("model_failed", "The provider's answer is not a reply of Ollama: it has no message.");
    if (this.#builder.finishReason === undefined) this.#builder.setFinish("stop");
    return this.#buildReply();
  }

  push(piece: JsonValue): readonly ModelEvent[] {
    if (isJsonObject(piece)) this.#readLine(piece);
    else if (typeof piece === "string") throw new ToolError("model_failed", "The provider sent a line of its reply that is not JSON.");
    return this.#builder.takeEvents();
  }

  get isOver(): boolean {
    return this.#builder.finishReason !== undefined;
  }

  end(): readonly ModelEvent[] {
    this.#buildReply();
    return this.#builder.takeEvents();
  }

  #readLine(line: JsonObject): void {
    const { error, message, model, done, done_reason: reason, prompt_eval_count: input, eval_count: output } = line;
    if (error !== undefined && error !== null) throw chatError(error, "Ollama");
    if (this.#builder.finishReason !== undefined) return;
    if (typeof model === "string") this.#builder.setMetadata({ model });
    if (isJsonObject(message)) this.#readMessage(message);
    if (done !== true) return;
    const word = typeof reason === "string" && reason !== "" ? reason : undefined;
    this.#builder.setFinish(word === undefined ? "stop" : toFinishReason(word), word);
    this.#builder.addUsage(tokenCounts({ inputTokens: input, outputTokens: output }));
  }

  #readMessage({ content, thinking, tool_calls: calls }: JsonObject): void {
    if (typeof thinking === "string") {
      this.#thinking.push(thinking);
      this.#builder.addReasoning(thinking);
    }
    if (typeof content === "string") {
      this.#text.push(content);
      this.#builder.addText(content);
    }
    if (isJsonArray(calls)) for (const call of calls) if (isJsonObject(call)) this.#readCall(call);
  }

  /** Reads a call; each is received whole, and so sealed at once. */
  #readCall(call: JsonObject): void {
    const { id, function: said } = call;
    const fields = isJsonObject(said) ? said : {};
    const { name, arguments: input } = fields;
    const key = this.#calls.push({ ...call, function: { ...fields, arguments: toInputObject(parseInput(input)) } });
    this.#builder.openCall(key, { id: typeof id === "string" ? id : undefined, name: typeof name === "string" ? name : "" });
    this.#builder.setInput(key, input ?? {});
    this.#builder.sealCall(key);
  }

  /** Ends the reply. The model's reasoning is kept in the native message if the reply has calls. */
  #buildReply(): ModelReply {
    const thinking = this.#thinking.join("");
    if (thinking !== "" && this.#calls.length > 0) {
      const message = { role: "assistant", content: this.#text.join(""), thinking, tool_calls: [...this.#calls] };
      this.#builder.setNative({ format: OLLAMA_CHAT, blocks: [message] });
    }
    return this.#builder.endReply();
  }
}
