/** Reads events of sessions by position: from memory if the session is open here, else from the store. */
import { ToolError } from "../../core/error.ts";
import type { SessionEvent } from "../../core/event.ts";
import type { Store } from "../../core/store/store.ts";
import { damagedLogError, takeFirst } from "../../session/read-events.ts";
import type { OpenSessions } from "../open-sessions.ts";
import { readSessionEvents } from "../recorded-events.ts";
import type { RuntimeSession } from "../runtime-session.ts";
import type { FeedItem } from "./feed-item.ts";

export interface LogSourceOptions {
  readonly open: OpenSessions;
  readonly store: Store | undefined;
}

/** Some events of a log, after a given position. */
export interface SourcePage {
  readonly events: readonly SessionEvent[];
  readonly isEnd: boolean;
}

const PAGE = 1_000;

export class LogSource {
  readonly #options: LogSourceOptions;
  /** Sessions that are open here although another process has continued them. */
  readonly #takenOver = new WeakSet<RuntimeSession>();

  constructor(options: LogSourceOptions) {
    this.#options = options;
  }

  get store(): Store | undefined {
    return this.#options.store;
  }

  /** The session if it is open here and its log is current. */
  findOpenSession(sessionId: string): RuntimeSession | undefined {
    const session = this.#options.open.findById(sessionId);
    if (session === undefined || session.isEphemeral || session.simulated || session.broken !== undefined) return undefined;
    return this.#takenOver.has(session) ? undefined : session;
  }

  /** Notes that the store has an event of a session at this position. If the session here is shorter, another process has written the event. */
  noteStored(sessionId: string, position: number): void {
    const session = this.findOpenSession(sessionId);
    if (session?.eventLog !== undefined && position > session.eventLog.length) this.#takenOver.add(session);
  }

  /** When the session was created, which distinguishes it from a later session with its id. Undefined if it does not exist, or without a store. */
  async createdAt(sessionId: string): Promise<number | undefined> {
    const log = this.findOpenSession(sessionId)?.eventLog;
    if (log !== undefined) return log.options.at;
    const [stored] = (await this.#options.store?.list({ sessionId })) ?? [];
    return stored?.createdAt;
  }

  /**
   * Reads events after the first `after` events, as far as they are durable.
   *
   * @param options.sessionInMemory the session that was open here, if only memory has it
   * @throws ToolError `not_found`, `corrupt_record`, as a rejection
   */
  async read(
    sessionId: string,
    after: number,
    { limit = PAGE, sessionInMemory }: { readonly limit?: number; readonly sessionInMemory?: RuntimeSession | undefined } = {},
  ): Promise<SourcePage> {
    const session =
      this.#options.store === undefined ? (sessionInMemory ?? this.findOpenSession(sessionId)) : this.findOpenSession(sessionId);
    const end = session === undefined ? undefined : await durableLength(session);
    if (session !== undefined && end !== undefined) return this.#readOpen(session, after, Math.min(end, after + limit), end);
    const { store } = this.#options;
    if (store === undefined) throw unknownSessionError(sessionId);
    return readStored(store, sessionId, after, limit);
  }

  async #readOpen(session: RuntimeSession, after: number, upTo: number, end: number): Promise<SourcePage> {
    const isEnd = upTo >= end;
    if (upTo <= after) return { events: [], isEnd };
    // The store may have had no room for a whole answer that memory has; positions then differ.
    const isAlike = session.eventLog === undefined || session.eventLog.length === session.length;
    const inMemory = isAlike ? session.logSince(after, upTo) : undefined;
    if (inMemory !== undefined) return { events: inMemory, isEnd };
    const events: SessionEvent[] = [];
    for await (const event of takeFirst(readSessionEvents(session, after), upTo - after)) events.push(withoutOutput(event));
    return { events, isEnd };
  }
}

/** Number of events that are durable; all events if there is no store. Undefined if another process owns the log now. */
export async function durableLength(session: RuntimeSession): Promise<number | undefined> {
  const { eventLog } = session;
  if (eventLog === undefined) return session.length;
  const { length } = eventLog;
  try {
    await eventLog.whenDurable();
    return session.broken === undefined ? length : undefined;
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown, "store_failed");
    if (error.code === "store_failed") throw error; // the events stay buffered and may be written later
    return undefined;
  }
}

async function readStored(store: Store, sessionId: string, after: number, limit: number): Promise<SourcePage> {
  const { events, next, damage } = await store.read(sessionId, { from: after + 1, limit });
  if (events.length === 0 && damage !== undefined) throw damagedLogError(sessionId, damage);
  return { events: events.map(withoutOutput), isEnd: next === undefined && damage === undefined };
}

/** Removes the output of `output-keep` events, which may be many megabytes: readers learn that it exists and fetch it if they need it. */
function withoutOutput(event: SessionEvent): SessionEvent {
  if (event.type !== "output-keep") return event;
  const { output: _output, content: _content, ...rest } = event;
  return Object.freeze(rest);
}

function unknownSessionError(sessionId: string): ToolError {
  return new ToolError("not_found", `There is no session ${JSON.stringify(sessionId)}.`);
}

export function sessionRemovedError(sessionId: string): ToolError {
  return new ToolError("not_found", `The session ${JSON.stringify(sessionId)} was removed.`);
}

export function toFeedItem(event: SessionEvent, sessionId: string, position: number, cursor: string): FeedItem {
  return Object.freeze({ event, sessionId, position, cursor });
}
