/** Readers of events that other processes write, in a store that cannot be read again and again. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ToolError } from "../../../src/core/error.ts";
import type { Store } from "../../../src/core/store/store.ts";
import type { FeedItem } from "../../../src/runtime/events/feed-item.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { FakeClock, MemoryLog } from "../../../src/testing/fake-ports.ts";
import { inCI } from "../../ci.ts";
import { turns } from "../session/slow-store.ts";

const SESSIONS = ["a", "b", "c"];
/** More than the store's feed names at a time. */
const BURST = 1_100;

const step = fc.record({
  session: fc.nat(SESSIONS.length - 1),
  writes: fc.constantFrom(0, 1, 1, 1, 1, 1, 1, BURST),
  /** Which of the next reads of the store fail. */
  failures: fc.array(fc.boolean(), { maxLength: 6 }),
  leaves: fc.constantFrom(false, false, false, true),
  waitMs: fc.constantFrom(0, 1, 50, 500, 2_000),
  pause: fc.constantFrom(0, 1, 3, 8, 20),
});
const plan = fc.record({ all: fc.boolean(), steps: fc.array(step, { minLength: 1, maxLength: 12, size: "max" }) });
type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;

const MESSAGE = { role: "user", content: "more" } as const;

/** A reader that continues behind its place when it is refused, or its client leaves. */
class Reader {
  readonly got = new Map<string, number[]>();
  readonly #runtime: Runtime;
  readonly #session: string | undefined;
  #cursor: string | number = 0;
  #isOver = false;
  #feed: ReturnType<Runtime["events"]> | undefined;
  readonly #reading: Promise<void>;

  constructor(runtime: Runtime, session: string | undefined) {
    this.#runtime = runtime;
    this.#session = session;
    this.#reading = this.#read();
  }

  /** It comes again, with the last cursor that it got. */
  leave(): void {
    this.#feed?.close();
  }

  async end(): Promise<void> {
    this.#isOver = true;
    this.leave();
    await this.#reading;
  }

  async #read(): Promise<void> {
    for (; !this.#isOver; await turns(1)) {
      const feed = this.#runtime.events({ after: this.#cursor, ...(this.#session === undefined ? {} : { session: this.#session }) });
      this.#feed = feed;
      try {
        for await (const item of feed) this.#take(item);
      } catch (thrown: unknown) {
        if (ToolError.fromUnknown(thrown).code !== "store_failed") throw thrown;
      }
    }
  }

  #take(item: FeedItem): void {
    if (item.cursor !== undefined) this.#cursor = item.cursor;
    if (!("event" in item) || item.position === undefined || item.sessionId === undefined) return;
    this.got.set(item.sessionId, [...(this.got.get(item.sessionId) ?? []), item.position]);
  }
}

/** The same store, as a process sees it whose connection is lost for some reads. */
function flaky(store: Store): { readonly store: Store; fail(reads: readonly boolean[]): void } {
  let failures: boolean[] = [];
  const pass = <Args extends unknown[], T>(read: (...args: Args) => Promise<T>): ((...args: Args) => Promise<T>) => {
    return async (...args) => {
      await turns(1);
      if (failures.shift() === true) throw new ToolError("store_failed", "The connection was lost.");
      return await read(...args);
    };
  };
  const feed = { latest: pass(() => store.feed.latest()), read: pass((options) => store.feed.read(options)) } satisfies Store["feed"];
  const own: Partial<Store> = {
    feed,
    read: pass((id, options) => store.read(id, options)),
    list: pass((options) => store.list(options)),
    close: async () => {},
  };
  const seen = new Proxy(store, {
    get(target, key) {
      const value: unknown = Reflect.get(key in own ? own : target, key);
      return typeof value === "function" && !(key in own) ? value.bind(target) : value;
    },
  });
  return { store: seen, fail: (reads) => void (failures = [...reads]) };
}

async function play({ all, steps }: Plan): Promise<void> {
  const shared = memoryStore();
  const clock = new FakeClock();
  const { store, fail } = flaky(shared);
  const here = createRuntime({ store, ports: { clock, log: new MemoryLog() } });
  const elsewhere = createRuntime({ store: shared });
  const sessions = SESSIONS.map((id) => elsewhere.session(id));
  for (const session of sessions) await session.addMessage(MESSAGE);
  const reader = new Reader(here, all ? undefined : SESSIONS[0]);
  try {
    for (const { session, writes, failures, leaves, waitMs, pause } of steps) {
      fail(failures);
      if (leaves) reader.leave();
      await Promise.all(Array.from({ length: writes }, async () => sessions[session]?.addMessage(MESSAGE)));
      await clock.advance(waitMs);
      await turns(pause);
    }
    fail([]);
    const expected = new Map(
      sessions.filter(({ id }) => all || id === SESSIONS[0]).map(({ id, length }) => [id, positions(length)] as const),
    );
    for (let tries = 0; tries < 100 && count(reader.got) < count(expected); tries++) {
      await clock.advance(500);
      await turns(20);
    }
    expect(reader.got).toEqual(expected);
  } finally {
    await reader.end();
    await here.close();
    await elsewhere.close();
  }
}

function positions(length: number): readonly number[] {
  return Array.from({ length }, (_, index) => index + 1);
}

function count(got: ReadonlyMap<string, readonly number[]>): number {
  return [...got.values()].reduce((sum, each) => sum + each.length, 0);
}

test("issue 19.3 a reader gets each event of other processes once and in order, however often reading the store fails", async () => {
  await fc.assert(fc.asyncProperty(plan, play), { numRuns: inCI ? 300 : 25, endOnFailure: true, interruptAfterTimeLimit: 60_000 });
}, 120_000);
