/** Messages on channels in memory. */
import type {
  ChannelEntry,
  ChannelEntryKey,
  ChannelStore,
  NewChannelEntry,
  ReadChannel,
  TakeEntry,
} from "../../core/store/channel-store.ts";
import type { Clock } from "../../core/ports.ts";

interface StoredEntry extends ChannelEntry {
  readonly sender: string;
  readonly senderId: string;
  isTaken: boolean;
  hasEnded: boolean;
}

export class MemoryChannels implements ChannelStore {
  readonly #clock: Clock;
  readonly #channels = new Map<string, StoredEntry[]>();
  readonly #last = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async send({ channel, body, sender, senderId, capacity, keep }: NewChannelEntry): Promise<number> {
    const kept = this.#channels.get(channel) ?? [];
    this.#channels.set(channel, kept);
    const open = kept.filter(({ hasEnded }) => !hasEnded);
    if (capacity !== undefined && open.length >= capacity) return 0;
    const number = Math.max(Math.trunc(this.#clock.wallTime()), (this.#last.get(channel) ?? 0) + 1);
    this.#last.set(channel, number);
    kept.push({ number, body, sender, senderId, isTaken: false, hasEnded: false });
    const removable = capacity === undefined ? kept : kept.filter(({ hasEnded }) => hasEnded);
    const old = new Set(removable.slice(0, Math.max(0, removable.length - keep)));
    if (old.size > 0)
      this.#channels.set(
        channel,
        kept.filter((one) => !old.has(one)),
      );
    return number;
  }

  async read({ channel, after, limit }: ReadChannel): Promise<readonly ChannelEntry[]> {
    return this.#entriesOf(channel)
      .filter(({ number }) => number > after)
      .slice(0, limit)
      .map(toEntry);
  }

  async latest({ channel, limit }: Omit<ReadChannel, "after">): Promise<readonly ChannelEntry[]> {
    return this.#entriesOf(channel).slice(-limit).map(toEntry);
  }

  async last(channel: string): Promise<number> {
    return this.#last.get(channel) ?? 0;
  }

  async waiting(channel: string): Promise<number> {
    return this.#entriesOf(channel).filter(({ hasEnded }) => !hasEnded).length;
  }

  async take({ channel, reader, from }: TakeEntry): Promise<ChannelEntry | undefined> {
    const first = this.#entriesOf(channel).find(
      ({ isTaken, hasEnded, sender, senderId }) =>
        !isTaken && !hasEnded && senderId !== reader && (from === undefined || sender === from || senderId === from),
    );
    if (first === undefined) return undefined;
    first.isTaken = true;
    return toEntry(first);
  }

  async release(key: ChannelEntryKey): Promise<void> {
    const one = this.#find(key);
    if (one !== undefined) one.isTaken = false;
  }

  async end(key: ChannelEntryKey): Promise<void> {
    const one = this.#find(key);
    if (one !== undefined) one.hasEnded = true;
  }

  #find({ channel, number }: ChannelEntryKey): StoredEntry | undefined {
    return this.#entriesOf(channel).find((one) => one.number === number);
  }

  #entriesOf(channel: string): readonly StoredEntry[] {
    return this.#channels.get(channel) ?? [];
  }
}

function toEntry({ number, body }: ChannelEntry): ChannelEntry {
  return { number, body };
}
