/** Whether the clock of a database is seen to be set, however late its answers come. */
import { expect, test } from "vitest";
import { FakeClock } from "../../src/testing/fake-ports.ts";
import { ClockWatch } from "../../src/store/sql/clock-watch.ts";

const TOLERANCE_MS = 5_000;
const AHEAD_MS = 1_000_000;

function watched() {
  const clock = new FakeClock();
  const watch = new ClockWatch({ clock, toleranceMs: TOLERANCE_MS });
  let setBy = 0;
  const read = async ({ before = 0, set = 0, after = 0 }: { before?: number; set?: number; after?: number } = {}): Promise<void> => {
    const ask = async (): Promise<number> => {
      await clock.advance(before);
      setBy += set;
      const time = clock.now() + AHEAD_MS + setBy;
      await clock.advance(after);
      return time;
    };
    await watch.measure(ask, (time) => time);
  };
  return { clock, watch, read };
}

test.each([
  ["put forward while its answer is late", { before: 20_000, set: 20_000, after: 20_000 }],
  ["put back while its answer is late", { before: 20_000, set: -20_000, after: 20_000 }],
  ["put forward before a late answer", { set: 20_000, after: 40_000 }],
  ["put back before a late answer", { set: -20_000, before: 40_000 }],
])("a clock that is %s is detected as set, at the latest with the next answer", async (_, late) => {
  const { clock, watch, read } = watched();
  await read();
  await clock.advance(5_000);
  await read(late);
  await clock.advance(5_000);
  await read();
  expect([watch.wasSet, watch.steadyForMs <= 5_000]).toEqual([true, true]);
  await clock.advance(5_000);
  await read();
  expect(watch.steadyForMs).toBeGreaterThanOrEqual(5_000);
});

test("a clock that is never set counts as even, despite late answers, drift and small corrections", async () => {
  const { clock, watch, read } = watched();
  await read({ after: 30 });
  for (const [before, after] of [
    [0, 40_000],
    [40_000, 0],
    [20_000, 20_000],
    [0, 0],
    [10, 10],
  ] as const) {
    await clock.advance(10_000);
    await read({ before, after, set: 5 });
    await clock.advance(10_000);
    await read({ set: -TOLERANCE_MS + 100 });
  }
  expect([watch.wasSet, watch.steadyForMs]).toEqual([false, clock.now() - 30]);
});
