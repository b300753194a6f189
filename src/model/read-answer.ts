/** Reads a provider's answer: events as they arrive, or an error if it is not a reply. */
import { ToolError } from "../core/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../core/base/json.ts";
import type { ModelEvent } from "../core/model.ts";
import type { Clock } from "../core/ports.ts";
import { excerpt } from "../engine/rest/answer-text.ts";
import { frameReader } from "../wire/framing/frame-reader.ts";
import { readWireJson } from "../wire/framing/wire-json.ts";
import type { FrameReader } from "../wire/framing/frames.ts";
import type { StreamDecoder, WireFormat } from "../wire/wire-format.ts";
import type { Exchange } from "./exchange.ts";
import { findErrorInReply, isHtml, createProviderError } from "./provider-failure.ts";
import { toReplyEvents } from "./reply-events.ts";

export interface AnswerReaderOptions {
  readonly exchange: Exchange;
  readonly format: WireFormat;
  /** Whether a stream was requested. */
  readonly stream: boolean;
  readonly toolNames: ReadonlyMap<string, string>;
  readonly model: string;
  readonly keyHint: string;
  readonly clock: Clock;
}

/** Maximum number of bytes of an error's body that are read. */
const MAX_ERROR_BYTES = 64 * 1024;

/** The events of an answer, grouped by the piece of the body that they came in. */
export interface AnswerEvents {
  /**
   * The next events, never an empty array; undefined at the end.
   *
   * @throws ToolError the provider's error, or that of the format for a bad stream; `network_error` if the connection broke before the first event
   */
  next(): Promise<readonly ModelEvent[] | undefined>;
}

/** Decides how the answer is read. @throws ToolError the provider's error, as a rejection */
export async function readAnswer(response: Response, options: AnswerReaderOptions): Promise<AnswerEvents> {
  const { exchange, format, stream, model, keyHint, clock } = options;
  const { status, headers, type } = response;
  if (type === "opaqueredirect" || (status >= 300 && status < 400)) throw redirectError(model, status);
  if (!response.ok) {
    const text = await exchange.text(response, MAX_ERROR_BYTES);
    throw createProviderError({ model, status, headers, text, keyHint }, clock);
  }
  const mediaType = (headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (mediaType === "text/html") throw notAnAnswerError(model, await exchange.text(response, MAX_ERROR_BYTES));
  const isWhole = !stream || (mediaType === "application/json" && format.framing !== "json-lines");
  return isWhole ? new WholeAnswer(response, options) : new StreamedAnswer(response, options);
}

class WholeAnswer implements AnswerEvents {
  readonly #response: Response;
  readonly #options: AnswerReaderOptions;
  #isRead = false;

  constructor(response: Response, options: AnswerReaderOptions) {
    this.#response = response;
    this.#options = options;
  }

  async next(): Promise<readonly ModelEvent[] | undefined> {
    if (this.#isRead) return undefined;
    this.#isRead = true;
    const { exchange, format, toolNames, model, clock } = this.#options;
    const text = await exchange.text(this.#response, Infinity);
    if (exchange.connectionError !== undefined) throw exchange.connectionError;
    const body = text.trim() === "" ? undefined : readWireJson(text);
    if (body === undefined) throw notAnAnswerError(model, text);
    try {
      return toReplyEvents(format.decodeReply(body, { toolNames }));
    } catch (thrown: unknown) {
      const error = ToolError.fromUnknown(thrown, "model_failed");
      throw error.code === "model_failed" ? (findErrorInReply({ model, headers: this.#response.headers, text }, clock) ?? error) : error;
    }
  }
}

class StreamedAnswer implements AnswerEvents {
  readonly #response: Response;
  readonly #exchange: Exchange;
  readonly #model: string;
  readonly #clock: Clock;
  readonly #frames: FrameReader;
  readonly #decoder: StreamDecoder;
  /** Whether any JSON has arrived. */
  #hasJson = false;
  #hasYielded = false;
  /** The error of a frame, thrown after the events before it were given. */
  #failure: ToolError | undefined;
  /** The last object with a message that the decoder ignored, unless the reply continued after it; it may be an error in the form of another API. */
  #ignored: JsonObject | undefined;
  #prefix: TextPrefix | undefined;
  /** The part to read next: pieces of the body, the last frame, the events that the decoder still holds, nothing. */
  #state: "pieces" | "frames" | "rest" | "over" = "pieces";

  constructor(response: Response, { exchange, format, toolNames, model, clock }: AnswerReaderOptions) {
    this.#response = response;
    this.#exchange = exchange;
    this.#model = model;
    this.#clock = clock;
    this.#decoder = format.decodeStream({ toolNames });
    this.#frames = frameReader(format.framing);
  }

  async next(): Promise<readonly ModelEvent[] | undefined> {
    while (this.#state === "pieces") {
      if (this.#failure !== undefined) throw this.#failure;
      const events = this.#decoder.isOver === true ? this.#stopReading() : await this.#nextPiece();
      if (events.length > 0) return events;
    }
    return this.#readRest();
  }

  /** Stops reading: the reply is complete, although its body has not ended. */
  #stopReading(): readonly ModelEvent[] {
    this.#exchange.isComplete = true;
    this.#state = "frames";
    return [];
  }

  async #nextPiece(): Promise<readonly ModelEvent[]> {
    let chunk: Uint8Array | undefined;
    try {
      chunk = await this.#exchange.read(this.#response);
    } catch (thrown: unknown) {
      return this.#endStalled(thrown);
    }
    if (chunk === undefined) {
      if (this.#exchange.connectionError !== undefined && !this.#hasYielded) throw this.#exchange.connectionError;
      this.#state = "frames";
      return [];
    }
    const events = this.#decodeFrames(() => this.#frames.push(chunk));
    if (!this.#hasJson) (this.#prefix ??= new TextPrefix()).add(chunk);
    return events;
  }

  /** Ends a reply whose finish reason had already arrived when its connection stalled. @throws the given error, for any other reply */
  #endStalled(thrown: unknown): readonly ModelEvent[] {
    const rest = this.#hasYielded && ToolError.fromUnknown(thrown).code === "timeout" ? this.#decoder.end() : [];
    const end = rest.at(-1);
    if (end?.type !== "reply-end" || end.reply.finish === "truncated") throw thrown;
    this.#state = "over";
    return rest;
  }

  #readRest(): readonly ModelEvent[] | undefined {
    if (this.#state === "frames") {
      this.#state = "rest";
      const events = this.#decodeFrames(() => this.#frames.end());
      if (events.length > 0) return events;
    }
    if (this.#failure !== undefined) throw this.#failure;
    if (!this.#hasJson) throw this.#notAStreamError(this.#prefix?.text ?? "");
    if (this.#state === "over") return undefined;
    this.#state = "over";
    const rest = this.#decoder.end();
    if (rest.some((event) => event.type === "reply-end" && event.reply.finishDetail === undefined)) this.#throwIgnoredError();
    if (!this.#hasYielded && rest.every((event) => event.type === "reply-end" && event.reply.finish === "truncated"))
      throw new ToolError("model_failed", `${this.#model} ended its answer without any content.`, { retryable: true });
    return rest;
  }

  /** For a reply without a finish reason. @throws ToolError the error that the last ignored object describes, if it does */
  #throwIgnoredError(): void {
    if (this.#ignored === undefined) return;
    const reported = { model: this.#model, headers: this.#response.headers, text: JSON.stringify(this.#ignored) };
    const error = findErrorInReply(reported, this.#clock);
    if (error !== undefined) throw error;
  }

  #notAStreamError(text: string): ToolError {
    const says = text.replaceAll(IDLE_LINE, "");
    return (
      findErrorInReply({ model: this.#model, headers: this.#response.headers, text: says }, this.#clock) ??
      notAnAnswerError(this.#model, says)
    );
  }

  #decodeFrames(take: () => readonly JsonValue[]): readonly ModelEvent[] {
    const events: ModelEvent[] = [];
    try {
      for (const piece of take()) {
        if (typeof piece !== "string") this.#hasJson = true;
        const read = this.#decoder.push(piece);
        if (read.length > 0) this.#ignored = undefined;
        else if (isJsonObject(piece) && MESSAGE_KEYS.some((key) => Object.hasOwn(piece, key))) this.#ignored = piece;
        for (const event of read) events.push(event);
      }
    } catch (thrown: unknown) {
      this.#failure = ToolError.fromUnknown(thrown, "model_failed");
    }
    if (events.length > 0) this.#hasYielded = true;
    return events;
  }
}

/** The keys of errors of any API. */
const MESSAGE_KEYS = ["error", "message", "Message", "detail"] as const;

/** Matches a line of an event stream without reply data: a comment, the name of an event, `[DONE]`. */
const IDLE_LINE = /^(?::|event:|id:|retry:|data:[ \t]*(?:\[DONE\][ \t]*)?$).*$/gmu;

/** The text that arrived before any JSON. */
class TextPrefix {
  text = "";
  readonly #decoder = new TextDecoder();

  add(chunk: Uint8Array): void {
    if (this.text.length < MAX_ERROR_BYTES) this.text += this.#decoder.decode(chunk, { stream: true });
  }
}

function redirectError(model: string, status: number): ToolError {
  return new ToolError("model_failed", `${model} answered with a redirect (HTTP ${status}), which is not followed.`, {
    operatorHint: "Set baseUrl to the address that it redirects to, if that is the provider's.",
  });
}

/** An empty body is retryable; a text that is not an answer is not. */
function notAnAnswerError(model: string, text: string): ToolError {
  if (text.trim() === "") return new ToolError("model_failed", `${model} answered with an empty body.`, { retryable: true });
  const what = isHtml(text) ? "a web page" : "something that is not a model's answer";
  return new ToolError("model_failed", `${model} answered with ${what}: ${excerpt(text, 200)}`, {
    operatorHint: "Check the base URL, and that no proxy on the way to the provider answers in its place.",
  });
}
