/** How long statements of a SQLite store wait for a lock. */
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { BusyWait, sharedNow } from "../../src/store/sqlite/busy-wait.ts";

function openWait() {
  const database = new DatabaseSync(":memory:", { timeout: 5_000 });
  const wait = new BusyWait(database, 5_000);
  return { wait, timeout: () => Number(database.prepare("PRAGMA busy_timeout").get()?.["timeout"]) };
}

test("I02 a request waits for a locked file as long as busyTimeoutMs from when it was sent, and the next one has the whole time again", () => {
  const { wait, timeout } = openWait();
  wait.limitSince(sharedNow() - 3_000);
  expect(timeout()).toBeLessThanOrEqual(2_000);
  wait.limitSince(sharedNow() - 60_000);
  expect(timeout()).toBe(0);
  wait.limitSince(sharedNow());
  expect(timeout()).toBe(5_000);
});

test("I02 no limit is longer than busyTimeoutMs", () => {
  const { wait, timeout } = openWait();
  wait.limit(1_000);
  expect(timeout()).toBe(1_000);
  wait.limit(60_000);
  expect(timeout()).toBe(5_000);
});
