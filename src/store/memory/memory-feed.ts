/** The feed of a store in memory. */
import type { FeedPage, ReadFeedOptions, StoreFeed } from "../../core/store/store-feed.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import { parseMark, unknownMarkError, formatMark } from "../records/feed-mark.ts";

interface FeedPosition {
  readonly sequence: number;
  readonly sessionId: string;
  readonly position: number;
}

export class MemoryFeed implements StoreFeed {
  /** In the order of their sequence numbers. */
  readonly #positions: FeedPosition[] = [];
  /** The sequence number of the first event of each session. */
  readonly #firsts = new Map<string, number>();
  #last = 0;
  readonly #seal = systemPorts.ids
    .next("feed")
    .toLowerCase()
    .replaceAll(/[^0-9a-z]/gu, "")
    .slice(-12);

  add(sessionId: string, position: number): void {
    this.#positions.push({ sequence: ++this.#last, sessionId, position });
    if (!this.#firsts.has(sessionId)) this.#firsts.set(sessionId, this.#last);
  }

  /** Forgets the events of a removed session. Looks only at events since the first one of the session. */
  removeSession(sessionId: string): void {
    const first = this.#firsts.get(sessionId);
    if (first === undefined) return;
    this.#firsts.delete(sessionId);
    const later = this.#positions.splice(this.#indexAfter(first - 1));
    for (const place of later) if (place.sessionId !== sessionId) this.#positions.push(place);
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
