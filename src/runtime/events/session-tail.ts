/** The end of one session's log. Its cursors are positions. */
import { ToolError } from "../../core/error.ts";
import type { RuntimeSession } from "../runtime-session.ts";
import { EventTail, type SharedTailOptions, type TailPage } from "./event-tail.ts";
import { durableLength, toFeedItem, sessionRemovedError, type LogSource } from "./log-source.ts";

/** Minimum number of events that stay in the window; readers that are further behind read the log. */
const WINDOW_SIZE = 500;

export interface SessionTailOptions extends SharedTailOptions {
  readonly sessionId: string;
  readonly source: LogSource;
}

export class SessionTail extends EventTail {
  readonly sessionId: string;
  readonly #source: LogSource;
  /** The session that was open here on the first read. */
  #openSession: RuntimeSession | undefined;
  /** When the session of the first read was created: a later session with the same id is a different one. */
  #createdAt: number | undefined;

  constructor({ sessionId, source, logged, ports }: SessionTailOptions) {
    super({ keep: WINDOW_SIZE, logged, ports });
    this.sessionId = sessionId;
    this.#source = source;
  }

  async startCursor(): Promise<string> {
    return "0";
  }

  async checkCursor(cursor: string): Promise<void> {
    const position = parsePosition(cursor);
    this.#openSession ??= this.#source.findOpenSession(this.sessionId);
    const { events } = await this.#source.read(this.sessionId, Math.max(0, position - 1), { limit: 1, sessionInMemory: this.#openSession });
    if (position > 0 && events.length === 0) throw unknownPositionError(this.sessionId, position);
    const end = this.#openSession === undefined || this.window.cursor !== undefined ? undefined : await durableLength(this.#openSession);
    if (end !== undefined) this.startAt(String(end));
  }

  /** Ends the tail when a session without a store is closed. */
  async onSessionClosed(session: RuntimeSession): Promise<void> {
    if (this.#source.store !== undefined || session !== this.#openSession) return;
    await this.catchUp();
    this.end();
  }

  protected async read(cursor: string): Promise<TailPage> {
    const { sessionId } = this;
    const after = parsePosition(cursor);
    const { events, isEnd } = await this.#source.read(sessionId, after, { sessionInMemory: this.#openSession });
    const createdAt = await this.#source.createdAt(sessionId);
    if (createdAt !== (this.#createdAt ??= createdAt)) throw sessionRemovedError(sessionId);
    this.markLogged(events);
    const items = events.map((event, index) => toFeedItem(event, sessionId, after + index + 1, String(after + index + 1)));
    return { items, cursor: items.at(-1)?.cursor ?? cursor, isEnd };
  }
}

/** @throws ToolError `invalid_argument` */
function parsePosition(cursor: string): number {
  if (/^(?:0|[1-9]\d{0,14})$/u.test(cursor)) return Number(cursor);
  throw new ToolError("invalid_argument", `${JSON.stringify(cursor.slice(0, 60))} is not a position in the log of a session.`, {
    hint: "Give the position of the last event that was read, or 0 for the first event.",
  });
}

function unknownPositionError(sessionId: string, position: number): ToolError {
  return new ToolError("gone", `The log of session ${JSON.stringify(sessionId)} has no event ${position} to continue from.`, {
    hint: "Read the session from the beginning: after=0.",
  });
}
