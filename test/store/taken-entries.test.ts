/** Entries that were taken from the queue of sessions, and how taking them ends. */
import type { PgBoss } from "pg-boss";
import { expect, test } from "vitest";
import { QueueConsumer } from "../../src/store/postgres/queue-consumer.ts";
import { FakeClock, settle } from "../../src/testing/fake-ports.ts";
import { gate } from "../runtime/bench-runtime.ts";

/** One entry, which is fetched once. */
function take(boss: Partial<Record<"fetch" | "complete" | "fail" | "touch", () => Promise<unknown>>>, work: () => Promise<void>) {
  const clock = new FakeClock();
  let fetched = 0;
  const all = {
    fetch: async () => (fetched++ === 0 ? [ENTRY] : []),
    complete: async () => {},
    fail: async () => {},
    touch: async () => {},
    ...boss,
  } as unknown as PgBoss; // the part of it that is used
  const onError = (error: unknown): never => expect.fail(String(error));
  return { clock, entries: new QueueConsumer({ boss: all, queue: "q", work, concurrency: 1, onError, pollMs: () => 1_000, clock }) };
}

const ENTRY = { id: "1", retryCount: 0, data: {} };

test.for(["fail", "complete"] as const)("issue 21.3 stop() waits until the end of an entry is written: %s", async (end) => {
  const written = gate();
  const work = async (): Promise<void> => {
    if (end === "fail") throw new Error("It cannot be opened.");
  };
  const { clock, entries } = take({ [end]: () => written.promise }, work);
  await clock.advance(0);
  let isStopped = false;
  const stopped = entries.stop().then(() => void (isStopped = true));
  await settle();
  expect(isStopped).toBe(false);
  written.open();
  await stopped;
  expect(clock.pending).toBe(0);
});

test("issue 21.3 an entry that arrives after the queue was closed is not processed", async () => {
  const fetched = gate<unknown>();
  let isWorked = false;
  const { clock, entries } = take({ fetch: () => fetched.promise }, async () => void (isWorked = true));
  await clock.advance(0);
  entries.abandon();
  fetched.open([ENTRY]);
  await clock.advance(10_000);
  expect([isWorked, clock.pending]).toEqual([false, 0]);
});

test("issue 21.3 entries are not touched after the queue was closed, even if a touch was in progress", async () => {
  const touched = gate();
  let touches = 0;
  const touch = (): Promise<void> => {
    touches++;
    return touched.promise;
  };
  const { clock, entries } = take({ touch }, () => new Promise(() => {}));
  await clock.advance(2_000);
  entries.abandon();
  touched.open();
  await clock.advance(10_000);
  expect([touches, clock.pending]).toEqual([1, 0]);
});
