/** Reads a provider's answer: events as they come, or an error that says what the answer was instead. */
import { ToolError } from "../core/error.ts";
import type { JsonValue } from "../core/base/json.ts";
import type { ModelEvent } from "../core/model.ts";
import type { Clock } from "../core/ports.ts";
import { excerpt } from "../engine/rest/answer-text.ts";
import { frameReader } from "../wire/framing/frame-reader.ts";
import { readWireJson } from "../wire/framing/wire-json.ts";
import type { FrameReader } from "../wire/framing/frames.ts";
import type { StreamDecoder, WireFormat } from "../wire/wire-format.ts";
import type { Exchange } from "./exchange.ts";
import { isHtml, providerFailure } from "./provider-failure.ts";
import { replyEvents } from "./reply-events.ts";

export interface AnswerReader {
  readonly exchange: Exchange;
  readonly format: WireFormat;
  /** A stream was asked for. */
  readonly stream: boolean;
  readonly toolNames: ReadonlyMap<string, string>;
  readonly model: string;
  readonly keyHint: string;
  readonly clock: Clock;
}

/** So much of an error's body is read. */
const MAX_ERROR_BYTES = 64 * 1024;

/**
 * Never an empty list.
 *
 * @throws ToolError what the provider answered, or the format found in the stream; `network_error` where the connection broke before
 * there was anything to give
 */
export async function* readAnswer(response: Response, reader: AnswerReader): AsyncGenerator<readonly ModelEvent[]> {
  const { exchange, format, stream, model, keyHint, clock } = reader;
  const { status, headers, type } = response;
  if (type === "opaqueredirect" || (status >= 300 && status < 400)) throw redirected(model, status);
  if (!response.ok) {
    const text = await exchange.text(response, MAX_ERROR_BYTES);
    throw providerFailure({ model, status, headers, text, keyHint }, clock);
  }
  const mediaType = (headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (mediaType === "text/html") throw notAnAnswer(model, await exchange.text(response, MAX_ERROR_BYTES));
  const isWhole = !stream || (mediaType === "application/json" && format.framing !== "json-lines");
  if (isWhole) yield await readWhole(response, reader);
  else yield* readPieces(response, reader);
}

async function readWhole(response: Response, { exchange, format, toolNames, model }: AnswerReader): Promise<readonly ModelEvent[]> {
  const text = await exchange.text(response, Infinity);
  if (exchange.broken !== undefined) throw exchange.broken;
  const body = text.trim() === "" ? undefined : readWireJson(text);
  if (body === undefined) throw notAnAnswer(model, text);
  return replyEvents(format.decodeReply(body, { toolNames }));
}

async function* readPieces(
  response: Response,
  { exchange, format, toolNames, model }: AnswerReader,
): AsyncGenerator<readonly ModelEvent[]> {
  const stream = new StreamReader(format, toolNames);
  for await (const chunk of exchange.chunks(response)) {
    const events = stream.read((frames) => frames.push(chunk));
    if (!stream.isUnderstood) stream.keep(chunk);
    if (events.length > 0) yield events;
    if (stream.failure !== undefined) throw stream.failure;
    if (stream.decoder.isOver === true) {
      exchange.isWhole = true;
      break;
    }
  }
  if (exchange.broken !== undefined && !stream.hasGiven) throw exchange.broken;
  const events = stream.read((frames) => frames.end());
  if (events.length > 0) yield events;
  if (stream.failure !== undefined) throw stream.failure;
  if (!stream.isUnderstood) throw notAnAnswer(model, stream.beginning);
  const rest = stream.decoder.end();
  if (rest.length > 0) yield rest;
}

/** From bytes to events; all that one chunk brings is given at once. */
class StreamReader {
  readonly decoder: StreamDecoder;
  readonly #frames: FrameReader;
  readonly #text = new TextDecoder();
  /** JSON came. */
  isUnderstood = false;
  hasGiven = false;
  /** What reading came to grief with, after the events that were given. */
  failure: ToolError | undefined;
  /** What came before there was any JSON. */
  beginning = "";

  constructor(format: WireFormat, toolNames: ReadonlyMap<string, string>) {
    this.decoder = format.decodeStream({ toolNames });
    this.#frames = frameReader(format.framing);
  }

  read(take: (frames: FrameReader) => readonly JsonValue[]): readonly ModelEvent[] {
    const events: ModelEvent[] = [];
    try {
      for (const piece of take(this.#frames)) {
        if (typeof piece !== "string") this.isUnderstood = true;
        for (const event of this.decoder.push(piece)) events.push(event);
      }
    } catch (thrown: unknown) {
      this.failure = ToolError.fromUnknown(thrown, "model_failed");
    }
    if (events.length > 0) this.hasGiven = true;
    return events;
  }

  keep(chunk: Uint8Array): void {
    if (this.beginning.length < MAX_ERROR_BYTES) this.beginning += this.#text.decode(chunk, { stream: true });
  }
}

function redirected(model: string, status: number): ToolError {
  return new ToolError("model_failed", `${model} answered with a redirect (HTTP ${status}), which is not followed.`, {
    operatorHint: "Give the address it leads to as baseUrl, if that is the provider's.",
  });
}

/** Nothing at all may be better the next time; a text that is no answer will not. */
function notAnAnswer(model: string, text: string): ToolError {
  if (text.trim() === "") return new ToolError("model_failed", `${model} answered with an empty body.`, { retryable: true });
  const what = isHtml(text) ? "a web page" : "what is no answer of a model";
  return new ToolError("model_failed", `${model} answered with ${what}: ${excerpt(text, 200)}`, {
    operatorHint: "Check the base URL, and that nothing between here and the provider answers in its place.",
  });
}
