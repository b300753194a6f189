/** Handlers of the routes for sessions, their branches, events and recordings. */
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { ToolError } from "../../../core/error.ts";
import { writeRecording } from "../../../core/recording/recording.ts";
import type { Store, StoredSession } from "../../../core/store/store.ts";
import { diffSessions, diffWithEvents } from "../../../runtime/diff-sessions.ts";
import { importRecording } from "../../../runtime/import-recording.ts";
import type { RuntimeSession } from "../../../runtime/runtime-session.ts";
import { readEvents, type ReadableLog } from "../../../session/read-events.ts";
import type { SessionDiff } from "../../../session/session-diff.ts";
import type { PlacedEvents } from "../../events/event-hub.ts";
import type { ApiSession } from "../openapi/component-types.ts";
import { DEFAULT_WAIT_MS } from "../openapi/json-schema.ts";
import { readLimitedText } from "../requests/read-limited-text.ts";
import type { ApiServices, Handlers, RequestOf } from "../services.ts";
import { readAnywhere } from "../sessions/read-anywhere.ts";
import { OWN_SESSION_PREFIX, checkNewId, checkVisible, noSession, refuseSessionKey } from "../sessions/session-ids.ts";
import { callsRunError, useWithin } from "../sessions/use-within.ts";
import { toApiError } from "../sessions/session-errors.ts";
import { streamResponse } from "../requests/stream-response.ts";
import { noContent } from "./responses.ts";
import { acceptsStream } from "../requests/accepts-stream.ts";

/** Maximum number of sessions examined for one page of a search, in parts of SEARCH_PAGE_SIZE: the title of each may have to be read. */
const MAX_SEARCHED = 2_000;
const SEARCH_PAGE_SIZE = 500;

/** Number of events of a recording that are read at a time. */
const EXPORT_PAGE_SIZE = 100;

interface StoredPage {
  readonly found: readonly ApiSession[];
  /** How many of the newest sessions were examined, previous pages included. */
  readonly searched: number;
  /** The offset of the next page; undefined if there is none. */
  readonly next?: number;
}

interface PageRange {
  readonly limit: number;
  readonly offset: number;
  readonly maxRead: number;
  readonly signal: AbortSignal;
}

/** @param find returns the session as listed; undefined to skip it */
async function findStoredPage(
  store: Store,
  { limit, offset, maxRead, signal }: PageRange,
  find: (session: StoredSession) => Promise<ApiSession | undefined>,
): Promise<StoredPage> {
  const found: ApiSession[] = [];
  const size = Math.min(maxRead, SEARCH_PAGE_SIZE);
  for (let at = offset; at < offset + maxRead; at += size) {
    signal.throwIfAborted();
    const read = await store.list({ limit: size + 1, offset: at });
    const looked = await Promise.all(read.slice(0, size).map(find));
    for (const [index, session] of looked.entries()) {
      if (session === undefined) continue;
      if (found.length === limit) return { found, searched: at + index, next: at + index };
      found.push(session);
    }
    if (read.length <= size) return { found, searched: at + read.length };
  }
  return { found, searched: offset + maxRead, next: offset + maxRead };
}

export const sessionHandlers = {
  async createSession({ runtime, principal, body: { id, from } }, { sessions, store }) {
    refuseSessionKey(principal);
    checkNewId(id);
    if (id !== undefined) await sessions.whenReleased(id);
    sessions.checkCapacity();
    return startSession(id, { sessions, store }, () => runtime.session(id, from === undefined ? {} : { from }));
  },

  async listSessions({ runtime, principal, query: { limit, cursor = "0", q = "" }, signal }, { store, titles }) {
    const isVisible = (id: string): boolean => !id.startsWith(OWN_SESSION_PREFIX) && (principal.sessionId ?? id) === id;
    const matchesSearch = createSearchFilter(q);
    const offset = Number(cursor);
    if (store === undefined) {
      const open = offset === 0 ? runtime.sessions.list().filter(({ id }) => isVisible(id)) : [];
      const sessions = await Promise.all(open.map((session) => titles.withTitle(toApiSession(session), session)));
      return { sessions: sessions.filter(matchesSearch), ...(q === "" ? {} : { searched: sessions.length }) };
    }
    const shown = (one: StoredSession): Promise<ApiSession> =>
      titles.withTitle(toStoredApiSession(one, runtime.sessions.get(one.sessionId)));
    if (principal.sessionId !== undefined) {
      const own = await store.list({ sessionId: principal.sessionId }); // does not reveal how many other sessions there are
      return { sessions: (await Promise.all((offset === 0 ? own : []).map(shown))).filter(matchesSearch) };
    }
    // the session with exactly this id is found at once, however old it is, and is not listed twice
    const named = q === "" || offset > 0 ? [] : (await store.list({ sessionId: q })).filter(({ sessionId }) => isVisible(sessionId));
    const { found, searched, next } = await findStoredPage(
      store,
      { limit: limit - named.length, offset, maxRead: q === "" ? limit : MAX_SEARCHED, signal },
      async (one) => {
        if (!isVisible(one.sessionId) || one.sessionId === q) return undefined;
        const session = await shown(one);
        return matchesSearch(session) ? session : undefined;
      },
    );
    return {
      sessions: [...(await Promise.all(named.map(shown))), ...found],
      ...(q === "" ? {} : { searched }),
      ...(next === undefined ? {} : { next: String(next) }),
    };
  },

  async getSession({ runtime, principal, params: { sessionId } }, { sessions, titles }) {
    checkVisible(principal, sessionId);
    const stored = await sessions.findStored(sessionId);
    const open = runtime.sessions.get(sessionId);
    if (stored !== undefined) return titles.withTitle(toStoredApiSession(stored, open));
    if (open === undefined) throw noSession(sessionId);
    return titles.withTitle(toApiSession(open), open);
  },

  async deleteSession({ principal, params: { sessionId } }, services) {
    checkVisible(principal, sessionId);
    const existed = await services.sessions.remove(sessionId);
    await endReaders(sessionId, services); // also if the session is gone: an earlier removal may have failed halfway
    if (!existed) throw noSession(sessionId);
    return noContent();
  },

  async forkSession({ principal, params: { sessionId }, body: { id, simulated, at } }, { sessions, store, clock }) {
    checkVisible(principal, sessionId);
    refuseSessionKey(principal); // a branch is another session, which the key could neither use nor end
    checkNewId(id);
    const fork = async (session: RuntimeSession): Promise<ApiSession> => {
      sessions.checkCapacity();
      const options = omitUndefined({ id, simulated });
      return startSession(id, { sessions, store }, () => (at === undefined ? session.fork(options) : session.forkAt(at, options)));
    };
    return useWithin(sessionId, fork, { sessions, clock });
  },

  async commitSession({ runtime, principal, params: { sessionId }, body }, services) {
    const { sessions } = services;
    checkVisible(principal, sessionId);
    refuseSessionKey(principal); // a commit writes to the parent, which is another session
    const branch = await requireOpenBranch(runtime.sessions.get(sessionId), sessionId, services);
    const parent = branch.parent?.id ?? "";
    await commitWithin(branch, body?.waitMs ?? DEFAULT_WAIT_MS, services);
    await sessions.close(branch);
    await endReaders(sessionId, services);
    return sessions.use(parent, toApiSession);
  },

  async discardSession({ runtime, principal, params: { sessionId } }, services) {
    checkVisible(principal, sessionId);
    const branch = await requireOpenBranch(runtime.sessions.get(sessionId), sessionId, services);
    await branch.discard();
    await services.sessions.close(branch);
    await endReaders(sessionId, services);
    return noContent();
  },

  async getDiff({ runtime, principal, params: { sessionId }, query: { with: otherId, at, withAt: otherAt } }, services) {
    checkVisible(principal, sessionId);
    if (otherId === undefined && (at ?? otherAt) !== undefined)
      throw new ToolError("invalid_argument", "at and withAt need another session or point to compare with.", {
        hint: "Name it with ?with=; it may be the same session.",
      });
    if (otherId === undefined) return (await requireOpenBranch(runtime.sessions.get(sessionId), sessionId, services)).diff();
    checkVisible(principal, otherId);
    const compare = async (session: RuntimeSession): Promise<SessionDiff> => {
      const other = runtime.sessions.get(otherId);
      const options = omitUndefined({ at, otherAt });
      if (other !== undefined && other.broken === undefined) return diffSessions(session, other, options);
      await services.sessions.checkExists(otherId);
      return diffWithEvents(session, readAnywhere(otherId, services), options);
    };
    return useWithin(sessionId, compare, services);
  },

  async getSnapshot({ principal, params: { sessionId } }, services) {
    checkVisible(principal, sessionId);
    return useWithin(sessionId, (session) => session.snapshot(), services, { waitsForCalls: true });
  },

  async listSessionEvents(request, services) {
    checkVisible(request.principal, request.params.sessionId);
    return eventsOf(request.params.sessionId, request, services);
  },

  listEvents(request, services) {
    const { principal, query } = request;
    const { sessionId = principal.sessionId, types, tool, principal: by, after } = query;
    if (sessionId !== undefined) checkVisible(principal, sessionId);
    const filter = omitUndefined({ sessionId, types: types?.split(","), tool, principal: by });
    return streamResponse(request, services, filter, request.request.headers.get("last-event-id") ?? after);
  },

  async exportRecording({ runtime, principal, params: { sessionId } }, { store, clock }) {
    checkVisible(principal, sessionId);
    const open = runtime.sessions.get(sessionId);
    if (open === undefined) await store?.read(sessionId, { limit: 1 });
    const events = open?.events() ?? (store === undefined ? undefined : readEvents(readInSmallPages(store, sessionId)));
    if (events === undefined) throw noSession(sessionId);
    const lines = writeRecording(events, { sessionId, exportedAt: clock.wallTime() });
    return new Response(ReadableStream.from(encodeLines(lines)), {
      headers: { "content-type": "application/jsonl", "cache-control": "no-store" },
    });
  },

  async importRecording({ principal, request, query: { id } }, { store, settings }) {
    refuseSessionKey(principal);
    if (store === undefined)
      throw new ToolError("unavailable", "The server has no store to import a recording into.", { hint: "Give the runtime a store." });
    return importRecording(store, readLimitedText(request.toRequestWithBody(), settings.maxRecordingBytes), {
      checkId: checkNewId,
      ...omitUndefined({ id }),
    });
  },
} satisfies Partial<Handlers>;

/** Commits a branch, unless its calls or those of its session run for longer. @throws ToolError `resource_busy`, as a rejection */
async function commitWithin(branch: RuntimeSession, waitMs: number, { clock }: Pick<ApiServices, "clock">): Promise<void> {
  const controller = new AbortController();
  const cancel = clock.timer(() => controller.abort(), waitMs, { background: true });
  try {
    await branch.commit({ signal: controller.signal });
  } catch (thrown: unknown) {
    if (!controller.signal.aborted || ToolError.fromUnknown(thrown).code !== "cancelled") throw thrown;
    throw callsRunError(`The branch ${JSON.stringify(branch.id)} was not committed: calls of it, or of its session, still run.`);
  } finally {
    cancel();
  }
}

/** Revokes the keys and ends the streams of a removed session: a later session with its id is a different one. */
async function endReaders(sessionId: string, { access, events }: ApiServices): Promise<void> {
  events.endStreamsOf(sessionId);
  await access.revokeKeysOf(sessionId);
}

/** Whether the id and the title of a session contain all the words, each in either, in any order, ignoring case. */
function createSearchFilter(q: string): (session: ApiSession) => boolean {
  const words = q.toLowerCase().split(/\s+/u);
  return ({ id, title = "" }) => {
    const text = `${id}\n${title}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
}

/** The events of one session: a page, or a stream if the client asks for one. */
export async function eventsOf(
  sessionId: string,
  request: Pick<RequestOf<"listSessionEvents">, "query" | "request" | "principal" | "signal">,
  services: ApiServices,
): Promise<PlacedEvents | Response> {
  const { query, request: raw } = request;
  if (!acceptsStream(raw)) return services.events.readPage(sessionId, query);
  return streamResponse(request, services, { sessionId }, raw.headers.get("last-event-id") ?? query.after);
}

/** A log that is read in small pages, so that a client that reads slowly keeps little of it in memory. */
function readInSmallPages(store: Store, sessionId: string): ReadableLog {
  return { sessionId, read: (options) => store.read(sessionId, { ...options, limit: EXPORT_PAGE_SIZE }) };
}

/** Adds a new session or branch to the pool. @throws ToolError `duplicate` if another session has the id */
async function startSession(
  id: string | undefined,
  { sessions, store }: Pick<ApiServices, "sessions" | "store">,
  begin: () => RuntimeSession | Promise<RuntimeSession>,
): Promise<ApiSession> {
  try {
    const session = await begin();
    if (store !== undefined) await waitUntilStored(session);
    sessions.add(session);
    return toApiSession(session);
  } catch (thrown: unknown) {
    throw toApiError(thrown, id);
  }
}

/** Resolves when the session is in the store, because the next request for it may go to another process. */
async function waitUntilStored(session: RuntimeSession): Promise<void> {
  try {
    await session.snapshot();
  } catch (thrown: unknown) {
    await session.close().catch(() => {}); // the first error is the one to report
    throw thrown;
  }
}

async function requireOpenBranch(session: RuntimeSession | undefined, id: string, { sessions }: ApiServices): Promise<RuntimeSession> {
  if (session?.parent !== undefined) return session;
  if (session === undefined && (await sessions.findStored(id)) === undefined) throw noSession(id);
  throw new ToolError("conflict", `The session ${JSON.stringify(id)} is not a branch${session === undefined ? " that is open" : ""}.`, {
    hint: "Fork a session first; a commit and a restart of the server end its branches.",
  });
}

function toApiSession(session: RuntimeSession): ApiSession {
  const { id, length, parent, simulated } = session;
  return {
    id,
    open: true,
    length,
    ...(simulated ? { simulated } : {}),
    ...(parent === undefined ? {} : { parent: { sessionId: parent.id } }),
  };
}

function toStoredApiSession(
  { sessionId, length, createdAt, updatedAt, parent, openedBy, openedIn, damage }: StoredSession,
  open: RuntimeSession | undefined,
): ApiSession {
  return {
    id: sessionId,
    open: open !== undefined,
    length: Math.max(length, open?.length ?? 0),
    createdAt,
    updatedAt,
    ...omitUndefined({ parent, openedBy, openedIn, damage }),
  };
}

async function* encodeLines(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array, void, undefined> {
  const encoder = new TextEncoder();
  for await (const line of lines) yield encoder.encode(line);
}
