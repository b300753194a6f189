/** An MCP server on a port of this machine. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { ToolError, describeThrown } from "../../core/error.ts";
import { checkKnownKeys } from "../../core/known-keys.ts";
import { http } from "../../net/node-http.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { HttpGateway } from "../mcp/http.ts";
import { refusal } from "./guard.ts";
import { HTTP_OPTIONS, isLocalAddress, type McpHttpOptions } from "../mcp/http-options.ts";
import { settingsOf } from "../mcp/options.ts";
import { loadServer } from "../mcp/sdk.ts";

export interface McpListenOptions extends McpHttpOptions {
  /** 0 = one that is free. */
  readonly port: number;
  /** The address that it is reached at. One that others reach needs `token` and `allowedHosts`. @default "127.0.0.1" */
  readonly host?: string;
  /** @default "/mcp" */
  readonly path?: string;
}

/** A server that listens. */
export interface McpListener {
  /** The address for clients: `http://127.0.0.1:3000/mcp`. */
  readonly url: string;
  readonly port: number;
  /** As `McpHandler.close`, then lets the port go. */
  close(): Promise<void>;
}

/** So long may a client take for its headers and for all of its request: slow ones must not add up. */
const LIMITS = { headersTimeout: 10_000, requestTimeout: 30_000, connectionsCheckingInterval: 5_000, maxHeaderSize: 16_384 } as const;

/** Answered to everyone, from this machine or not: it says no more than that the server runs. */
const HEALTH_PATH = "/health";

/** So long may clients take to read the last of their answers when the server stops. */
const DRAIN_MS = 1_000;

/** See `listenMcp` of `../mcp.ts`. */
export async function listen(runtime: Runtime, options: McpListenOptions): Promise<McpListener> {
  checkKnownKeys(options, { ...HTTP_OPTIONS, port: true, host: true, path: true }, "listenMcp()");
  const { port, host = "127.0.0.1", path = "/mcp", token, authenticator, allowedHosts } = options;
  if (!isLocalAddress(host) && ((token ?? authenticator) === undefined || allowedHosts === undefined)) {
    throw new ToolError("invalid_argument", `An MCP server on ${host} can be reached by others, and needs a token and allowedHosts.`, {
      hint: "Give it both, or leave host out to be reached from this machine only.",
    });
  }
  await loadServer(); // at once, so that a missing library is not found out by the first client
  const gateway = new HttpGateway(runtime, options);
  const { log, clock } = settingsOf(options);
  const answering = new Set<Promise<void>>();
  const server = http.createServer(LIMITS, (incoming, outgoing) => {
    const answered = answer(gateway, path, { incoming, outgoing }).catch((error: unknown) => {
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
    url: `http://${host.includes(":") ? `[${host}]` : host}:${actual}${path}`,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await gateway.close();
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

async function answer(gateway: HttpGateway, path: string, { incoming, outgoing }: HttpExchange): Promise<void> {
  const gone = new AbortController();
  outgoing.on("close", () => gone.abort());
  outgoing.on("error", () => gone.abort());
  const request = toRequest(incoming, gone.signal);
  const { pathname } = new URL(request.url);
  const response =
    pathname === HEALTH_PATH && request.method === "GET" && path !== HEALTH_PATH
      ? gateway.health()
      : (gateway.refuse(request) ?? (pathname === path ? await gateway.handle(request) : refusal(404, "There is nothing here.")));
  outgoing.writeHead(response.status, { ...Object.fromEntries(response.headers), ...(incoming.complete ? {} : { connection: "close" }) });
  if (response.body !== null) await copy(response.body, outgoing, gone.signal);
  await ended(outgoing, gone.signal);
  if (!incoming.complete) incoming.destroy(); // what is left of its body is not wanted
}

function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) headers.set(name, typeof value === "string" ? value : value.join(", "));
  }
  const { method = "GET", url = "/" } = incoming;
  const target = `http://server.invalid${url.startsWith("/") ? url : "/"}`;
  if (method !== "POST") return new Request(target, { method: method === "TRACE" ? "OPTIONS" : method, headers, signal });
  // Node's streams are those of the standard; their types say it in other words.
  const body = Readable.toWeb(incoming) as ReadableStream<Uint8Array>;
  return new Request(target, { method, headers, signal, body, duplex: "half" });
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
function ended(outgoing: ServerResponse, gone: AbortSignal): Promise<void> {
  if (gone.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    gone.addEventListener("abort", () => resolve(), { once: true });
    outgoing.end(resolve);
  });
}

function drained(outgoing: ServerResponse, gone: AbortSignal): Promise<void> {
  if (gone.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    outgoing.once("drain", resolve);
    gone.addEventListener("abort", () => resolve(), { once: true });
  });
}
