/** Titles of sessions for lists, read from the beginning of a log and cached. */
import type { SessionEvent } from "../../../core/event.ts";
import type { EventPage, Store } from "../../../core/store.ts";
import { atMost } from "../../../core/base/short-text.ts";
import type { RuntimeSession } from "../../../runtime/runtime-session.ts";
import type { ApiSession } from "../openapi/component-types.ts";

/** Maximum number of events of a log that are examined. */
const LOOKED_AT = 6;
const MAX_CHARS = 200;
/** Maximum number of cached titles. */
const MAX_KEPT = 10_000;
/** Maximum number of logs read at a time, over all requests. */
const READ_AT_ONCE = 8;

interface Title {
  /** When the session was created: a later session may have the same id. */
  readonly createdAt: number | undefined;
  /** Empty if the examined events have no title. */
  readonly title: string;
  readonly lookedAt: number;
}

export class SessionTitles {
  readonly #store: Store | undefined;
  readonly #kept = new Map<string, Title>();
  #reading = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(store: Store | undefined) {
    this.#store = store;
  }

  /** Adds the title: the first message of a user or the first called tool, whichever came first. Never rejects. */
  async entitled(session: ApiSession, open?: RuntimeSession): Promise<ApiSession> {
    const title = await this.#titleOf(session, open);
    return title === "" ? session : { ...session, title };
  }

  async #titleOf(session: ApiSession, open: RuntimeSession | undefined): Promise<string> {
    const known = this.#known(session);
    if (known !== undefined) return known;
    if (session.damage !== undefined || session.length === 0) return "";
    // another request may have read it while this one waited
    return this.#inTurn(async () => this.#known(session) ?? (await this.#look(session, open)));
  }

  /** The cached title; undefined if there is none, or if events were added since. */
  #known({ id, createdAt, length }: ApiSession): string | undefined {
    const kept = this.#kept.get(id);
    if (kept === undefined || kept.createdAt !== createdAt) return undefined;
    return kept.title !== "" || kept.lookedAt >= Math.min(length, LOOKED_AT) ? kept.title : undefined;
  }

  /** Reads the title. Returns "" if the log cannot be read now: the session is listed without a title, and the next list tries again. */
  async #look({ id, createdAt }: ApiSession, open: RuntimeSession | undefined): Promise<string> {
    const beginning = await this.#beginning(id, open);
    if (beginning === undefined) return "";
    const { events, damage } = beginning;
    const title = titleIn(events);
    // a damaged log will never have more to read
    this.#keep(id, { createdAt, title, lookedAt: damage === undefined ? events.length : LOOKED_AT });
    return title;
  }

  /** The first events of a session; undefined if they cannot be read. */
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
      else next(); // the next one takes this slot
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
    // longer than the title, since white space is collapsed
    const title = text
      .slice(0, 4 * MAX_CHARS)
      .trim()
      .replaceAll(/\s+/gu, " ");
    if (title !== "") return atMost(title, MAX_CHARS);
  }
  return "";
}
