/** The clock of the server as the page knows it, without a browser. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ServerClock } from "../../src/dashboard/server/server-clock.ts";

const HERE = Date.UTC(2026, 0, 1, 12);
const HOUR_MS = 3_600_000;
const header = (at: number): string => new Date(at).toUTCString();

beforeEach(() => {
  vi.useFakeTimers({ now: HERE });
});
afterEach(() => {
  vi.useRealTimers();
});

test.each([-HOUR_MS, HOUR_MS])("the time of a server whose clock differs by %d ms is that of its responses", (differenceMs) => {
  const clock = new ServerClock();
  expect([clock.now(), clock.isKnown]).toEqual([HERE, false]);
  clock.observe(header(HERE + differenceMs), HERE);
  expect(clock.isKnown).toBe(true);
  expect(Math.abs(clock.now() - HERE - differenceMs)).toBeLessThanOrEqual(500);
  vi.advanceTimersByTime(60_000);
  expect(Math.abs(clock.now() - HERE - differenceMs - 60_000)).toBeLessThanOrEqual(500);
});

test("a difference within the precision of the header leaves the exact clock of the machine, also after a larger one", () => {
  const clock = new ServerClock();
  clock.observe(header(HERE + 2_000), HERE);
  expect(clock.now()).toBe(HERE);
  clock.observe(header(HERE + HOUR_MS), HERE);
  clock.observe(header(HERE), HERE);
  expect(clock.now()).toBe(HERE);
});

test("responses without a readable time, and those that came late, are ignored", () => {
  const clock = new ServerClock();
  clock.observe(null, HERE);
  clock.observe("yesterday", HERE);
  clock.observe(header(HERE + HOUR_MS), HERE - 30_000);
  expect([clock.now(), clock.isKnown]).toEqual([HERE, false]);
});
