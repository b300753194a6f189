/** One request to one server over a guarded connection: connects, writes, and waits for the head of the response. */
import type * as Http from "node:http";
import type { Socket } from "node:net";
import { ToolError } from "../core/error.ts";
import type { Clock } from "../core/ports.ts";
import { formatServerName, type AddressGuard } from "./address-guard.ts";
import { http, https } from "./node-http.ts";
import { networkFailure } from "./network-failure.ts";
import type { Hop } from "./redirect.ts";
import { groupHeaders, buildHeaders } from "./request-head.ts";

export interface ExchangePorts {
  readonly agents: { readonly http: Http.Agent; readonly https: Http.Agent };
  readonly guard: AddressGuard;
  readonly clock: Clock;
  readonly connectTimeoutMs: number;
  /** Whether the client was closed, together with its connections. */
  readonly isClosed: () => boolean;
}

const MAX_HEADER_BYTES = 64 * 1024;
const MAX_SINGLE_WRITE_BYTES = 16 * 1024;
/** Safe methods (RFC 9110 §9.2.1), which may be sent again. */
export const REPEATABLE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/**
 * Sends `hop` and resolves to the response once its head has arrived. The caller then owns its body, which ends with an error if the
 * connection breaks or the signal aborts.
 *
 * A GET or HEAD is sent a second time if a reused connection was closed before any byte of a response arrived.
 *
 * @throws ToolError, as a rejection: `not_started` until the connection is open, `unknown` from then on
 */
export async function sendHop(hop: Hop, ports: ExchangePorts, signal: AbortSignal): Promise<Http.IncomingMessage> {
  ports.guard.checkUrl(hop.url);
  return (await new Exchange(hop, ports, signal).run(true)) ?? (await resend(hop, ports, signal));
}

async function resend(hop: Hop, ports: ExchangePorts, signal: AbortSignal): Promise<Http.IncomingMessage> {
  const message = await new Exchange(hop, ports, signal).run(false);
  if (message === undefined) throw networkFailure(formatServerName(hop.url), closedByServerError(), "unknown");
  return message;
}

class Exchange {
  readonly #hop: Hop;
  readonly #ports: ExchangePorts;
  readonly #signal: AbortSignal;
  readonly #abort = (): void => this.#fail(this.#cancelledError());
  #message: Http.IncomingMessage | undefined;
  #isConnected = false;
  #bytesReadBefore = 0;
  #stopConnectTimer: (() => void) | undefined;
  #fail: (error: Error) => void = () => {};

  constructor(hop: Hop, ports: ExchangePorts, signal: AbortSignal) {
    this.#hop = hop;
    this.#ports = ports;
    this.#signal = signal;
  }

  /** Sends the request. Resolves to undefined if the connection was stale: nothing was received, and the request may be sent again. */
  run(mayRepeat: boolean): Promise<Http.IncomingMessage | undefined> {
    if (this.#signal.aborted) return Promise.reject(this.#cancelledError());
    return new Promise((resolve, reject) => {
      const request = this.#open();
      this.#fail = (error) => {
        this.#release();
        if (this.#message !== undefined) {
          this.#message.destroy(this.#describe(error));
          return;
        }
        request.destroy();
        if (mayRepeat && this.#isStale(request, error)) resolve(undefined);
        else reject(this.#describe(error));
      };
      request.once("response", (message) => {
        this.#acceptResponse(request, message);
        resolve(message);
      });
      request.on("error", (error) => this.#fail(error));
      request.once("close", () => {
        if (this.#message === undefined) this.#fail(closedByServerError());
      });
      request.once("socket", (socket) => this.#watchSocket(request, socket));
      this.#signal.addEventListener("abort", this.#abort, { once: true });
      const { body } = this.#hop;
      // as a string, a small body goes out in one piece with the head
      if (body === undefined || body.byteLength > MAX_SINGLE_WRITE_BYTES) request.end(body);
      else request.end(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("latin1"), "latin1");
    });
  }

  #open(): Http.ClientRequest {
    const { url, method, body } = this.#hop;
    const { agents, guard } = this.#ports;
    const isTls = url.protocol === "https:";
    return (isTls ? https : http).request({
      agent: isTls ? agents.https : agents.http,
      protocol: url.protocol,
      hostname: url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname,
      port: url.port === "" ? (isTls ? 443 : 80) : Number(url.port),
      path: `${url.pathname}${url.search}`,
      method,
      headers: groupHeaders(buildHeaders(url, method, { headers: this.#hop.headers, body })),
      lookup: guard.lookup(url),
      maxHeaderSize: MAX_HEADER_BYTES,
      insecureHTTPParser: false,
      // the agent's timeout is for idle connections: a response may take as long as the signal allows
      timeout: 0,
    });
  }

  /** Waits until a new socket is connected; a reused one already is. */
  #watchSocket(request: Http.ClientRequest, socket: Socket): void {
    if (request.reusedSocket) {
      this.#isConnected = true;
      this.#bytesReadBefore = socket.bytesRead;
      return;
    }
    const { clock, connectTimeoutMs } = this.#ports;
    this.#stopConnectTimer = clock.timer(() => this.#fail(this.#connectTimeoutError()), connectTimeoutMs);
    socket.once(this.#hop.url.protocol === "https:" ? "secureConnect" : "connect", () => {
      this.#isConnected = true;
      this.#stopConnectTimer?.();
    });
  }

  #acceptResponse(request: Http.ClientRequest, message: Http.IncomingMessage): void {
    this.#message = message;
    message.on("error", () => {}); // the reader of the body gets the error, if there is a reader
    message.once("close", () => {
      this.#release();
      // a server that responds without reading the body could keep the connection open indefinitely
      if (!request.writableFinished) request.destroy();
    });
  }

  #release(): void {
    this.#stopConnectTimer?.();
    this.#signal.removeEventListener("abort", this.#abort);
  }

  #isStale(request: Http.ClientRequest, error: Error): boolean {
    const isClosed = "code" in error && (error.code === "ECONNRESET" || error.code === "EPIPE");
    const isSilent = request.socket?.bytesRead === this.#bytesReadBefore;
    return isClosed && isSilent && request.reusedSocket && REPEATABLE_METHODS.has(this.#hop.method) && !this.#ports.isClosed();
  }

  #describe(error: Error): ToolError {
    return networkFailure(formatServerName(this.#hop.url), error, this.#isConnected ? "unknown" : "not_started");
  }

  #cancelledError(): ToolError {
    const cause: unknown = this.#signal.reason;
    const outcome = this.#isConnected ? "unknown" : "not_started";
    return new ToolError("cancelled", `The request to ${formatServerName(this.#hop.url)} was cancelled.`, { outcome, cause });
  }

  #connectTimeoutError(): ToolError {
    const message = `No connection to ${formatServerName(this.#hop.url)} within ${this.#ports.connectTimeoutMs} ms.`;
    return new ToolError("network_error", message, {
      outcome: "not_started",
      operatorHint: "Check that the server runs and can be reached from here.",
    });
  }
}

function closedByServerError(): Error {
  return Object.assign(new Error("The connection was closed."), { code: "ECONNRESET" });
}
