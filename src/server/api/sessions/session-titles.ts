/** Titles of sessions for lists: the beginning of a log, read once and kept. */
import type { SessionEvent } from "../../../core/event.ts";
import type { EventPage, Store } from "../../../core/store.ts";
import { atMost } from "../../../core/base/short-text.ts";
import type { RuntimeSession } from "../../../runtime/runtime-session.ts";
import type { ApiSession } from "../openapi/component-types.ts";

/** So many events of a log are looked at. */
const LOOKED_AT = 6;
const MAX_CHARS = 200;
/** So many titles are kept. */
const MAX_KEPT = 10_000;
/** So many logs are read at a time, for all requests together. */
const READ_AT_ONCE = 8;

interface Title {
  /** When the session began that has it: another one may have its id later. */
  readonly createdAt: number | undefined;
  /** "" where the events that were looked at have none. */
  readonly title: string;
  /** How many events were looked at. */
  readonly lookedAt: number;
}

export class SessionTitles {
  readonly #store: Store | undefined;
  /** By the ids of sessions. */
  readonly #kept = new Map<string, Title>();
  #reading = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(store: Store | undefined) {
    this.#store = store;
  }

  /** The session with its title: the first message of a user or the first tool that was called, whichever came first. Never rejects. */
  async entitled(session: ApiSession, open?: RuntimeSession): Promise<ApiSession> {
    const title = await this.#titleOf(session, open);
    return title === "" ? session : { ...session, title };
  }

  async #titleOf(session: ApiSession, open: RuntimeSession | undefined): Promise<string> {
    const known = this.#known(session);
    if (known !== undefined) return known;
    if (session.damage !== undefined || session.length === 0) return "";
    // Another request may have looked while this one waited
    return this.#inTurn(async () => this.#known(session) ?? (await this.#look(session, open)));
  }

  /** Undefined where it was not looked for, or events were added since. */
  #known({ id, createdAt, length }: ApiSession): string | undefined {
    const kept = this.#kept.get(id);
    if (kept === undefined || kept.createdAt !== createdAt) return undefined;
    return kept.title !== "" || kept.lookedAt >= Math.min(length, LOOKED_AT) ? kept.title : undefined;
  }

  /** "" where the log cannot be read now: the session is listed all the same, and the next list looks again. */
  async #look({ id, createdAt }: ApiSession, open: RuntimeSession | undefined): Promise<string> {
    const beginning = await this.#beginning(id, open);
    if (beginning === undefined) return "";
    const { events, damage } = beginning;
    const title = titleIn(events);
    // No more can be read of a damaged log
    this.#keep(id, { createdAt, title, lookedAt: damage === undefined ? events.length : LOOKED_AT });
    return title;
  }

  /** Undefined where it cannot be read. */
  async #beginning(id: string, open: RuntimeSession | undefined): Promise<Pick<EventPage, "events" | "damage"> | undefined> {
    if (this.#store === undefined) return { events: open?.log.slice(0, LOOKED_AT) ?? [] };
    return this.#store.read(id, { limit: LOOKED_AT }).catch(() => undefined);
  }

  async #inTurn(look: () => Promise<string>): Promise<string> {
    if (this.#reading < READ_AT_ONCE) this.#reading++;
    else await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    try {
      return await look();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#reading--;
      else next(); // it takes this place
    }
  }

  #keep(id: string, kept: Title): void {
    this.#kept.delete(id);
    this.#kept.set(id, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }
}

function titleIn(events: readonly SessionEvent[]): string {
  for (const event of events) {
    if (event.type === "call-start" && typeof event.call.name === "string") return event.call.name.slice(0, MAX_CHARS);
    if ((event.type !== "message-add" && event.type !== "inbox-add") || event.message.role !== "user") continue;
    const { content } = event.message;
    const text = typeof content === "string" ? content : (content.find((part) => part.type === "text")?.text ?? "");
    // More than is kept, of which spaces may be a part.
    const title = text
      .slice(0, 4 * MAX_CHARS)
      .trim()
      .replaceAll(/\s+/gu, " ");
    if (title !== "") return atMost(title, MAX_CHARS);
  }
  return "";
}
