/** C10 of reliability: the wall clock is set while calls are under way; whatever is waited for goes by the clock that nobody sets. */
import { expect, test } from "vitest";
import type { Clock } from "../../src/core/ports.ts";
import { FakeClock } from "../../src/testing/fake-ports.ts";
import { testRuntime, tool } from "./bench-runtime.ts";
import { roundMs } from "../../src/core/system/system-ports.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A clock whose time of day can be set. */
function settableClock() {
  const inner = new FakeClock();
  let setBy = 0;
  const clock: Clock = {
    now: () => inner.now(),
    wallTime: () => inner.wallTime() + setBy,
    timer: (fire, delayMs) => inner.timer(fire, delayMs),
  };
  return { clock, inner, set: (byMs: number) => void (setBy += byMs) };
}

test.each([
  ["an hour back", -HOUR_MS],
  ["a day on", DAY_MS],
  ["to 29 February of a leap year", Date.UTC(2028, 1, 29) - Date.UTC(2026, 0, 1)],
])("C10 the wall clock is set %s: timeouts, backoff, the cache and durations are not affected", async (_what, byMs) => {
  const { clock, inner, set } = settableClock();
  const attemptsAt: number[] = [];
  let reads = 0;
  const { runtime } = testRuntime({
    ports: { clock },
    tools: [
      tool("hangs", () => new Promise(() => {}), { timeoutMs: 1_000, maxAttempts: 1 }),
      tool("flaky", () => {
        attemptsAt.push(inner.now());
        if (attemptsAt.length === 1) throw Object.assign(new Error("reset"), { code: "ECONNRESET" });
        return "up";
      }),
      tool("read", () => ++reads, { cache: { scope: "runtime", ttlMs: 1_000 } }),
    ],
  });
  await runtime.execute({ name: "read" });
  const [hanging, flaky] = [runtime.execute({ name: "hangs" }), runtime.execute({ name: "flaky" })];
  let hasEnded = false;
  void hanging.then(() => (hasEnded = true));
  await inner.advance(100);
  set(byMs);
  await inner.advance(899);
  expect([hasEnded, (await runtime.execute({ name: "read" })).output]).toEqual([false, 1]);
  await inner.advance(1);
  expect([await hanging, (await runtime.execute({ name: "read" })).output]).toMatchObject([
    { error: { code: "timeout" }, durationMs: 1_000 },
    2,
  ]);
  await inner.advance(2_000);
  const { status, durationMs } = await flaky;
  const [first = 0, second = 0] = attemptsAt;
  expect([status, attemptsAt.length, durationMs]).toEqual(["ok", 2, roundMs(second - first)]);
  expect(second - first).toBeGreaterThan(100);
  expect(second - first).toBeLessThan(2_000);
});
