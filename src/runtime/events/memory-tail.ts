/** The end of all logs of a runtime without a store, as far as memory reaches. Events of one session are in order. */
import { ToolError } from "../../core/error.ts";
import type { OpenSessions } from "../open-sessions.ts";
import type { RuntimeSession } from "../runtime-session.ts";
import { EventTail, type SharedTailOptions, type TailPage } from "./event-tail.ts";
import type { FeedItem } from "./feed-item.ts";
import { toFeedItem } from "./log-source.ts";

const WINDOW_SIZE = 10_000;

export interface MemoryTailOptions extends SharedTailOptions {
  readonly open: OpenSessions;
  /** Different from that of any other runtime. */
  readonly id: string;
}

export class MemoryTail extends EventTail {
  readonly #id: string;
  /** How many events of each session have been ordered already. */
  readonly #known = new WeakMap<RuntimeSession, number>();
  /** Sessions that may have new events. */
  readonly #changed = new Set<RuntimeSession>();
  #count = 0;

  constructor({ open, id, logged, ports }: MemoryTailOptions) {
    super({ keep: WINDOW_SIZE, logged, ports });
    this.#id = id
      .toLowerCase()
      .replaceAll(/[^0-9a-z]/gu, "")
      .slice(-12);
    for (const session of open.all()) this.#known.set(session, session.length);
    this.window.startAt(this.#mark(0));
  }

  override normalize(cursor: string): string {
    return cursor === "0" ? this.#mark(0) : cursor;
  }

  markChanged(session: RuntimeSession): void {
    this.#changed.add(session);
    this.wake();
  }

  async startCursor(): Promise<string> {
    await this.catchUp();
    return this.window.cursor ?? this.#mark(0);
  }

  async checkCursor(cursor: string): Promise<void> {
    if (!/^(?:\d{1,15}-[0-9a-z]{1,12})$/u.test(cursor))
      throw new ToolError("invalid_argument", `${JSON.stringify(cursor.slice(0, 60))} is not a cursor from which events can be read.`);
    if (this.window.indexAfter(cursor) !== undefined) return;
    throw new ToolError("gone", `Events cannot be read from the cursor ${cursor}: it is no longer in memory.`, {
      hint: "Read the sessions from the beginning, then continue from now on. With a store, events are kept.",
    });
  }

  /** Returns a gap for a reader that is further behind than memory reaches; it continues with the oldest event in memory. */
  override async page(cursor: string): Promise<TailPage> {
    const base = this.window.base ?? this.#mark(0);
    const missed = Math.max(0, Number.parseInt(base, 10) - Number.parseInt(cursor, 10));
    return { items: [{ gap: { missed, of: "kept" }, cursor: base }], cursor: base, isEnd: false };
  }

  override async readLogged(cursor: string): Promise<TailPage> {
    await this.catchUp();
    const { window } = this;
    const items: FeedItem[] = [];
    for (let index = window.indexAfter(cursor) ?? window.start; index < window.end; index++) {
      const item = window.item(index);
      if (item?.cursor !== undefined) items.push(item);
    }
    return { items, cursor: items.at(-1)?.cursor ?? cursor, isEnd: true };
  }

  protected async read(cursor: string): Promise<TailPage> {
    const items: FeedItem[] = [];
    for (const session of this.#changed) {
      const known = this.#known.get(session) ?? session.baseLength + session.copiedLength;
      const events = session.logSince(known) ?? [];
      this.#known.set(session, known + events.length);
      this.markLogged(events);
      for (const [index, event] of events.entries())
        items.push(toFeedItem(event, session.id, known + index + 1, this.#mark(++this.#count)));
    }
    this.#changed.clear();
    return { items, cursor: items.at(-1)?.cursor ?? cursor, isEnd: true };
  }

  #mark(count: number): string {
    return `${count}-${this.#id}`;
  }
}
