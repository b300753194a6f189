/** The feed of a store in memory. */
import type { FeedEntry, StoreFeed } from "../../core/store-feed.ts";
import { systemPorts } from "../../core/system-ports.ts";
import { readMark, unknownMark, writeMark } from "../records/feed-mark.ts";
import { checkFeedOptions } from "../records/store-options.ts";

interface Place {
  readonly sequence: number;
  readonly sessionId: string;
  readonly position: number;
}

export class MemoryFeed {
  /** In order of their numbers. */
  #places: Place[] = [];
  #last = 0;
  readonly #seal = systemPorts.ids
    .next("feed")
    .toLowerCase()
    .replaceAll(/[^0-9a-z]/gu, "")
    .slice(-12);

  add(sessionId: string, position: number): void {
    this.#places.push({ sequence: ++this.#last, sessionId, position });
  }

  /** The session was removed. */
  forget(sessionId: string): void {
    this.#places = this.#places.filter((place) => place.sessionId !== sessionId);
  }

  /** `open` rejects when the store is closed. */
  guarded(open: () => Promise<void>): StoreFeed {
    return {
      latest: async () => {
        await open();
        return this.#mark(this.#last);
      },
      read: async (options) => {
        const { after, limit } = checkFeedOptions(options);
        await open();
        const { sequence, seal } = readMark(after);
        if (seal !== undefined && (seal !== this.#seal || sequence > this.#last)) throw unknownMark(after);
        const first = this.#indexAfter(sequence);
        const entries = this.#places.slice(first, first + limit).map((place) => this.#entry(place));
        return { entries, isFull: entries.length === limit };
      },
    };
  }

  #entry({ sequence, sessionId, position }: Place): FeedEntry {
    return { sessionId, position, mark: this.#mark(sequence) };
  }

  #mark(sequence: number): string {
    return writeMark(sequence === 0 ? { sequence, seal: undefined } : { sequence, seal: this.#seal });
  }

  #indexAfter(sequence: number): number {
    let [low, high] = [0, this.#places.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#places[middle]?.sequence ?? Infinity) > sequence) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
