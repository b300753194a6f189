import fc from "fast-check";
import { expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { SessionEvent } from "../../src/core/event.ts";
import type { EventPage, ReadOptions } from "../../src/core/store/store.ts";
import { collect } from "../core/recording/recording-lines.ts";
import { readEventPages, readEvents } from "../../src/session/read-events.ts";

const PAGE = 1_000;

function events(count: number): readonly SessionEvent[] {
  return Array.from({ length: count }, (_, at): SessionEvent => ({ type: "session-start", sessionId: "s", at }));
}

/** A log whose pages may be shorter than asked for, as those with large events are. */
class PagedLog {
  readonly sessionId = "s";
  readonly reads: number[] = [];
  readonly all: readonly SessionEvent[];
  readonly #lengths: readonly number[];
  readonly #damagedAt: number | undefined;

  constructor(all: readonly SessionEvent[], lengths: readonly number[], damagedAt?: number) {
    this.all = all;
    this.#lengths = lengths;
    this.#damagedAt = damagedAt;
  }

  async read({ from = 1, limit = PAGE }: ReadOptions): Promise<EventPage> {
    this.reads.push(from);
    await new Promise((resolve) => setImmediate(resolve));
    const length = Math.min(limit, this.#lengths[from % this.#lengths.length] ?? limit);
    const end = Math.min(from - 1 + length, this.all.length, (this.#damagedAt ?? Infinity) - 1);
    const read = this.all.slice(from - 1, end);
    if (this.#damagedAt !== undefined && end + 1 >= this.#damagedAt)
      return { events: read, next: undefined, damage: { position: this.#damagedAt, reason: "a test" } };
    return { events: read, next: end < this.all.length ? end + 1 : undefined };
  }
}

test("every event is read once and in order, for any page lengths", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 6_000 }),
      fc.array(fc.oneof(fc.constant(PAGE), fc.integer({ min: 1, max: PAGE })), { minLength: 1, maxLength: 4 }),
      fc.nat(5_000),
      async (count, lengths, from) => {
        const log = new PagedLog(events(count), lengths.includes(PAGE) ? lengths : [...lengths, PAGE]);
        const read = await collect(readEvents(log, from));
        expect(read).toEqual(log.all.slice(from));
      },
    ),
    { numRuns: 60 },
  );
});

test("damage is reported after the last event before it, and pages read ahead of it are discarded", async () => {
  for (const damagedAt of [1, 2, PAGE, PAGE + 1, PAGE + 2, 2 * PAGE + 7]) {
    const log = new PagedLog(events(3 * PAGE), [PAGE], damagedAt);
    const read: SessionEvent[] = [];
    const reading = async (): Promise<void> => {
      for await (const event of readEvents(log)) read.push(event);
    };
    await expect(reading()).rejects.toMatchObject({ code: "corrupt_record" });
    expect(read).toHaveLength(damagedAt - 1);
  }
});

test("the next page is read ahead while the current one is used, and a log of one page is read once", async () => {
  const long = new PagedLog(events(4 * PAGE), [PAGE]);
  const pages = readEventPages(long);
  await pages.next();
  expect(long.reads).toEqual([1, PAGE + 1, 2 * PAGE + 1]);
  await pages.return(undefined);
  const short = new PagedLog(events(10), [PAGE]);
  await collect(readEvents(short));
  expect(short.reads).toEqual([1]);
});

test("a failed read-ahead is reported for its page, and not at all if that page is not needed", async () => {
  const log = new PagedLog(events(2 * PAGE), [PAGE]);
  const failing = {
    sessionId: "s",
    read: (options: ReadOptions) =>
      (options.from ?? 1) > 2 * PAGE ? Promise.reject(new ToolError("store_failed", "gone")) : log.read(options),
  };
  expect(await collect(readEvents(failing))).toHaveLength(2 * PAGE);
  const longer = {
    ...failing,
    read: (options: ReadOptions) => ((options.from ?? 1) > PAGE ? failing.read({ from: 9_999 }) : log.read(options)),
  };
  await expect(collect(readEvents(longer))).rejects.toMatchObject({ code: "store_failed", message: "gone" });
});
