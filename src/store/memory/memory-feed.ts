/** The feed of a store in memory. */
import type { FeedPage, ReadFeedOptions, StoreFeed } from "../../core/store-feed.ts";
import { systemPorts } from "../../core/system-ports.ts";
import { parseMark, unknownMarkError, formatMark } from "../records/feed-mark.ts";

interface FeedPosition {
  readonly sequence: number;
  readonly sessionId: string;
  readonly position: number;
}

export class MemoryFeed implements StoreFeed {
  /** In the order of their sequence numbers. */
  #positions: FeedPosition[] = [];
  #last = 0;
  readonly #seal = systemPorts.ids
    .next("feed")
    .toLowerCase()
    .replaceAll(/[^0-9a-z]/gu, "")
    .slice(-12);

  add(sessionId: string, position: number): void {
    this.#positions.push({ sequence: ++this.#last, sessionId, position });
  }

  /** Forgets the events of a removed session. */
  removeSession(sessionId: string): void {
    this.#positions = this.#positions.filter((place) => place.sessionId !== sessionId);
  }

  async latest(): Promise<string> {
    return this.#formatMark(this.#last);
  }

  async read({ after, limit }: Required<ReadFeedOptions>): Promise<FeedPage> {
    const { sequence, seal } = parseMark(after);
    if (seal !== undefined && (seal !== this.#seal || sequence > this.#last)) throw unknownMarkError(after);
    const first = this.#indexAfter(sequence);
    const places = this.#positions.slice(first, first + limit);
    const entries = places.map(({ sequence: number, sessionId, position }) => ({ sessionId, position, mark: this.#formatMark(number) }));
    return { entries, isFull: entries.length === limit };
  }

  #formatMark(sequence: number): string {
    return formatMark(sequence === 0 ? { sequence, seal: undefined } : { sequence, seal: this.#seal });
  }

  #indexAfter(sequence: number): number {
    let [low, high] = [0, this.#positions.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#positions[middle]?.sequence ?? Infinity) > sequence) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
