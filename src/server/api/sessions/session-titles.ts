/** Titles of sessions for lists, read from the beginning of a log and cached. */
import { singleLine } from "../../../core/base/wording.ts";
import type { SessionEvent } from "../../../core/event.ts";
import type { EventPage, Store } from "../../../core/store/store.ts";
import { truncateText } from "../../../core/base/truncate-text.ts";
import type { RuntimeSession } from "../../../runtime/runtime-session.ts";
import type { ApiSession } from "../openapi/component-types.ts";

/** Maximum number of events of a log that are examined. */
const MAX_EXAMINED_EVENTS = 6;
const MAX_CHARS = 200;
/** Maximum number of cached titles. */
const MAX_CACHED = 10_000;
/** Maximum number of logs read at a time, over all requests. */
const MAX_CONCURRENT_READS = 8;

interface Title {
  /** When the session was created: a later session may have the same id. */
  readonly createdAt: number | undefined;
  /** Empty if the examined events have no title. */
  readonly title: string;
  readonly examinedEvents: number;
}

export class SessionTitles {
  readonly #store: Store | undefined;
  readonly #cached = new Map<string, Title>();
  #reading = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(store: Store | undefined) {
    this.#store = store;
  }

  /** Adds the title: the first message of a user or the first called tool, whichever came first. Never rejects. */
  async withTitle(session: ApiSession, open?: RuntimeSession): Promise<ApiSession> {
    const title = await this.#titleOf(session, open);
    return title === "" ? session : { ...session, title };
  }

  async #titleOf(session: ApiSession, open: RuntimeSession | undefined): Promise<string> {
    const known = this.#findCached(session);
    if (known !== undefined) return known;
    if (session.damage !== undefined || session.length === 0) return "";
    // another request may have read it while this one waited
    return this.#withReadSlot(async () => this.#findCached(session) ?? (await this.#readTitle(session, open)));
  }

  /** The cached title; undefined if there is none, or if events were added since. */
  #findCached({ id, createdAt, length }: ApiSession): string | undefined {
    const title = this.#cached.get(id);
    if (title === undefined || title.createdAt !== createdAt) return undefined;
    return title.title !== "" || title.examinedEvents >= Math.min(length, MAX_EXAMINED_EVENTS) ? title.title : undefined;
  }

  /** Reads the title. Returns "" if the log cannot be read now: the session is listed without a title, and the next list tries again. */
  async #readTitle({ id, createdAt }: ApiSession, open: RuntimeSession | undefined): Promise<string> {
    const beginning = await this.#readFirstEvents(id, open);
    if (beginning === undefined) return "";
    const { events, damage } = beginning;
    const title = findTitle(events);
    // a damaged log will never have more to read
    this.#cacheTitle(id, { createdAt, title, examinedEvents: damage === undefined ? events.length : MAX_EXAMINED_EVENTS });
    return title;
  }

  /** The first events of a session; undefined if they cannot be read. */
  async #readFirstEvents(id: string, open: RuntimeSession | undefined): Promise<Pick<EventPage, "events" | "damage"> | undefined> {
    if (this.#store === undefined) return { events: open?.log.slice(0, MAX_EXAMINED_EVENTS) ?? [] };
    return this.#store.read(id, { limit: MAX_EXAMINED_EVENTS }).catch(() => undefined);
  }

  async #withReadSlot(look: () => Promise<string>): Promise<string> {
    if (this.#reading < MAX_CONCURRENT_READS) this.#reading++;
    else await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    try {
      return await look();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#reading--;
      else next(); // the next one takes this slot
    }
  }

  #cacheTitle(id: string, title: Title): void {
    this.#cached.delete(id);
    this.#cached.set(id, title);
    const [oldest] = this.#cached.keys();
    if (this.#cached.size > MAX_CACHED && oldest !== undefined) this.#cached.delete(oldest);
  }
}

function findTitle(events: readonly SessionEvent[]): string {
  for (const event of events) {
    if (event.type === "call-start" && typeof event.call.name === "string") return event.call.name.slice(0, MAX_CHARS);
    if ((event.type !== "message-add" && event.type !== "inbox-add") || event.message.role !== "user") continue;
    const { content } = event.message;
    const text = typeof content === "string" ? content : (content.find((part) => part.type === "text")?.text ?? "");
    // longer than the title, since white space is collapsed
    const title = singleLine(text.slice(0, 4 * MAX_CHARS));
    if (title !== "") return truncateText(title, MAX_CHARS);
  }
  return "";
}
