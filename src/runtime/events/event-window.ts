/** The latest events of a tail, which all its readers share. */
import type { FeedItem, FollowedEvent } from "./feed-item.ts";

interface Entry {
  readonly item: FeedItem;
  /** Number of live-only events so far, including this one. */
  readonly live: number;
}

/** Events by index, which counts all events ever added. The oldest are dropped once there are twice as many as `keep`. */
export class EventWindow {
  readonly #keep: number;
  #entries: Entry[] = [];
  #start = 0;
  #live = 0;
  /** The cursor before the first entry; undefined until the window has a place in the log. */
  #base: string | undefined;
  #cursor: string | undefined;

  constructor(keep: number) {
    this.#keep = keep;
  }

  /** Cursor of the last event of a log; undefined until `startAt`. */
  get cursor(): string | undefined {
    return this.#cursor;
  }

  /** Cursor before the first event in the window. */
  get base(): string | undefined {
    return this.#base;
  }

  /** Index of the first event in the window. */
  get start(): number {
    return this.#start;
  }

  /** Index of the next event. */
  get end(): number {
    return this.#start + this.#entries.length;
  }

  /** Sets the cursor at which the window begins. */
  startAt(cursor: string): void {
    this.#base = cursor;
    this.#cursor = cursor;
  }

  push(item: FeedItem): void {
    if (item.cursor === undefined) this.#live++;
    else this.#cursor = item.cursor;
    this.#entries.push({ item, live: this.#live });
    if (this.#entries.length >= this.#keep * 2) this.#dropOldest(this.#entries.length - this.#keep);
  }

  item(index: number): FeedItem | undefined {
    return this.#entries[index - this.#start]?.item;
  }

  /** Number of live-only events before an index. */
  liveBefore(index: number): number {
    const first = this.#entries[0];
    if (index > this.#start) return this.#entries[index - this.#start - 1]?.live ?? this.#live;
    if (first === undefined) return this.#live;
    return first.live - (first.item.cursor === undefined ? 1 : 0);
  }

  /** Index after the event with this cursor; undefined if the window does not have it. */
  indexAfter(cursor: string): number | undefined {
    for (let index = this.#entries.length - 1; index >= 0; index--)
      if (this.#entries[index]?.item.cursor === cursor) return this.#start + index + 1;
    return cursor === this.#base ? this.#start : undefined;
  }

  #dropOldest(count: number): void {
    for (const { item } of this.#entries.slice(0, count)) this.#base = item.cursor ?? this.#base;
    this.#entries = this.#entries.slice(count);
    this.#start += count;
  }
}

export function isEvent(item: FeedItem): item is FollowedEvent {
  return "event" in item;
}
