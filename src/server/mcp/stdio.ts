/** Serves one client over standard input and output. */
import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage, MessageExtraInfo, Transport } from "@modelcontextprotocol/server";
import { describeThrown } from "../../core/error.ts";
import { isJsonArray, isJsonObject } from "../../core/json.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { RuntimeSession } from "../../runtime/session/runtime-session.ts";
import { Gateway } from "./gateway.ts";
import type { McpServerOptions } from "./options.ts";
import { loadServer, loadStdio } from "./sdk.ts";

export interface McpStdioOptions extends McpServerOptions {
  /** @default standard input */
  readonly input?: Readable;
  /** Nothing else may be written to it. @default standard output */
  readonly output?: Writable;
  /** How long `close` waits for calls under way before it cancels them, in milliseconds. @default 5_000 */
  readonly graceMs?: number;
}

/** A connection that is being served. */
export interface McpStdioServer {
  /** Resolves when the client has closed its end, or `close` was called, and everything under way has ended. */
  readonly closed: Promise<void>;
  /** Takes no more calls, lets those under way end for a while, then cancels them. The runtime stays open. */
  close(): Promise<void>;
}

/** As many resources of one request to listen are followed. */
const MAX_WATCHED = 1_000;
const DEFAULT_GRACE_MS = 5_000;
/** What does not heed that it was cancelled is not waited for any longer. */
const LAST_WORDS_MS = 1_000;

/** See `serveMcpStdio` of `../mcp.ts`. */
export async function serveStdio(runtime: Runtime, options: McpStdioOptions): Promise<McpStdioServer> {
  const [sdk, stdio] = await Promise.all([loadServer(), loadStdio()]);
  const gateway = new Gateway(runtime, options, sdk);
  const { log, session: wanted } = gateway.settings;
  let session: RuntimeSession | undefined;
  const seatSession = (): RuntimeSession | undefined => (wanted === "none" ? undefined : (session ??= runtime.session()));
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const watched: (() => void)[] = [];
  const transport = new HeardTransport(new stdio.StdioServerTransport(options.input, options.output), {
    message: (message) => {
      for (const uri of listenedTo(message)) if (watched.length < MAX_WATCHED) watched.push(gateway.announcer.watch(uri));
    },
    closed: () => void end(),
  });
  let hasEnded = false;
  const end = async (): Promise<void> => {
    hasEnded = true;
    for (const stop of watched.splice(0)) stop();
    gateway.close();
    await gateway.stop(LAST_WORDS_MS);
    try {
      await session?.close();
    } catch (error: unknown) {
      log.warn(`The session of an MCP connection was not closed: ${describeThrown(error)}`);
    }
    resolve();
  };
  const server = stdio.serveStdio(({ era }) => gateway.makeServer({ era, isTold: true, session: seatSession }), {
    transport,
    onerror: (error) => log.debug(`MCP over stdio: ${describeThrown(error)}`),
  });
  return {
    closed,
    close: async () => {
      if (!hasEnded) await gateway.stop(options.graceMs ?? DEFAULT_GRACE_MS);
      await server.close();
      await closed;
    },
  };
}

/** The resources whose changes a message asks for. */
export function listenedTo(message: unknown): readonly string[] {
  if (!isJsonObject(message) || message["method"] !== "subscriptions/listen" || !isJsonObject(message["params"])) return [];
  const { notifications } = message["params"];
  const uris = isJsonObject(notifications) ? notifications["resourceSubscriptions"] : undefined;
  return isJsonArray(uris) ? uris.filter((uri) => typeof uri === "string").slice(0, MAX_WATCHED) : [];
}

/* oxlint-disable unicorn/prefer-add-event-listener -- the SDK knows only this way */
/** A transport that is listened to on its way: the SDK keeps to itself what a client subscribes to. */
class HeardTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void;
  readonly #inner: Transport;
  readonly #ears: { message(message: unknown): void; closed(): void };

  constructor(inner: Transport, ears: { message(message: unknown): void; closed(): void }) {
    this.#inner = inner;
    this.#ears = ears;
  }

  async start(): Promise<void> {
    this.#inner.onmessage = (message: JSONRPCMessage, extra?: MessageExtraInfo) => {
      this.#ears.message(message);
      this.onmessage?.(message, extra);
    };
    this.#inner.onerror = (error) => this.onerror?.(error);
    this.#inner.onclose = () => {
      this.onclose?.();
      this.#ears.closed();
    };
    await this.#inner.start();
  }

  send(message: JSONRPCMessage): Promise<void> {
    return this.#inner.send(message);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
