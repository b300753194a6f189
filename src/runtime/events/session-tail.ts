/** The end of one session's log. Its cursors are positions. */
import { ToolError } from "../../core/error.ts";
import type { RuntimeSession } from "../runtime-session.ts";
import { EventTail, type SharedTailParts, type TailPage } from "./event-tail.ts";
import { durableLength, itemOf, sessionGone, type LogSource } from "./log-source.ts";

/** Minimum number of events that stay in the window; readers that are further behind read the log. */
const KEPT = 500;

export interface SessionTailParts extends SharedTailParts {
  readonly sessionId: string;
  readonly source: LogSource;
}

export class SessionTail extends EventTail {
  readonly sessionId: string;
  readonly #source: LogSource;
  /** The session that was open here on the first read. */
  #held: RuntimeSession | undefined;
  /** When the session of the first read was created: a later session with the same id is a different one. */
  #createdAt: number | undefined;

  constructor({ sessionId, source, kept, ports }: SessionTailParts) {
    super({ keep: KEPT, kept, ports });
    this.sessionId = sessionId;
    this.#source = source;
  }

  async first(): Promise<string> {
    return "0";
  }

  async check(cursor: string): Promise<void> {
    const position = positionOf(cursor);
    this.#held ??= this.#source.openHere(this.sessionId);
    const { events } = await this.#source.read(this.sessionId, Math.max(0, position - 1), { limit: 1, held: this.#held });
    if (position > 0 && events.length === 0) throw unknownPosition(this.sessionId, position);
    const end = this.#held === undefined || this.window.cursor !== undefined ? undefined : await durableLength(this.#held);
    if (end !== undefined) this.beginAt(String(end));
  }

  /** Ends the tail when a session without a store is closed. */
  async closed(session: RuntimeSession): Promise<void> {
    if (this.#source.store !== undefined || session !== this.#held) return;
    await this.catchUp();
    this.end();
  }

  protected async read(cursor: string): Promise<TailPage> {
    const { sessionId } = this;
    const after = positionOf(cursor);
    const { events, isEnd } = await this.#source.read(sessionId, after, { held: this.#held });
    const createdAt = await this.#source.createdAt(sessionId);
    if (createdAt !== (this.#createdAt ??= createdAt)) throw sessionGone(sessionId);
    this.keepInMind(events);
    const items = events.map((event, index) => itemOf(event, sessionId, after + index + 1, String(after + index + 1)));
    return { items, cursor: items.at(-1)?.cursor ?? cursor, isEnd };
  }
}

/** @throws ToolError `invalid_argument` */
function positionOf(cursor: string): number {
  if (/^(?:0|[1-9]\d{0,14})$/u.test(cursor)) return Number(cursor);
  throw new ToolError("invalid_argument", `${JSON.stringify(cursor.slice(0, 60))} is not a position in the log of a session.`, {
    hint: "Give the position of the last event that was read, or 0 for the first event.",
  });
}

function unknownPosition(sessionId: string, position: number): ToolError {
  return new ToolError("gone", `The log of session ${JSON.stringify(sessionId)} has no event ${position} to continue from.`, {
    hint: "Read the session from the beginning: after=0.",
  });
}
