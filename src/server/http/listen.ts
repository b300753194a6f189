/** Listens on a port and answers requests with any function from `Request` to `Response`. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { withoutBasePath } from "../../core/base/base-path.ts";
import { retainWith } from "../../core/base/retain-with.ts";
import { systemErrorCode } from "../../core/base/system-error-code.ts";
import { ToolError, describeThrown, errorInfo } from "../../core/error.ts";
import type { Clock, Log } from "../../core/ports.ts";
import { http } from "../../net/node-http.ts";
import { endResponseEarly } from "./end-response-early.ts";
import { HttpError } from "./http-error.ts";
import { CONNECTION_CLOSED, NodeReply, NodeRequest, type DirectHandler } from "./direct.ts";
import { refuseAmbiguous, toRequest, normalizeTarget } from "./node-request.ts";
import { OpenResponses } from "./open-responses.ts";
import { problemResponse, toProblem } from "./problem.ts";
import { closeQuietConnections } from "./quiet-connections.ts";
import { plainHeaders } from "./security-headers.ts";
import { answerUnparsed, methodNotSupported } from "./unparsed.ts";
import { writeResponse } from "./write-response.ts";

/** Answers one request. Its signal aborts when the client has disconnected. */
export type FetchHandler = (request: Request) => Promise<Response>;

export interface ListenOptions {
  /** 0 picks a free port. */
  readonly port: number;
  readonly host: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Path that is removed from the targets of requests that begin with it. @default none */
  readonly basePath?: string | undefined;
  /** Handlers tried first, in order, for requests without a body or with one of a declared length. @default none: all requests go to the handler */
  readonly direct?: readonly DirectHandler[];
  /** How long a client may read nothing of its responses before its connection is closed, in milliseconds. @default 60_000 */
  readonly unreadMs?: number;
  /**
   * How long clients may keep a connection open without a request, in milliseconds. Responses announce it in whole seconds; the server waits an
   * eighth longer.
   *
   * @default 120_000
   */
  readonly idleMs?: number;
}

/** A port that the server listens on. */
export interface PortListener {
  readonly port: number;
  /** Such as `http://127.0.0.1:3000`. */
  readonly origin: string;
  /** Takes no more connections, runs `work`, waits a moment until the last responses are read, then releases the port. */
  close(work: () => Promise<void>): Promise<void>;
}

/** Limits of the HTTP server. Slow headers must not accumulate; bodies are limited by `BodyTimeout`, which gives long ones more time. */
const LIMITS = { headersTimeout: 10_000, requestTimeout: 0, connectionsCheckingInterval: 5_000, maxHeaderSize: 16_384 } as const;
/** Requests without a host are refused by `refuseAmbiguous`: Node would answer them without a reason. */
const SERVER_OPTIONS = { ...LIMITS, requireHostHeader: false } as const;

/** How long clients may take to read their last response when the server stops, in milliseconds. */
const DRAIN_MS = 1_000;

/** @throws ToolError `unavailable` for a port that cannot be used, as a rejection */
export async function listenOn(
  handler: FetchHandler,
  { port, host, clock, log, basePath = "", direct = [], unreadMs = 60_000, idleMs = 120_000 }: ListenOptions,
): Promise<PortListener> {
  const answering = new Set<Promise<void>>();
  const open = new OpenResponses();
  const take = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    if (open.isRefused(incoming.socket)) return;
    open.add(outgoing);
    const answered = answer({ handler, direct, clock, basePath, open }, { incoming, outgoing }).catch((error: unknown) =>
      endUnanswered(outgoing, error, { clock, log }),
    );
    answering.add(answered);
    void answered.then(() => answering.delete(answered));
  };
  const server = http.createServer(SERVER_OPTIONS, take).on("checkExpectation", take);
  closeQuietConnections(server, { open, unreadMs, idleMs });
  answerUnparsed(server, { open, clock });
  await startListening(server, port, host);
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

async function startListening(server: Server, port: number, host: string): Promise<void> {
  const unusable = (why: string, cause?: Error): ToolError =>
    new ToolError("unavailable", `The port ${port} of ${host} cannot be used: ${why}.`, { cause });
  if (!canListen()) throw unusable("this process may not use the network (node --permission: --allow-net)");
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(unusable(describeListenError(error), error)));
    server.listen(port, host, resolve);
  });
}

/** Whether `node --permission` lets the process listen, in versions with `--allow-net`. `listen` would throw an error that ends the process. */
function canListen(): boolean {
  return !process.allowedNodeEnvironmentFlags.has("--allow-net") || (process.permission?.has("net") ?? true);
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ["EADDRINUSE", "another program is listening there"],
  ["EACCES", "this user may not listen there"],
  ["EADDRNOTAVAIL", "this machine does not have that address"],
  ["ENOTFOUND", "the name has no address"],
]);

function describeListenError(error: Error): string {
  const code = systemErrorCode(error);
  const reason = REASONS.get(code ?? "");
  return reason === undefined ? describeThrown(error) : `${reason} (${code})`;
}

interface HttpExchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

interface RequestHandlers {
  readonly handler: FetchHandler;
  readonly direct: readonly DirectHandler[];
  readonly clock: Clock;
  readonly basePath: string;
  readonly open: OpenResponses;
}

async function answer({ handler, direct, clock, basePath, open }: RequestHandlers, exchange: HttpExchange): Promise<void> {
  const { incoming, outgoing } = exchange;
  try {
    refuseAmbiguous(incoming);
  } catch (error: unknown) {
    open.markRefused(incoming.socket); // at once: the next request may follow in the same bytes
    throw error;
  }
  if (incoming.method === "TRACE") throw methodNotSupported("TRACE");
  if (incoming.url === "*") return await answerAsterisk(exchange, clock);
  normalizeTarget(incoming);
  incoming.url = withoutBasePath(incoming.url ?? "/", basePath);
  const { headers } = incoming;
  if (headers["content-length"] === undefined && headers["transfer-encoding"] !== undefined)
    return await handleWithFetch({ handler, clock }, exchange);
  const request = new NodeRequest(incoming, clock);
  for (const taker of direct) {
    const taken = taker.match(request);
    if (taken === undefined) continue;
    const closed = new Promise<void>((resolve) => {
      outgoing.once("close", () => {
        if (!outgoing.writableFinished) request.cancel();
        resolve();
      });
    });
    outgoing.on("error", () => request.cancel());
    if (await taken(request, () => request.read(), new NodeReply(outgoing, { clock, headers: taker.headers }))) return await closed;
    return await handleWithFetch({ handler, clock }, exchange, request.text);
  }
  await handleWithFetch({ handler, clock }, exchange);
}

/** Answers a request for the server as a whole. @see https://www.rfc-editor.org/rfc/rfc9110#section-9.3.7 */
async function answerAsterisk({ incoming, outgoing }: HttpExchange, clock: Clock): Promise<void> {
  if (incoming.method !== "OPTIONS")
    throw new HttpError(400, "invalid_argument", "Only OPTIONS can have the target *.", { hint: "Send a path, such as /openapi.json." });
  await endResponseEarly(
    outgoing.writeHead(204, { ...plainHeaders({}), allow: "GET, HEAD, POST, DELETE", connection: "close" }),
    "",
    clock,
  );
}

/** Ends the response to a request whose handler threw, or that was refused before. */
async function endUnanswered(
  outgoing: ServerResponse,
  error: unknown,
  { clock, log }: Pick<ListenOptions, "clock" | "log">,
): Promise<void> {
  if (error instanceof HttpError && !outgoing.headersSent) return await sendError(outgoing, error, clock);
  log.warn(`A request over HTTP was not answered: ${describeThrown(error)}`);
  outgoing.destroy();
}

/** Answers a request that failed before a handler answered it. */
function sendError(outgoing: ServerResponse, error: HttpError, clock: Clock): Promise<void> {
  const { status, headers, text } = problemResponse(toProblem(errorInfo(error), { status: error.status }));
  return endResponseEarly(outgoing.writeHead(status, { ...plainHeaders({}), ...headers, connection: "close" }), text, clock);
}

/** @param read the body as text, if it has been read */
async function handleWithFetch(
  { handler, clock }: Pick<RequestHandlers, "handler" | "clock">,
  { incoming, outgoing }: HttpExchange,
  read?: string,
): Promise<void> {
  const gone = new AbortController();
  const abort = (): void => gone.abort(CONNECTION_CLOSED);
  outgoing.on("close", abort);
  outgoing.on("error", abort);
  if (outgoing.destroyed) abort();
  const request = toRequest(incoming, { signal: gone.signal, clock, text: read });
  retainWith(outgoing, request);
  await writeResponse(await handler(request), outgoing, { gone: gone.signal, clock });
}
