/**
 * Posts plain calls of the revision 2026-07-28 directly to the server and reads whole JSON answers. The SDK's transport reads every other answer as
 * if it had sent the request, and sends every other message.
 */
import type { JSONRPCMessage, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { parseExactly } from "../../core/base/parse-exactly.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { LONG_NUMBER, stringifyLongNumber } from "../../core/base/parse-json.ts";
import { describeThrown } from "../../core/error.ts";
import type { HttpClient, HttpHeader, HttpRequest, HttpResponse } from "../../net/http-request.ts";
import { WorkStarted } from "./failure.ts";
import { isTokenFailure } from "./token-failure.ts";

type TransportClass = typeof StreamableHTTPClientTransport;
type SendParameters = Parameters<StreamableHTTPClientTransport["send"]>;
type SendOptions = SendParameters[1];
type TransportArguments = ConstructorParameters<TransportClass>;

export interface DirectTransportOptions {
  readonly url: URL;
  readonly client: PreparedClient;
  /** The configured headers, with the credentials. */
  readonly headers: () => readonly HttpHeader[] | Promise<readonly HttpHeader[]>;
  /** Whether the transport renews a refused token. It then sends the refused request itself, so that it knows which token was refused. */
  readonly isRenewed: boolean;
  /** Called with the length of each answer, and with the problem if one could not be read. */
  readonly onReceived: (bytes: number, problem?: string) => void;
}

const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
const SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo";
const MODERN_VERSION = "2026-07-28";
/** Matches a name that needs no encoding in a header. */
const PLAIN_NAME = /^[\w.-]{1,256}$/u;
const PARAMETER = /^mcp-param-/iu;
const UTF8 = new TextDecoder();
export const JSON_CONTENT_TYPE = /^application\/json\s*(?:;|$)/iu;

export function directTransport(
  Base: TransportClass,
  directOptions: DirectTransportOptions,
  args: TransportArguments,
): StreamableHTTPClientTransport {
  return new (class DirectTransport extends Base {
    override async send(message: SendParameters[0], options?: SendOptions): Promise<void> {
      const sent = Array.isArray(message) ? undefined : toPlainRequest(message, options);
      if (sent === undefined) return await super.send(message, options);
      let answer: HttpResponse;
      let text: string | undefined;
      try {
        answer = await postCall(directOptions, sent, options);
        text = await readJsonText(directOptions, answer, options);
      } catch (error: unknown) {
        if (options?.requestSignal?.aborted !== true && error instanceof Error) this.onerror?.(error);
        throw error;
      }
      const reply = text === undefined ? undefined : parsePlainAnswer(text, sent.id);
      if (reply !== undefined) {
        this.onmessage?.(reply);
        return options?.onRequestStreamEnd?.(); // the answer was all of it: nothing is left to abort
      }
      if (answer.status === 401 && directOptions.isRenewed) {
        answer.discard();
        return await super.send(message, options);
      }
      const release = directOptions.client.prepare(sent.body, text === undefined ? answer : bufferedResponse(answer, text));
      try {
        await super.send(message, options);
      } catch (error: unknown) {
        // the transport asks for a token again, although this request was sent and accepted
        throw answer.status < 300 && isTokenFailure(error) ? new WorkStarted("the server had accepted the call", { cause: error }) : error;
      } finally {
        release();
      }
    }
  })(...args);
}

async function postCall(
  directOptions: DirectTransportOptions,
  { body, headers }: PlainRequest,
  options: SendOptions,
): Promise<HttpResponse> {
  const own = directOptions.headers();
  const given = "then" in own ? await own : own;
  try {
    return await directOptions.client.request({
      method: "POST",
      url: directOptions.url,
      headers: [...headers, ...given],
      body: Buffer.from(body),
      signal: options?.requestSignal ?? NEVER_ABORTED,
      keepRedirect: true,
      capEachEvent: true,
    });
  } catch (error: unknown) {
    throw fetchError("fetch failed", error, options);
  }
}

/** The body, if the answer is a whole JSON text; else undefined. */
async function readJsonText(
  directOptions: DirectTransportOptions,
  answer: HttpResponse,
  options: SendOptions,
): Promise<string | undefined> {
  if (answer.status !== 200 || !JSON_CONTENT_TYPE.test(answer.headers.get("content-type")?.[0] ?? "")) return undefined;
  try {
    const bytes = await answer.bytes();
    directOptions.onReceived(bytes.length);
    return UTF8.decode(bytes);
  } catch (error: unknown) {
    if (options?.requestSignal?.aborted !== true) directOptions.onReceived(0, describeThrown(error));
    throw fetchError("terminated", error, options);
  }
}

/** The error with which the platform's fetch fails, which the transport recognizes. */
function fetchError(what: string, cause: unknown, options: SendOptions): unknown {
  const signal = options?.requestSignal;
  return signal?.aborted === true ? signal.reason : new TypeError(what, { cause });
}

const NEVER_ABORTED = new AbortController().signal;

interface PlainRequest {
  readonly id: string | number;
  readonly body: string;
  readonly headers: readonly HttpHeader[];
}

function toPlainRequest(message: JSONRPCMessage, options: SendOptions): PlainRequest | undefined {
  if (!("method" in message) || !("id" in message) || message.method !== "tools/call" || options?.resumptionToken !== undefined)
    return undefined;
  const { name, _meta: meta }: Readonly<Record<string, unknown>> = message.params ?? {};
  if (!isJsonObject(meta) || meta[VERSION_KEY] !== MODERN_VERSION || typeof name !== "string" || !PLAIN_NAME.test(name)) return undefined;
  const own = Object.entries(options?.headers ?? {});
  if (!own.every(([header]) => PARAMETER.test(header))) return undefined;
  const headers: HttpHeader[] = [
    ["accept", "application/json, text/event-stream"],
    ["content-type", "application/json"],
    ["mcp-method", message.method],
    ["mcp-name", name],
    ["mcp-protocol-version", MODERN_VERSION],
    ...own,
  ];
  return { id: message.id, body: JSON.stringify(message), headers };
}

/** The message, if the SDK would accept it unchanged; undefined if the SDK would check more, or if it answers another request. */
function parsePlainAnswer(text: string, wanted: string | number): JSONRPCMessage | undefined {
  if (text.includes("__proto__")) return undefined;
  let message: unknown;
  try {
    message = parseExactly(text, LONG_NUMBER.test(text) ? stringifyLongNumber : undefined);
  } catch {
    return undefined; // the SDK reports the problem
  }
  if (!isJsonObject(message) || message["jsonrpc"] !== "2.0" || Object.keys(message).length !== 3) return undefined;
  const { id, result, error } = message;
  if (id !== wanted) return undefined;
  if (isJsonObject(result) ? !hasPlainMeta(result) : !isJsonObject(error) || !isPlainError(error)) return undefined;
  return message as unknown as JSONRPCMessage; // checked field by field
}

function hasPlainMeta({ _meta: meta }: JsonObject): boolean {
  if (meta === undefined) return true;
  if (!isJsonObject(meta)) return false;
  const { [SERVER_INFO_KEY]: server, ...others } = meta;
  if (Object.keys(others).some((key) => key === "progressToken" || key.startsWith("io.modelcontextprotocol/"))) return false;
  if (server === undefined) return true;
  return (
    isJsonObject(server) && Object.keys(server).length === 2 && typeof server["name"] === "string" && typeof server["version"] === "string"
  );
}

function isPlainError(error: JsonObject): boolean {
  const { code, message, data: _data, ...others } = error;
  return Number.isSafeInteger(code) && typeof message === "string" && Object.keys(others).length === 0;
}

/** An answer whose body has been read already. */
function bufferedResponse({ status, url, headers }: HttpResponse, text: string): HttpResponse {
  const bytes = Buffer.from(text);
  const body = {
    async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
      yield bytes;
    },
  };
  return { status, url, headers, body, bytes: () => Promise.resolve(bytes), discard: () => undefined };
}

/** A client with prepared answers to some requests, by their bodies. */
export class PreparedClient implements HttpClient {
  readonly #client: HttpClient;
  readonly #prepared = new Map<string, HttpResponse>();

  constructor(client: HttpClient) {
    this.#client = client;
  }

  /** Answers the next request with this body by `answer`. The returned function discards the answer if no request has taken it. */
  prepare(body: string, answer: HttpResponse): () => void {
    this.#prepared.set(body, answer);
    return () => {
      if (this.#prepared.get(body) !== answer) return;
      this.#prepared.delete(body);
      answer.discard();
    };
  }

  async request(request: HttpRequest): Promise<HttpResponse> {
    return this.#takePrepared(request.body) ?? (await this.#client.request(request));
  }

  close(): void {
    this.#client.close();
  }

  #takePrepared(body: Uint8Array | undefined): HttpResponse | undefined {
    if (this.#prepared.size === 0 || body === undefined) return undefined;
    const text = UTF8.decode(body);
    const answer = this.#prepared.get(text);
    this.#prepared.delete(text);
    return answer;
  }
}
