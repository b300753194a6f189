import { vi } from "vitest";
import type { FakeClock } from "../../../src/testing/fake-ports.ts";

/** Moves the clock until the promise settles, and returns what it settles to. */
export async function settled<T>(clock: FakeClock, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  void Promise.allSettled([promise]).then(() => (isSettled = true));
  await vi.waitUntil(async () => (await clock.advance(1_000), isSettled), { timeout: 10_000, interval: 5 });
  return await promise;
}
