/** Sends a request on to another process of the store, as it came. */
import type { JsonValue } from "../../../core/base/json.ts";
import { ToolError } from "../../../core/error.ts";
import type { Clock } from "../../../core/ports.ts";
import type { Store } from "../../../core/store/store.ts";
import { failedToConnect } from "../../../net/connect-failure.ts";
import { CONNECTION_HEADERS } from "../../../net/request-head.ts";
import { SUBMISSIONS_PATH } from "../handlers/responses.ts";
import { RELEASE_HINT } from "../sessions/session-errors.ts";
import type { SentRequest } from "./api-request.ts";

/** Header of forwarded requests, which are not forwarded again. */
const FORWARDED = "haft-forwarded";

/** How often to check that a process that has not answered yet is alive, in milliseconds. */
const ALIVE_CHECK_MS = 5_000;

/** Whether another process forwarded the request; it is then not forwarded again. */
export function wasForwarded({ headers }: Pick<SentRequest, "headers">): boolean {
  return headers.get(FORWARDED) !== null;
}

/** A process that announced an address. */
export interface ReachableProcess {
  /** undefined if the store does not say. */
  readonly id: string | undefined;
  readonly address: string;
}

export interface SendOptions {
  readonly process: ReachableProcess;
  /** For messages, such as `The session is open`. */
  readonly what: string;
  /** Replaces the body of the request. */
  readonly body?: JsonValue | undefined;
  /** How long to wait for a response. @default as long as the client waits */
  readonly timeoutMs?: number;
}

/** The parts of a server that sends requests on. */
export interface SenderServices {
  readonly store: Store | undefined;
  readonly clock: Clock;
  /** The path of its host that it is served below; empty for none. */
  readonly basePath: string;
}

/** Forwards a request unchanged, and waits for the response head while the other process is alive. @throws ToolError `unavailable`, as a rejection */
export async function sendToProcess(
  sent: Pick<SentRequest, "toRequestWithBody">,
  { process, what, body: read, timeoutMs }: SendOptions,
  services: SenderServices,
): Promise<Response> {
  const request = sent.toRequestWithBody();
  const { pathname, search } = new URL(request.url);
  const target = new URL(process.address);
  target.pathname = pathname;
  target.search = search;
  const headers = withoutConnectionHeaders(request.headers);
  headers.delete("origin"); // this server has checked it against its own address
  headers.set("accept-encoding", "identity");
  headers.set(FORWARDED, "1");
  const { method } = request;
  const alive = watchProcess(process.id, services);
  const ends = [request.signal, alive.signal, ...(timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)])];
  const body = read !== undefined ? JSON.stringify(read) : request.bodyUsed ? null : request.body; // an optional body was read, and was empty
  if (read !== undefined) headers.delete("content-length");
  try {
    // the upstream request ends with the client's connection, and vice versa
    const answer = await fetch(target, {
      method,
      headers,
      body,
      signal: AbortSignal.any(ends),
      redirect: "manual",
      ...(body instanceof ReadableStream ? { duplex: "half" } : {}),
    });
    return await placedHere(answer, services.basePath);
  } catch (thrown: unknown) {
    throw unreachableError(thrown, { what, process, request });
  } finally {
    alive.stop();
  }
}

/** Rewrites the addresses in a response for this server: the process that sent it may be below another path of its host, or none. */
async function placedHere({ status, headers: given, body }: Response, basePath: string): Promise<Response> {
  const headers = withoutConnectionHeaders(given);
  const location = headers.get("location");
  const at = location?.lastIndexOf(SUBMISSIONS_PATH) ?? -1;
  if (location === null || at < 0) return new Response(body, { status, headers });
  const own = basePath + location.slice(at);
  headers.set("location", own);
  headers.delete("content-length");
  const text = await new Response(body).text();
  return new Response(
    text.replace(JSON.stringify(location), () => JSON.stringify(own)),
    { status, headers },
  );
}

function unreachableError(
  thrown: unknown,
  { what, process: { address }, request }: Pick<SendOptions, "what" | "process"> & { readonly request: Request },
): ToolError {
  const wasSent = !failedToConnect(thrown instanceof Error ? thrown.cause : thrown); // the reason is in the cause of fetch's error
  return new ToolError("unavailable", `${what} in another process, which could not be reached.`, {
    retryable: true,
    outcome: wasSent ? "unknown" : "not_started",
    retryAfterMs: 2_000,
    hint: wasSent && request.method !== "GET" ? repetitionHint(request) : RELEASE_HINT,
    operatorHint: `The process announced the address ${address}.`,
    cause: thrown,
  });
}

/** How to repeat a request that may have taken effect. */
function repetitionHint({ headers }: Request): string {
  return headers.has("idempotency-key")
    ? "Send it again with the same Idempotency-Key."
    : "Check before you send it again: it may have taken effect. With an Idempotency-Key it would take effect once.";
}

/** Aborts its signal when a process is not alive any more: a frozen process keeps connections open, but has lost its sessions. */
function watchProcess(
  id: string | undefined,
  { store, clock }: Pick<SenderServices, "store" | "clock">,
): { readonly signal: AbortSignal; stop(): void } {
  const gone = new AbortController();
  let isOver = id === undefined;
  let cancel = (): void => {};
  const scheduleCheck = (): void => {
    if (!isOver) cancel = clock.timer(() => void checkAlive(), ALIVE_CHECK_MS);
  };
  const checkAlive = async (): Promise<void> => {
    const processes = await store?.processes().catch(() => undefined); // tried again at the next poll
    if (isOver) return; // the response arrived meanwhile, and is being read
    if (processes?.some((one) => one.id === id && one.alive) === false) gone.abort(new Error("The process has been silent for too long."));
    else scheduleCheck();
  };
  scheduleCheck();
  return {
    signal: gone.signal,
    stop() {
      isOver = true;
      cancel();
    },
  };
}

function withoutConnectionHeaders(from: Headers): Headers {
  const headers = new Headers(from);
  for (const name of CONNECTION_HEADERS) headers.delete(name);
  return headers;
}
