import { expect, vi } from "vitest";
import type { FakeClock } from "../../../src/testing/fake-ports.ts";

/** Moves the clock until the promise settles, and returns what it settles to. */
export async function settled<T>(clock: FakeClock, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const done = (): void => void (isSettled = true);
  promise.then(done, done);
  await vi.waitFor(async () => (await clock.advance(1_000), expect(isSettled).toBe(true)), { timeout: 10_000, interval: 5 });
  return await promise;
}
