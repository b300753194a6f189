/** Passes requests for sessions that another process of the store has open on to that process. */
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

/** Requests that were passed on have it: they are passed on no further. */
const FORWARDED = "haft-forwarded";

/** How often it is looked whether a process that has not answered yet still lives. */
const LOOK_MS = 5_000;

/** Which process a request needs. */
export interface Destination {
  /** The session that it works in. */
  readonly sessionId: string | undefined;
  /** The place that it names. */
  readonly place: string | undefined;
  /** Its body, where that was read already. */
  readonly body?: JsonValue | undefined;
}

/**
 * The answer of the process that has the session open, or else of one that has the place. Undefined where this one answers: for routes that need
 * neither, for sessions that are open here, or nowhere, or in a process that announced no address, and for places that this process has.
 *
 * @throws ToolError `unavailable` where that process cannot be reached, and where no process has the place. By rejecting
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

/** A session that another process took over may still be in this one, until it is dropped: it is open there. */
function isOpenHere(sessionId: string, { runtime }: Pick<ApiServices, "runtime">): boolean {
  const session = runtime.sessions.get(sessionId);
  return session !== undefined && session.broken === undefined;
}

/** Where another process is reached that has the session open. Undefined where it is open here, or nowhere, or that process announced no address. */
export async function ownerAddress(sessionId: string, services: Pick<ApiServices, "runtime" | "sessions">): Promise<string | undefined> {
  if (isOpenHere(sessionId, services)) return undefined;
  return (await services.sessions.stored(sessionId))?.openedAt;
}

export interface AnswerElsewhereOptions extends Omit<SendOptions, "process"> {
  /** Whether an answer that is well is the one that was looked for. @default every one */
  readonly fits?: (answer: Response) => Promise<boolean>;
}

/**
 * The answer of the process of the store that has what a request names, where its name does not say which: all others are asked at the same time.
 * Undefined where none has it, and for a request that was passed on itself.
 *
 * @throws ToolError `unavailable` where none has it and one could not be asked. By rejecting
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
 * The other processes of the store that live and announced an address, the latest one of each address: one that was killed seems to live for a while, and
 * its address may be that of the process that replaced it, such as this one.
 */
async function reachedProcesses(store: Store): Promise<readonly Reached[]> {
  const living = (await store.processes()).filter(({ alive }) => alive);
  const byAddress = new Map<string, StoredProcess>();
  for (const one of living.toSorted((a, b) => Number(a.own) - Number(b.own) || (a.startedAt ?? 0) - (b.startedAt ?? 0)))
    if (one.address !== undefined) byAddress.set(one.address, one);
  return [...byAddress].flatMap(([address, { id, own }]) => (own ? [] : [{ id, address }]));
}

/** It was passed on by another process, and is passed on no further. */
function wasForwarded({ headers }: SentRequest): boolean {
  return headers.get(FORWARDED) !== null;
}

/** @throws ToolError `unavailable`. By rejecting */
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
  /** Undefined where the store does not say. */
  readonly id: string | undefined;
  readonly address: string;
}

export interface SendOptions {
  readonly process: Reached;
  /** For messages: `The session is open`. */
  readonly what: string;
  /** In place of that of the request. */
  readonly body?: JsonValue | undefined;
  /** How long to wait for an answer. @default as long as the client does */
  readonly timeoutMs?: number;
}

/** Sends a request to another process as it is, and waits for the head of its answer while that process lives. @throws ToolError `unavailable`. By rejecting */
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
  headers.delete("origin"); // this server has judged it by its own address
  headers.set("accept-encoding", "identity");
  headers.set(FORWARDED, "1");
  const { method } = request;
  const alive = whileAlive(process.id, services);
  const ends = [request.signal, alive.signal, ...(timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)])];
  const body = read === undefined ? request.body : JSON.stringify(read);
  if (read !== undefined) headers.delete("content-length");
  try {
    // The client's connection and this one end together, as if it had asked there itself.
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

/** The answer as this server would give it: the process that gave it may be below another path of its host, or none. */
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
  const wasSent = !neverConnected(thrown instanceof Error ? thrown.cause : thrown); // fetch says why in the cause
  return new ToolError("unavailable", `${what} in another process, which could not be reached.`, {
    retryable: true,
    outcome: wasSent ? "unknown" : "not_started",
    retryAfterMs: 2_000,
    hint: wasSent
      ? "Send it again with the same Idempotency-Key."
      : "Send it again in a moment: a process that is gone loses its sessions.",
    operatorHint: `The process announced the address ${address}.`,
    cause: thrown,
  });
}

/** Aborts its signal once a process lives no more: one that was frozen holds connections open, and has lost its sessions by then. */
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
    const processes = await store?.processes().catch(() => undefined); // it is asked again
    if (isOver) return; // its answer came meanwhile, and is being read
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
