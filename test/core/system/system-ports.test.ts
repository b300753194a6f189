import { expect, onTestFinished, test, vi } from "vitest";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { inProcessorTime } from "../../processor-time.ts";

const { clock } = systemPorts;

test("B06 cancelling 100,000 timers in the order they were set costs linear time", () => {
  // Some 30 ms; minutes when each cancellation sweeps.
  inProcessorTime(5_000, () => {
    const cancels = Array.from({ length: 100_000 }, () => clock.timer(() => {}, 30_000));
    for (const cancel of cancels) cancel();
  });
});

test("B02 a timer fires once, after its time, whatever timers around it were cancelled", async () => {
  const fired: string[] = [];
  const cancels = Array.from({ length: 5_000 }, () => clock.timer(() => fired.push("cancelled"), 1));
  const startedAt = clock.now();
  const done = new Promise<number>((resolve) => {
    clock.timer(() => {
      fired.push("kept");
      resolve(clock.now() - startedAt);
    }, 20);
  });
  for (const cancel of cancels) cancel();
  const waitedMs = await done;
  expect(fired).toEqual(["kept"]);
  expect(waitedMs).toBeGreaterThanOrEqual(20);
});

test("B02 timers due together fire in the order they were set, except those that one of them cancels", async () => {
  const fired: string[] = [];
  const set = (name: string): (() => void) => clock.timer(() => fired.push(name), 5);
  const cancelFirst = set("first");
  clock.timer(() => {
    fired.push("second");
    cancelThird();
    set("fifth");
  }, 5);
  const cancelThird = set("third");
  set("fourth");
  cancelFirst();
  await new Promise<void>((resolve) => void clock.timer(resolve, 50));
  expect(fired).toEqual(["second", "fourth", "fifth"]);
});

test("an object expires once, not before its time, unless its timer is cancelled", async () => {
  const startedAt = clock.now();
  let expired = 0;
  const target = (): { expire(): void } => ({ expire: () => expired++ });
  const cancelled = clock.expiry?.(target(), startedAt + 1);
  cancelled?.cancel();
  const expiredAt = await new Promise<number>((resolve) => {
    clock.expiry?.(target(), startedAt + 5);
    clock.expiry?.({ expire: () => resolve(clock.now()) }, startedAt + 5);
  });
  cancelled?.cancel();
  expect([expired, expiredAt >= startedAt + 5]).toEqual([1, true]);
});

test("the processor time continues after a query from a clock that is far ahead", () => {
  const before = clock.processorTime?.(Date.now()) ?? 0;
  const endsAt = clock.now() + 10_000;
  while ((clock.processorTime?.(clock.now()) ?? 0) <= before) if (clock.now() > endsAt) throw new Error("It does not go on.");
});

test("E13 a warning of the system's log is one line, whatever characters its text has", () => {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  onTestFinished(() => write.mockRestore());
  systemPorts.log.warn('It failed: x\nhaft: forged\r\u001b[31m "ö"');
  expect(write.mock.calls).toEqual([[String.raw`haft: It failed: x\nhaft: forged\r\u001b[31m "ö"` + "\n"]]);
});

test("the clock and its timers follow the fake timers of a test, which are installed after it was loaded", async () => {
  vi.useFakeTimers();
  try {
    const startedAt = clock.now();
    const fired: number[] = [];
    clock.timer(() => fired.push(clock.now() - startedAt), 60_000);
    await vi.advanceTimersByTimeAsync(59_000);
    expect([fired, clock.now() - startedAt]).toEqual([[], 59_000]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(fired).toEqual([60_000]);
  } finally {
    vi.useRealTimers();
  }
});
