/** Answers the requests that come to a port, by any function from `Request` to `Response`. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { ToolError, describeThrown } from "../../core/error.ts";
import type { Clock, Log } from "../../core/ports.ts";
import { http } from "../../net/node-http.ts";
import { wholeText } from "./whole-text.ts";
import { NodeReply, bytesOf, headOf, targetOf, textOf, type DirectHandler } from "./direct.ts";

/** Answers one request. Its signal aborts when the client has gone. */
export type FetchHandler = (request: Request) => Promise<Response>;

export interface ListenOptions {
  /** 0 = one that is free. */
  readonly port: number;
  readonly host: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Asked first about requests with a body of a declared length. @default every request is for the handler */
  readonly direct?: DirectHandler;
}

/** A port that is listened on. */
export interface PortListener {
  readonly port: number;
  /** `http://127.0.0.1:3000` */
  readonly origin: string;
  /** Takes no more connections, does the work, waits a moment until the last answers are read, then lets the port go. */
  close(work: () => Promise<void>): Promise<void>;
}

/** So long may a client take for its headers and for all of its request: slow ones must not add up. */
const LIMITS = { headersTimeout: 10_000, requestTimeout: 30_000, connectionsCheckingInterval: 5_000, maxHeaderSize: 16_384 } as const;

/** So long may clients take to read the last of their answers when the server stops. */
const DRAIN_MS = 1_000;

/** @throws ToolError `unavailable` for a port that cannot be used. By rejecting */
export async function listenOn(handler: FetchHandler, { port, host, clock, log, direct }: ListenOptions): Promise<PortListener> {
  const answering = new Set<Promise<void>>();
  const server = http.createServer(LIMITS, (incoming, outgoing) => {
    const answered = answer({ handler, direct, clock }, { incoming, outgoing }).catch((error: unknown) => {
      log.warn(`A request over HTTP was not answered: ${describeThrown(error)}`);
      outgoing.destroy();
    });
    answering.add(answered);
    void answered.then(() => answering.delete(answered));
  });
  await listening(server, port, host);
  const address = server.address();
  const actual = typeof address === "object" && address !== null ? address.port : port;
  return {
    port: actual,
    origin: `http://${host.includes(":") ? `[${host}]` : host}:${actual}`,
    async close(work) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await work();
      const { promise: tooLate, resolve } = Promise.withResolvers<void>();
      const cancel = clock.timer(resolve, DRAIN_MS);
      await Promise.race([Promise.allSettled(answering), tooLate]);
      cancel();
      server.closeAllConnections();
      await closed;
    },
  };
}

function listening(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error) =>
      reject(new ToolError("unavailable", `The port ${port} of ${host} cannot be used: ${error.message}`, { cause: error })),
    );
    server.listen(port, host, resolve);
  });
}

interface HttpExchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

interface Answerers {
  readonly handler: FetchHandler;
  readonly direct: DirectHandler | undefined;
  readonly clock: Clock;
}

async function answer({ handler, direct, clock }: Answerers, exchange: HttpExchange): Promise<void> {
  const { incoming } = exchange;
  const head = headOf(incoming);
  if (direct === undefined || incoming.headers["content-length"] === undefined || !direct.takes(head)) return await pass(handler, exchange);
  let text: string | undefined;
  const read = async (): Promise<string | undefined> => (text = await textOf(incoming));
  const { outgoing } = exchange;
  const gone = new AbortController();
  const closed = new Promise<void>((resolve) => {
    outgoing.once("close", () => {
      if (!outgoing.writableFinished) gone.abort();
      resolve();
    });
  });
  outgoing.on("error", () => gone.abort());
  const { signal } = gone;
  const request = { ...head, signal, cancel: () => gone.abort(), toRequest: () => toRequest(incoming, signal, "") };
  if (await direct.answer(request, read, new NodeReply(outgoing, { clock, headers: direct.headers }))) await closed;
  else await pass(handler, exchange, text);
}

/** Made once: a new one with each answer costs as much as the answer. */
const GONE = new DOMException("The connection is closed.", "AbortError");

/** @param read the body, where it has been read */
async function pass(handler: FetchHandler, { incoming, outgoing }: HttpExchange, read?: string): Promise<void> {
  const gone = new AbortController();
  const abort = (): void => gone.abort(GONE);
  outgoing.on("close", abort);
  outgoing.on("error", abort);
  if (outgoing.destroyed) abort();
  const response = await handler(toRequest(incoming, gone.signal, read));
  outgoing.writeHead(response.status, { ...Object.fromEntries(response.headers), ...(incoming.complete ? {} : { connection: "close" }) });
  const text = incoming.method === "HEAD" ? undefined : wholeText(response);
  if (text === undefined && response.body !== null && incoming.method !== "HEAD") await copy(response.body, outgoing, gone.signal);
  await ended(outgoing, { text, gone: gone.signal });
  if (!incoming.complete) incoming.destroy(); // what is left of its body is not wanted
}

const WITH_BODY: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

function toRequest(incoming: IncomingMessage, signal: AbortSignal, text: string | undefined): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) headers.set(name, typeof value === "string" ? value : value.join(", "));
  }
  const { method = "GET" } = incoming;
  const target = targetOf(incoming);
  if (!WITH_BODY.has(method)) return new Request(target, { method: method === "TRACE" ? "OPTIONS" : method, headers, signal });
  if (text !== undefined) return new Request(target, { method, headers, signal, body: text });
  const isSmall = Number(headers.get("content-length") ?? Infinity) <= MAX_SMALL_BODY;
  // Node's streams are those of the standard; their types say it in other words.
  const body = isSmall ? smallBody(incoming) : (Readable.toWeb(incoming) as ReadableStream<Uint8Array>);
  return new Request(target, { method, headers, signal, body, duplex: "half" });
}

/** In bytes. */
const MAX_SMALL_BODY = 65_536;

/** In one piece, once it is wanted: an adapter of streams costs more than the body. */
function smallBody(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const bytes = await bytesOf(incoming);
        if (bytes === undefined) return controller.error(new Error("The client has gone."));
        if (bytes.length > 0) controller.enqueue(bytes);
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

/** No faster than the client reads. */
async function copy(body: ReadableStream<Uint8Array>, outgoing: ServerResponse, gone: AbortSignal): Promise<void> {
  const reader = body.getReader();
  const stop = (): void => void reader.cancel().catch(() => {});
  if (gone.aborted) stop();
  gone.addEventListener("abort", stop, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || gone.aborted) return;
      if (!outgoing.write(value)) await drained(outgoing, gone);
    }
  } finally {
    gone.removeEventListener("abort", stop);
  }
}

/** Resolves when the last of it has been handed to the system, or it is not read. */
function ended(outgoing: ServerResponse, { text, gone }: { readonly text: string | undefined; readonly gone: AbortSignal }): Promise<void> {
  if (gone.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    gone.addEventListener("abort", () => resolve(), { once: true });
    if (text === undefined) outgoing.end(resolve);
    else outgoing.end(text, resolve);
  });
}

function drained(outgoing: ServerResponse, gone: AbortSignal): Promise<void> {
  if (gone.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    outgoing.once("drain", resolve);
    gone.addEventListener("abort", () => resolve(), { once: true });
  });
}
