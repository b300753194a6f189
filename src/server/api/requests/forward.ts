/** Forwards requests for sessions that another process of the store has open to that process. */
import type { JsonValue } from "../../../core/base/json.ts";
import { ToolError } from "../../../core/error.ts";
import type { StoredProcess } from "../../../core/store/process-store.ts";
import type { Store, StoredSession } from "../../../core/store/store.ts";
import { API, type OperationId } from "../../api.ts";
import { sleep } from "../../../processes/sleep.ts";
import type { SentRequest } from "./api-request.ts";
import type { Route } from "./route.ts";
import type { ApiServices } from "../services.ts";
import { SessionElsewhereError } from "../sessions/session-errors.ts";
import { sendToProcess, wasForwarded, type ReachableProcess, type SendOptions } from "./send-to-process.ts";

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
export async function forwardRequest(
  id: OperationId,
  request: SentRequest,
  to: Destination,
  services: ApiServices,
): Promise<Response | undefined> {
  const { inSession, query = {} }: Route = API[id];
  const { store, runtime, forwardedWork } = services;
  if (store === undefined || wasForwarded(request)) return undefined;
  if (inSession === true && to.sessionId !== undefined) {
    if (isOpenHere(to.sessionId, services)) return undefined;
    const owner = await services.sessions.findStored(to.sessionId);
    if (owner?.openedAt !== undefined) return sendToOwner({ ...owner, openedAt: owner.openedAt }, request, to.body, services);
    if (owner?.openedBy !== undefined) return undefined;
  }
  if (to.place === undefined || !Object.hasOwn(query, "place") || runtime.places.includes(to.place)) return undefined;
  const process = await findProcessWithPlace(to.place, store);
  return forwardedWork.track(sendToProcess(request, { process, what: "The place is", body: to.body }, services));
}

/**
 * Returns the response of the process that has a session open, for a request that failed here because of it: that process opened the session while this
 * one was about to, or it runs the calls of a request outside any session with the same key. undefined for other errors, and if that process announced
 * no address.
 *
 * @throws ToolError `unavailable` if that process cannot be reached, as a rejection
 */
export async function forwardAfterError(
  thrown: unknown,
  request: SentRequest,
  body: JsonValue | undefined,
  services: ApiServices,
): Promise<Response | undefined> {
  if (!(thrown instanceof SessionElsewhereError) || services.store === undefined || wasForwarded(request)) return undefined;
  const owner = await services.sessions.findStored(thrown.sessionId);
  return owner?.openedAt === undefined ? undefined : sendToOwner({ ...owner, openedAt: owner.openedAt }, request, body, services);
}

function sendToOwner(
  { openedIn, openedAt }: Pick<StoredSession, "openedIn"> & { readonly openedAt: string },
  request: SentRequest,
  body: JsonValue | undefined,
  services: ApiServices,
): Promise<Response> {
  const process = { id: openedIn, address: openedAt };
  return services.forwardedWork.track(sendToProcess(request, { process, what: "The session is open", body }, services));
}

/** Whether the session is open here. A session that another process took over may remain here until it is dropped; it is not open here. */
function isOpenHere(sessionId: string, { runtime }: Pick<ApiServices, "runtime">): boolean {
  const session = runtime.sessions.get(sessionId);
  return session !== undefined && session.broken === undefined;
}

/** The address of the other process that has the session open; undefined if it is open here or nowhere, or that process announced no address. */
export async function findOwnerAddress(
  sessionId: string,
  services: Pick<ApiServices, "runtime" | "sessions">,
): Promise<string | undefined> {
  if (isOpenHere(sessionId, services)) return undefined;
  return (await services.sessions.findStored(sessionId))?.openedAt;
}

/** @throws SessionElsewhereError if another process, which announced an address, has the session open; as a rejection */
export async function checkNotElsewhere(sessionId: string, services: Pick<ApiServices, "runtime" | "sessions" | "store">): Promise<void> {
  if (services.store === undefined || isOpenHere(sessionId, services)) return;
  const stored = await services.sessions.findStored(sessionId);
  if (stored?.openedAt !== undefined) throw new SessionElsewhereError(stored);
}

/**
 * Waits until a process has the session open, for calls that are about to open it here: another process may do so first. Ends when the
 * signal aborts, and after 30 s.
 *
 * @throws SessionElsewhereError if another process, which announced an address, has the session open; as a rejection
 */
export async function waitUntilOpen(
  sessionId: string,
  services: Pick<ApiServices, "runtime" | "sessions" | "store" | "clock">,
  signal: AbortSignal,
): Promise<void> {
  const endsAt = services.clock.now() + MAX_OPEN_WAIT_MS;
  while (services.store !== undefined && !signal.aborted && !isOpenHere(sessionId, services) && services.clock.now() < endsAt) {
    const stored = await services.sessions.findStored(sessionId);
    if (stored?.openedAt !== undefined) throw new SessionElsewhereError(stored);
    if (stored?.openedBy !== undefined) return;
    await sleep(services.clock, OPEN_POLL_MS, signal, { background: true });
  }
}

/** How often to check whether a session was opened, and for how long, in milliseconds. */
const OPEN_POLL_MS = 20;
const MAX_OPEN_WAIT_MS = 30_000;

export interface AskProcessesOptions extends Omit<SendOptions, "process"> {
  /** Whether a successful response is the wanted one. @default every one is */
  readonly accepts?: (answer: Response) => Promise<boolean>;
}

/**
 * Asks all other processes of the store at the same time, for requests whose process cannot be determined, and returns the first fitting response.
 * undefined if no process has one, and for a forwarded request.
 *
 * @throws ToolError `unavailable` if none has one and some process could not be asked, as a rejection
 */
export async function askOtherProcesses(
  request: SentRequest,
  services: ApiServices,
  { accepts, ...options }: AskProcessesOptions,
): Promise<Response | undefined> {
  const { store } = services;
  if (store === undefined || wasForwarded(request)) return undefined;
  const asked = (await listReachableProcesses(store)).map((process) => sendToProcess(request, { ...options, process }, services));
  const found = asked.map(async (sent) => {
    const answer = await sent;
    if (answer.ok && (accepts === undefined || (await accepts(answer.clone())))) return answer;
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
async function listReachableProcesses(store: Store): Promise<readonly ReachableProcess[]> {
  const living = (await store.processes()).filter(({ alive }) => alive);
  const byAddress = new Map<string, StoredProcess>();
  for (const one of living.toSorted((a, b) => Number(a.own) - Number(b.own) || (a.startedAt ?? 0) - (b.startedAt ?? 0)))
    if (one.address !== undefined) byAddress.set(one.address, one);
  return [...byAddress].flatMap(([address, { id, own }]) => (own ? [] : [{ id, address }]));
}

/** Finds a process with a place. @throws ToolError `unavailable`, as a rejection */
async function findProcessWithPlace(place: string, store: Store): Promise<ReachableProcess> {
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
