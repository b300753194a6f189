/** Reads events of sessions by position: from memory where they are open here, else from the store. */
import { ToolError } from "../../core/error.ts";
import type { SessionEvent } from "../../core/event.ts";
import type { Store } from "../../core/store.ts";
import { damagedLog, take } from "../../session/read-events.ts";
import type { OpenSessions } from "../open-sessions.ts";
import { recordedEvents } from "../recorded-events.ts";
import type { RuntimeSession } from "../runtime-session.ts";
import type { FeedItem } from "./feed-item.ts";

export interface LogSourceParts {
  readonly open: OpenSessions;
  readonly store: Store | undefined;
}

/** Some events of a log, from the position after the one that was asked for. */
export interface SourcePage {
  readonly events: readonly SessionEvent[];
  readonly isEnd: boolean;
}

const PAGE = 1_000;

export class LogSource {
  readonly #parts: LogSourceParts;
  /** Sessions that are open here, and that another process has continued. */
  readonly #takenOver = new WeakSet<RuntimeSession>();

  constructor(parts: LogSourceParts) {
    this.#parts = parts;
  }

  get store(): Store | undefined {
    return this.#parts.store;
  }

  /** A session that is open here, whose log is the one that others would read. */
  openHere(sessionId: string): RuntimeSession | undefined {
    const session = this.#parts.open.holderOf(sessionId);
    if (session === undefined || session.isEphemeral || session.simulated || session.broken !== undefined) return undefined;
    return this.#takenOver.has(session) ? undefined : session;
  }

  /** The store has an event of a session at this position. Where that is not known here, another process has written it. */
  noteStored(sessionId: string, position: number): void {
    const session = this.openHere(sessionId);
    if (session?.eventLog !== undefined && position > session.eventLog.length) this.#takenOver.add(session);
  }

  /** When the session of this id was begun: it tells a session from the next one of its id. Undefined where there is none, or no store has it. */
  async createdAt(sessionId: string): Promise<number | undefined> {
    const log = this.openHere(sessionId)?.eventLog;
    if (log !== undefined) return log.options.at;
    const [stored] = (await this.#parts.store?.list({ sessionId })) ?? [];
    return stored?.createdAt;
  }

  /**
   * Events behind the first `after`, as far as they are durable.
   *
   * @param held what was open here, for a session that only memory has
   * @throws ToolError `not_found`, `corrupt_record`. By rejecting
   */
  async read(
    sessionId: string,
    after: number,
    { limit = PAGE, held }: { readonly limit?: number; readonly held?: RuntimeSession | undefined } = {},
  ): Promise<SourcePage> {
    const session = this.#parts.store === undefined ? (held ?? this.openHere(sessionId)) : this.openHere(sessionId);
    const end = session === undefined ? undefined : await durableLength(session);
    if (session !== undefined && end !== undefined) return this.#readOpen(session, after, Math.min(end, after + limit), end);
    const { store } = this.#parts;
    if (store === undefined) throw noSession(sessionId);
    return readStored(store, sessionId, after, limit);
  }

  async #readOpen(session: RuntimeSession, after: number, upTo: number, end: number): Promise<SourcePage> {
    const isEnd = upTo >= end;
    if (upTo <= after) return { events: [], isEnd };
    // A store may have had no room for a whole answer that memory knows of: then places differ.
    const isAlike = session.eventLog === undefined || session.eventLog.length === session.length;
    const inMemory = isAlike ? session.logSince(after, upTo) : undefined;
    if (inMemory !== undefined) return { events: inMemory, isEnd };
    const events: SessionEvent[] = [];
    for await (const event of take(recordedEvents(session, after), upTo - after)) events.push(withoutOutput(event));
    return { events, isEnd };
  }
}

/** How many events the store has for certain; all of them where there is no store. Undefined when the log is another's now. */
export async function durableLength(session: RuntimeSession): Promise<number | undefined> {
  const { eventLog } = session;
  if (eventLog === undefined) return session.length;
  const { length } = eventLog;
  try {
    await eventLog.whenDurable();
    return session.broken === undefined ? length : undefined;
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown, "store_failed");
    if (error.code === "store_failed") throw error; // it stays in the buffer, and may be written later
    return undefined;
  }
}

async function readStored(store: Store, sessionId: string, after: number, limit: number): Promise<SourcePage> {
  const { events, next, damage } = await store.read(sessionId, { from: after + 1, limit });
  if (events.length === 0 && damage !== undefined) throw damagedLog(sessionId, damage);
  return { events: events.map(withoutOutput), isEnd: next === undefined && damage === undefined };
}

/** A whole answer may be many megabytes: followers learn that there is one, and read it where they want it. */
function withoutOutput(event: SessionEvent): SessionEvent {
  if (event.type !== "output-keep") return event;
  const { output: _output, content: _content, ...rest } = event;
  return Object.freeze(rest);
}

function noSession(sessionId: string): ToolError {
  return new ToolError("not_found", `There is no session ${JSON.stringify(sessionId)}.`);
}

export function sessionGone(sessionId: string): ToolError {
  return new ToolError("not_found", `The session ${JSON.stringify(sessionId)} was removed.`);
}

export function itemOf(event: SessionEvent, sessionId: string, position: number, cursor: string): FeedItem {
  return Object.freeze({ event, sessionId, position, cursor });
}
