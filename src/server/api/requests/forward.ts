/** Forwards requests for sessions that another process of the store has open to that process. */
import type { JsonValue } from "../../../core/base/json.ts";
import { ToolError } from "../../../core/error.ts";
import type { StoredProcess } from "../../../core/process-store.ts";
import type { Store } from "../../../core/store.ts";
import { neverConnected } from "../../../net/never-connected.ts";
import { CONNECTION_HEADERS } from "../../../net/request-head.ts";
import { API, type OperationId } from "../../api.ts";
import type { SentRequest } from "./api-request.ts";
import { SUBMISSIONS_PATH } from "../handlers/answers.ts";
import type { Route } from "./route.ts";
import type { ApiServices } from "../services.ts";

/** Header of forwarded requests, which are not forwarded again. */
const FORWARDED = "haft-forwarded";

/** How often to check that a process that has not answered yet is alive, in milliseconds. */
const LOOK_MS = 5_000;

/** Determines the process that must answer a request. */
export interface Destination {
  /** The session that the request uses. */
  readonly sessionId: string | undefined;
  /** The place that the request names. */
  readonly place: string | undefined;
  /** The body, if it was already read. */
  readonly body?: JsonValue | undefined;
}

/**
 * Returns the response of the process that has the session open, or else of one that has the place. undefined if this process must answer: for routes
 * that need neither, for sessions open here, nowhere, or in a process without an announced address, and for places of this process.
 *
 * @throws ToolError `unavailable` if that process cannot be reached, or no process has the place; as a rejection
 */
export async function forwarded(
  id: OperationId,
  request: SentRequest,
  to: Destination,
  services: ApiServices,
): Promise<Response | undefined> {
  const { inSession, query = {} }: Route = API[id];
  const { store, runtime, passedOn } = services;
  if (store === undefined || wasForwarded(request)) return undefined;
  if (inSession === true && to.sessionId !== undefined) {
    if (isOpenHere(to.sessionId, services)) return undefined;
    const owner = await services.sessions.stored(to.sessionId);
    if (owner?.openedAt !== undefined) {
      const process = { id: owner.openedIn, address: owner.openedAt };
      return passedOn.watch(send(request, { process, what: "The session is open", body: to.body }, services));
    }
    if (owner?.openedBy !== undefined) return undefined;
  }
  if (to.place === undefined || !Object.hasOwn(query, "place") || runtime.places.includes(to.place)) return undefined;
  const process = await processWithPlace(to.place, store);
  return passedOn.watch(send(request, { process, what: "The place is", body: to.body }, services));
}

/** Whether the session is open here. A session that another process took over may remain here until it is dropped; it is not open here. */
function isOpenHere(sessionId: string, { runtime }: Pick<ApiServices, "runtime">): boolean {
  const session = runtime.sessions.get(sessionId);
  return session !== undefined && session.broken === undefined;
}

/** The address of the other process that has the session open; undefined if it is open here or nowhere, or that process announced no address. */
export async function ownerAddress(sessionId: string, services: Pick<ApiServices, "runtime" | "sessions">): Promise<string | undefined> {
  if (isOpenHere(sessionId, services)) return undefined;
  return (await services.sessions.stored(sessionId))?.openedAt;
}

export interface AnswerElsewhereOptions extends Omit<SendOptions, "process"> {
  /** Whether a successful response is the wanted one. @default every one is */
  readonly fits?: (answer: Response) => Promise<boolean>;
}

/**
 * Asks all other processes of the store at the same time, for requests whose process cannot be determined, and returns the first fitting response.
 * undefined if no process has one, and for a forwarded request.
 *
 * @throws ToolError `unavailable` if none has one and some process could not be asked, as a rejection
 */
export async function answerElsewhere(
  request: SentRequest,
  services: ApiServices,
  { fits, ...options }: AnswerElsewhereOptions,
): Promise<Response | undefined> {
  const { store } = services;
  if (store === undefined || wasForwarded(request)) return undefined;
  const asked = (await reachedProcesses(store)).map((process) => send(request, { ...options, process }, services));
  const found = asked.map(async (sent) => {
    const answer = await sent;
    if (answer.ok && (fits === undefined || (await fits(answer.clone())))) return answer;
    throw new Error("That process does not have it.");
  });
  const first = await Promise.any(found).catch(() => undefined);
  if (first !== undefined) return first;
  await Promise.all(asked);
  return undefined;
}

/**
 * The other living processes of the store with an address, the latest process of each address: a killed process seems alive for a while, and its
 * address may already belong to the process that replaced it, such as this one.
 */
async function reachedProcesses(store: Store): Promise<readonly Reached[]> {
  const living = (await store.processes()).filter(({ alive }) => alive);
  const byAddress = new Map<string, StoredProcess>();
  for (const one of living.toSorted((a, b) => Number(a.own) - Number(b.own) || (a.startedAt ?? 0) - (b.startedAt ?? 0)))
    if (one.address !== undefined) byAddress.set(one.address, one);
  return [...byAddress].flatMap(([address, { id, own }]) => (own ? [] : [{ id, address }]));
}

/** Whether another process forwarded the request; it is then not forwarded again. */
function wasForwarded({ headers }: SentRequest): boolean {
  return headers.get(FORWARDED) !== null;
}

/** Finds a process with a place. @throws ToolError `unavailable`, as a rejection */
async function processWithPlace(place: string, store: Store): Promise<Reached> {
  const having = (await store.processes()).filter(({ alive, places }) => alive && places?.includes(place) === true);
  const [found] = having.flatMap(({ id, address }) => (address === undefined ? [] : [{ id, address }]));
  if (found !== undefined) return found;
  const shown = JSON.stringify(place.slice(0, 200));
  throw new ToolError("unavailable", `No process that can be reached has the place ${shown}.`, {
    retryable: true,
    outcome: "not_started",
    hint: "GET /v1/fleet lists the processes with their places.",
    operatorHint: having.length === 0 ? "Start one with --place." : "Give the process that has it an --address.",
  });
}

/** A process that announced an address. */
export interface Reached {
  /** undefined if the store does not say. */
  readonly id: string | undefined;
  readonly address: string;
}

export interface SendOptions {
  readonly process: Reached;
  /** For messages, such as `The session is open`. */
  readonly what: string;
  /** Replaces the body of the request. */
  readonly body?: JsonValue | undefined;
  /** How long to wait for a response. @default as long as the client waits */
  readonly timeoutMs?: number;
}

/** Forwards a request unchanged, and waits for the response head while the other process is alive. @throws ToolError `unavailable`, as a rejection */
async function send(
  sent: SentRequest,
  { process, what, body: read, timeoutMs }: SendOptions,
  services: Pick<ApiServices, "store" | "clock" | "basePath">,
): Promise<Response> {
  const request = sent.whole();
  const { pathname, search } = new URL(request.url);
  const target = new URL(process.address);
  target.pathname = pathname;
  target.search = search;
  const headers = withoutConnection(request.headers);
  headers.delete("origin"); // this server has checked it against its own address
  headers.set("accept-encoding", "identity");
  headers.set(FORWARDED, "1");
  const { method } = request;
  const alive = whileAlive(process.id, services);
  const ends = [request.signal, alive.signal, ...(timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)])];
  const body = read === undefined ? request.body : JSON.stringify(read);
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
    throw notReached(thrown, { what, process });
  } finally {
    alive.stop();
  }
}

/** Rewrites the addresses in a response for this server: the process that sent it may be below another path of its host, or none. */
async function placedHere({ status, headers: given, body }: Response, basePath: string): Promise<Response> {
  const headers = withoutConnection(given);
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

function notReached(thrown: unknown, { what, process: { address } }: Pick<SendOptions, "what" | "process">): ToolError {
  const wasSent = !neverConnected(thrown instanceof Error ? thrown.cause : thrown); // the reason is in the cause of fetch's error
  return new ToolError("unavailable", `${what} in another process, which could not be reached.`, {
    retryable: true,
    outcome: wasSent ? "unknown" : "not_started",
    retryAfterMs: 2_000,
    hint: wasSent
      ? "Send it again with the same Idempotency-Key."
      : "Send it again in a moment: the sessions of a process that has ended are released.",
    operatorHint: `The process announced the address ${address}.`,
    cause: thrown,
  });
}

/** Aborts its signal when a process is not alive any more: a frozen process keeps connections open, but has lost its sessions. */
function whileAlive(
  id: string | undefined,
  { store, clock }: Pick<ApiServices, "store" | "clock">,
): { readonly signal: AbortSignal; stop(): void } {
  const gone = new AbortController();
  let isOver = id === undefined;
  let cancel = (): void => {};
  const lookLater = (): void => {
    if (!isOver) cancel = clock.timer(() => void look(), LOOK_MS);
  };
  const look = async (): Promise<void> => {
    const processes = await store?.processes().catch(() => undefined); // tried again at the next poll
    if (isOver) return; // the response arrived meanwhile, and is being read
    if (processes?.some((one) => one.id === id && one.alive) === false) gone.abort(new Error("The process has been silent for too long."));
    else lookLater();
  };
  lookLater();
  return {
    signal: gone.signal,
    stop() {
      isOver = true;
      cancel();
    },
  };
}

function withoutConnection(from: Headers): Headers {
  const headers = new Headers(from);
  for (const name of CONNECTION_HEADERS) headers.delete(name);
  return headers;
}
