/** Lists of a busy server that are read over a slow network. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ThrottledReader } from "../../src/dashboard/server/throttled-reader.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const EVERY_MS = 800;

/** Readings that take so long, while a change comes every 100 ms for ten seconds. */
async function busyTenSeconds(readingMs: number) {
  const readings: { readonly from: number; to?: number }[] = [];
  const startedAt = Date.now();
  const lists = new ThrottledReader(async () => {
    const reading: (typeof readings)[number] = { from: Date.now() - startedAt };
    readings.push(reading);
    await new Promise((resolve) => setTimeout(resolve, readingMs));
    reading.to = Date.now() - startedAt;
  }, EVERY_MS);
  for (let at = 0; at < 10_000; at += 100) {
    lists.markChanged();
    await vi.advanceTimersByTimeAsync(100);
  }
  await vi.advanceTimersByTimeAsync(60_000);
  return readings;
}

test.each([1, 50, 800, 1_200, 5_000])("reads of %i ms do not overlap, and the last begins after the last change", async (readingMs) => {
  const readings = await busyTenSeconds(readingMs);
  expect(readings.length).toBeGreaterThan(1);
  for (const [index, { from, to }] of readings.entries()) {
    expect(to).toBe(from + readingMs);
    expect(from).toBeGreaterThanOrEqual((readings[index - 1]?.to ?? 0) + EVERY_MS);
  }
  expect(readings.at(-1)?.from).toBeGreaterThanOrEqual(9_900);
});

test("one change causes one read, and none follows after the end", async () => {
  const read = vi.fn(async () => {});
  const lists = new ThrottledReader(read, EVERY_MS);
  lists.markChanged();
  lists.markChanged();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(read).toHaveBeenCalledTimes(1);
  lists.markChanged();
  lists.stop();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(read).toHaveBeenCalledTimes(1);
});
