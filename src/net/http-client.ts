/** The HTTP client of the package: sends requests to public servers, and to private ones that are explicitly allowed. */
import { X509Certificate } from "node:crypto";
import * as dns from "node:dns/promises";
import type * as Http from "node:http";
import { createSecureContext, type SecureContext } from "node:tls";
import { ToolError, pickHints } from "../core/error.ts";
import type { Outcome } from "../core/error-codes.ts";
import type { Clock, Log } from "../core/ports.ts";
import { plural } from "../core/base/wording.ts";
import { onNextTurn } from "../core/system/lazy-timer.ts";
import { AddressGuard, formatServerName, type ResolveName } from "./address-guard.ts";
import { REPEATABLE_METHODS, sendHop, type ExchangePorts } from "./exchange.ts";
import type { HttpClient, HttpClientOptions, HttpRequest, HttpResponse } from "./http-request.ts";
import { http, https } from "./node-http.ts";
import { resolveRedirect, type Hop, type HopSecrets } from "./redirect.ts";
import { checkRequestHead } from "./request-head.ts";
import { LimitedResponse, discardMessage } from "./limited-response.ts";

const DEFAULT_MAX_BYTES = 10 * 1024 * 1024;
const DEFAULT_MAX_REDIRECTS = 5;
const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;
/** Idle connections are kept for a minute, and all addresses of a name are tried. */
const CONNECTIONS: Http.AgentOptions = { keepAlive: true, timeout: 60_000, autoSelectFamily: true };
const SECRET_HEADERS: readonly string[] = ["authorization", "cookie", "proxy-authorization"];

export interface HttpClientPorts {
  readonly clock: Clock;
  readonly log: Log;
  /** Returns the addresses of a name. @default that of the operating system */
  readonly resolve?: ResolveName;
}

/**
 * Makes a client; see `HttpClient`. It reuses connections; idle ones do not keep the process alive.
 *
 * @throws ToolError `invalid_argument` for an option that cannot be used
 */
export function httpClient(options: HttpClientOptions, ports: HttpClientPorts): HttpClient {
  const { verifyTls = true, ca, maxBytes = DEFAULT_MAX_BYTES, maxRedirects = DEFAULT_MAX_REDIRECTS } = options;
  checkNumber("maxBytes", maxBytes, 1);
  checkNumber("maxRedirects", maxRedirects, 0);
  const connectTimeoutMs = options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS;
  checkNumber("connectTimeoutMs", connectTimeoutMs, 1);
  const guard = new AddressGuard(options.allowPrivate ?? [], ports.resolve ?? resolveBySystem);
  if (!verifyTls)
    ports.log.warn("Certificates are not checked (verifyTls is false): anyone on the way to a server can read and change what is sent.");
  const agents = {
    http: new http.Agent(CONNECTIONS),
    https: new https.Agent({
      ...CONNECTIONS,
      // a server that speaks only HTTP/2 then refuses the handshake, instead of waiting or answering in HTTP/2
      ALPNProtocols: ["http/1.1"],
      // explicit: otherwise NODE_TLS_REJECT_UNAUTHORIZED in the environment would decide
      rejectUnauthorized: verifyTls,
      ...(ca === undefined ? {} : { secureContext: readAuthorities(ca) }),
    }),
  };
  return new Client({ agents, guard, clock: ports.clock, connectTimeoutMs }, { maxBytes, maxRedirects });
}

class Client implements HttpClient {
  readonly #ports: ExchangePorts;
  readonly #limits: { readonly maxBytes: number; readonly maxRedirects: number };
  #isClosed = false;

  constructor(ports: Omit<ExchangePorts, "isClosed">, limits: { readonly maxBytes: number; readonly maxRedirects: number }) {
    this.#ports = { ...ports, isClosed: () => this.#isClosed };
    this.#limits = limits;
  }

  async request(request: HttpRequest): Promise<HttpResponse> {
    checkRequestHead(request);
    const secrets: HopSecrets = {
      headers: new Set([...SECRET_HEADERS, ...(request.secretHeaders ?? []).map((name) => name.toLowerCase())]),
      query: request.secretQuery ?? [],
    };
    let hop: Hop = { method: request.method, url: new URL(request.url), headers: request.headers, body: request.body };
    for (let redirects = 0; ; redirects++) {
      const message = await this.#send(hop, request.signal, redirects > 0);
      const next = request.keepRedirect === true ? undefined : this.#next(hop, message, secrets);
      if (next === undefined) return this.#answer(request, hop, message);
      discardMessage(message, this.#ports.clock);
      if (redirects >= this.#limits.maxRedirects) throw tooManyRedirects(request.url, this.#limits.maxRedirects);
      hop = next;
    }
  }

  /** Returns the next request of a redirect. On an error, frees the connection, since the response is not read. */
  #next(hop: Hop, message: Http.IncomingMessage, secrets: HopSecrets): Hop | undefined {
    try {
      return resolveRedirect(hop, { status: message.statusCode ?? 0, location: message.headers.location }, secrets);
    } catch (error: unknown) {
      discardMessage(message, this.#ports.clock);
      throw error;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#ports.agents.http.destroy();
    this.#ports.agents.https.destroy();
  }

  async #send(hop: Hop, signal: AbortSignal, isRedirected: boolean): Promise<Http.IncomingMessage> {
    // After the process was busy, closed connections may not have been processed yet, and the agent would reuse one of them.
    if (!REPEATABLE_METHODS.has(hop.method)) await new Promise((resolve) => onNextTurn(resolve));
    if (this.#isClosed) throw closedError(hop.url, "not_started");
    try {
      return await sendHop(hop, this.#ports, signal);
    } catch (error: unknown) {
      const failure = ToolError.fromUnknown(error);
      if (this.#isClosed) throw closedError(hop.url, isRedirected ? "unknown" : failure.outcome);
      throw isRedirected ? afterRedirect(failure) : failure;
    }
  }

  #answer(request: HttpRequest, { method, url }: Hop, message: Http.IncomingMessage): HttpResponse {
    const { maxBytes } = this.#limits;
    const capEachEvent = request.capEachEvent === true;
    const { clock, isClosed } = this.#ports;
    const getEndError = (): ToolError | undefined => (isClosed() ? closedError(url, "unknown") : undefined);
    return new LimitedResponse(message, { method, url, server: formatServerName(url), maxBytes, capEachEvent, clock, getEndError });
  }
}

function closedError(url: URL, outcome: Outcome): ToolError {
  const server = formatServerName(url);
  const what = outcome === "not_started" ? `${server} was not called` : `The request to ${server} was aborted`;
  return new ToolError("unavailable", `${what}: the client was closed.`, { outcome });
}

/** Sets the outcome to unknown: the first server received the request and may have acted on it. */
function afterRedirect(error: ToolError): ToolError {
  const { code, message, retryable, cause } = error;
  return new ToolError(code, `After a redirect: ${message}`, {
    retryable,
    outcome: "unknown",
    cause,
    ...pickHints(error),
  });
}

function tooManyRedirects(url: URL, maxRedirects: number): ToolError {
  return new ToolError("network_error", `${formatServerName(url)} redirects more than ${plural(maxRedirects, "time")}.`, {
    retryable: false,
  });
}

async function resolveBySystem(name: string): Promise<readonly string[]> {
  const found = await dns.lookup(name, { all: true, order: "verbatim" });
  return found.map(({ address }) => address);
}

/** Checks the certificates. TLS itself accepts any text, and would then trust no authority. */
function readAuthorities(ca: string): SecureContext {
  try {
    const certificates = ca.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/gu) ?? [];
    const subjects = certificates.map((certificate) => new X509Certificate(certificate).subject);
    if (subjects.length === 0) throw new Error("There is no certificate in it.");
    return createSecureContext({ ca });
  } catch (error: unknown) {
    throw new ToolError("invalid_argument", "The certificate authorities given as `ca` are not certificates in PEM.", { cause: error });
  }
}

function checkNumber(name: string, value: number, least: number): void {
  if (!Number.isFinite(value) || value < least)
    throw new ToolError("invalid_argument", `${name} is ${value}; it must be a number of at least ${least}.`);
}
