/** Fake providers: real HTTP servers on 127.0.0.1 that speak a provider's wire format, and refuse what the provider would refuse. */
import { once } from "node:events";
import * as http from "node:http";
import { crc32, gzipSync } from "node:zlib";
import { isJsonObject, type JsonObject } from "../../src/core/base/json.ts";
import { ANTHROPIC_MESSAGES } from "./dialects/anthropic.ts";
import { BEDROCK_CONVERSE } from "./dialects/bedrock.ts";
import { COHERE_CHAT } from "./dialects/cohere.ts";
import { Refused, type CheckedRequest, type Dialect, type ServedPiece, type ServedReply, type WholeReply } from "./dialects/dialect.ts";
import { GEMINI } from "./dialects/gemini.ts";
import { OLLAMA_CHAT } from "./dialects/ollama.ts";
import { DEEPSEEK_CHAT, MISTRAL_CHAT, OPENAI_CHAT, openAiChatDialect } from "./dialects/openai-chat.ts";
import { OPENAI_RESPONSES } from "./dialects/openai-responses.ts";

const DIALECTS = {
  "openai-chat": openAiChatDialect(OPENAI_CHAT),
  deepseek: openAiChatDialect(DEEPSEEK_CHAT),
  mistral: openAiChatDialect(MISTRAL_CHAT),
  "openai-responses": OPENAI_RESPONSES,
  "anthropic-messages": ANTHROPIC_MESSAGES,
  gemini: GEMINI,
  "bedrock-converse": BEDROCK_CONVERSE,
  cohere: COHERE_CHAT,
  ollama: OLLAMA_CHAT,
} as const satisfies Readonly<Record<string, Dialect>>;

export type ServedFormat = keyof typeof DIALECTS;
export const SERVED_FORMATS = Object.keys(DIALECTS) as readonly ServedFormat[]; // the keys of a literal

/** What a script says to one request: a reply, well or badly sent, or something else instead. */
export type ServedAnswer = DeliveredReply | ServedFailure | ServedRaw;

export interface DeliveredReply extends ServedReply {
  readonly delivery?: Delivery;
}

/** How a reply is sent, where nothing else is said: a stream in pieces, each in a write of its own. */
export interface Delivery {
  /** Every byte in a write of its own. */
  readonly trickle?: boolean;
  /** Packed, as the client says that it takes it. */
  readonly gzip?: boolean;
  /** After so many pieces, no more comes: the connection is ended, reset, or stays open. */
  readonly after?: { readonly pieces: number; readonly then: "end" | "reset" | "stall" };
  /** The number of a piece of which the second half is missing, in a frame that is whole. */
  readonly damaged?: number;
  /** Waited for before each piece; for tests of what happens in between. */
  readonly gate?: (piece: number) => Promise<void>;
}

export interface ServedFailure {
  readonly status: number;
  readonly message?: string;
  /** The provider's own word for it. */
  readonly kind?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Anything at all. */
export interface ServedRaw {
  readonly raw: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ProviderServerOptions {
  readonly format: ServedFormat;
  /** One answer per request; the last one again when there are no more. Refused requests take none. */
  readonly script: readonly ServedAnswer[];
  /** Requests without it are answered 401. @default any key, or none */
  readonly key?: string;
}

export interface ReceivedRequest {
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: JsonObject;
  /** What was wrong with it; undefined where nothing was. */
  readonly refused: string | undefined;
}

export interface ProviderServer {
  /** What stands before the paths of the format. */
  readonly url: string;
  readonly requests: readonly ReceivedRequest[];
  close(): Promise<void>;
}

export async function startProviderServer(options: ProviderServerOptions): Promise<ProviderServer> {
  const provider = new FakeProvider(options);
  const server = http.createServer({ keepAliveTimeout: 1_000 }, (request, response) => {
    provider.answer(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return { url: `http://127.0.0.1:${address.port}`, requests: provider.requests, close };
}

class FakeProvider {
  readonly requests: ReceivedRequest[] = [];
  readonly #dialect: Dialect;
  readonly #options: ProviderServerOptions;
  readonly #signatures = new Map<string, string>();
  #served = 0;
  #calls = 0;

  constructor(options: ProviderServerOptions) {
    this.#options = options;
    this.#dialect = DIALECTS[options.format];
  }

  async answer(message: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const request = await this.#receive(message);
    const refusal = this.#refusal(request, message);
    const { path, query, headers, body } = request;
    this.requests.push({ path, query: query.toString(), headers, body, refused: refusal?.message });
    if (refusal !== undefined) return this.#fail(response, refusal);
    const { script } = this.#options;
    const answer = script[Math.min(this.#served++, script.length - 1)];
    if (answer === undefined) return this.#fail(response, { status: 500, message: "The script is empty.", kind: "server_error" });
    if ("status" in answer && !("raw" in answer)) return this.#fail(response, answer);
    if ("raw" in answer) return void response.writeHead(answer.status ?? 200, answer.headers).end(answer.raw);
    await this.#serve(request, response, answer);
  }

  async #receive(message: http.IncomingMessage): Promise<CheckedRequest> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of message) chunks.push(chunk);
    const url = new URL(message.url ?? "/", "http://127.0.0.1");
    const headers = Object.fromEntries(Object.entries(message.headers).map(([name, value]) => [name, value?.toString()]));
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString() || "{}");
    return { path: url.pathname, query: url.searchParams, headers, body: isJsonObject(body) ? body : {}, signatures: this.#signatures };
  }

  #refusal(request: CheckedRequest, message: http.IncomingMessage): ServedFailure | undefined {
    const { key } = this.#options;
    const { headers } = request;
    const given = [headers["authorization"]?.replace(/^Bearer /u, ""), headers["x-api-key"], headers["x-goog-api-key"], headers["api-key"]];
    if (key !== undefined && !given.includes(key))
      return { status: 401, message: `Incorrect API key provided: ${given.join("")}`, kind: "auth" };
    if (message.method !== "POST" || !this.#dialect.isPath(request.path))
      return { status: 404, message: `No ${request.path} here.`, kind: "not_found" };
    if (headers["content-type"] !== "application/json") return { status: 415, message: "Send JSON.", kind: "bad_type" };
    try {
      this.#dialect.check(request);
      return undefined;
    } catch (error: unknown) {
      return {
        status: 400,
        message: error instanceof Error ? error.message : "",
        kind: error instanceof Refused ? "invalid_request_error" : "bug",
      };
    }
  }

  #fail(response: http.ServerResponse, { status, message = "It went wrong.", kind = "error", headers }: ServedFailure): void {
    const body = JSON.stringify(this.#dialect.failure(status, message, kind));
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
  }

  async #serve(request: CheckedRequest, response: http.ServerResponse, answer: DeliveredReply): Promise<void> {
    const reply = this.#complete(request, answer);
    const { delivery = {} } = answer;
    if (!this.#dialect.isStream(request)) {
      const body = JSON.stringify(this.#dialect.whole(reply));
      const encoding = delivery.gzip === true ? { "content-encoding": "gzip" } : {};
      response.writeHead(200, { "content-type": "application/json", ...encoding }).end(delivery.gzip === true ? gzipSync(body) : body);
      return;
    }
    const { framing } = this.#dialect;
    await send(
      response,
      this.#dialect.pieces(reply).map((piece, index) => framed(piece, framing, index === delivery.damaged)),
      { delivery, mediaType: MEDIA_TYPES[framing] },
    );
  }

  #complete(
    request: CheckedRequest,
    { candidates: all = [], text = all[0]?.text ?? "", reasoning = "", calls = [], ...rest }: ServedReply,
  ): WholeReply {
    const { finish = calls.length > 0 ? "calls" : "stop", inputTokens = 10, outputTokens = 5 } = rest;
    const made = calls.map((call) => ({ ...call, id: this.#dialect.callId(++this.#calls) }));
    const id = `reply${this.#served}`;
    const isChat = this.#options.format === "deepseek";
    const signature = isChat ? reasoning : `c2lnbmF0dXJl${this.#served}`;
    const [first] = made;
    if (first !== undefined && reasoning !== "") this.#signatures.set(first.id, signature);
    const count = this.#dialect.candidates?.(request) ?? 1;
    const candidates = count > 1 ? all.slice(0, count) : [];
    const model = this.#dialect.modelOf(request);
    return { model, id, text, reasoning, signature, calls: made, finish, inputTokens, outputTokens, candidates };
  }
}

const MEDIA_TYPES = {
  sse: "text/event-stream; charset=utf-8",
  "json-lines": "application/x-ndjson",
  "event-stream": "application/vnd.amazon.eventstream",
} as const;

interface Sending {
  readonly delivery: Delivery;
  readonly mediaType: string;
}

async function send(response: http.ServerResponse, pieces: readonly Uint8Array[], { delivery, mediaType }: Sending): Promise<void> {
  const { trickle = false, gzip = false, after, gate } = delivery;
  response.writeHead(200, { "content-type": mediaType, ...(gzip ? { "content-encoding": "gzip" } : {}) });
  response.flushHeaders();
  if (gzip) return void response.end(gzipSync(Buffer.concat(pieces)));
  for (const [index, piece] of pieces.entries()) {
    if (after !== undefined && index >= after.pieces) return stop(response, after.then);
    await gate?.(index);
    if (response.destroyed) return;
    if (trickle) for (const byte of piece) await written(response, Uint8Array.of(byte));
    else await written(response, piece);
  }
  if (after?.then === "stall") return; // all was said, and the connection stays open
  response.end();
}

function stop(response: http.ServerResponse, how: "end" | "reset" | "stall"): void {
  if (how === "end") response.end();
  else if (how === "reset") response.socket?.resetAndDestroy();
}

async function written(response: http.ServerResponse, bytes: Uint8Array): Promise<void> {
  if (response.destroyed) return;
  await new Promise<void>((resolve) => response.write(bytes, () => resolve()));
}

function framed({ event, data }: ServedPiece, framing: Dialect["framing"], isDamaged: boolean): Uint8Array {
  const whole = typeof data === "string" ? data : JSON.stringify(data);
  const text = isDamaged ? whole.slice(0, whole.length / 2) : whole;
  if (framing === "event-stream") return eventMessage(event ?? "", text);
  if (framing === "json-lines") return Buffer.from(`${text}\n`);
  return Buffer.from(`${event === undefined ? "" : `event: ${event}\n`}data: ${text}\n\n`);
}

/** One message of AWS's event stream: lengths and their checksum, headers, the payload, and the checksum of it all. */
function eventMessage(event: string, payload: string): Uint8Array {
  const headers = Buffer.concat([
    header(":message-type", "event"),
    header(":event-type", event),
    header(":content-type", "application/json"),
  ]);
  const body = Buffer.from(payload);
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(headers.length + body.length + 16, 0);
  prelude.writeUInt32BE(headers.length, 4);
  const message = Buffer.concat([prelude, checksum(prelude), headers, body]);
  return Buffer.concat([message, checksum(message)]);
}

function header(name: string, value: string): Uint8Array {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(Buffer.byteLength(value));
  return Buffer.concat([Uint8Array.of(name.length), Buffer.from(name), Uint8Array.of(7), length, Buffer.from(value)]);
}

function checksum(bytes: Uint8Array): Uint8Array {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum;
}
