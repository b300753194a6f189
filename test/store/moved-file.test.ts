import { renameSync, rmSync, statSync, truncateSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { EventLog } from "../../src/core/store/store.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { messageEvents } from "../../src/testing/store-case.ts";
import { temporaryFile } from "./temporary-file.ts";

async function openLog(path: string): Promise<{ readonly log: EventLog; close(): Promise<void> }> {
  const store = sqliteStore({ path });
  await store.open();
  const log = store.create("s", { at: 0, durability: "sync" });
  log.append(messageEvents("s", 1, 2));
  await log.whenDurable();
  return { log, close: () => store.close().catch(() => {}) };
}

test("I02 events written after the file was removed are not acknowledged", async () => {
  const path = temporaryFile();
  const { log, close } = await openLog(path);
  rmSync(path);
  log.append(messageEvents("s", 3, 3));
  await expect(log.whenDurable()).rejects.toMatchObject({
    code: "store_failed",
    message: expect.stringContaining("no longer exists"),
  });
  await close();
});

test("I02 events written while another file is in its place are not acknowledged; once the file is back, nothing is lost", async () => {
  const path = temporaryFile();
  const { log, close } = await openLog(path);
  renameSync(path, `${path}.away`);
  const other = sqliteStore({ path: `${path}.other` });
  await other.open();
  await other.close();
  renameSync(`${path}.other`, path);
  log.append(messageEvents("s", 3, 3));
  await expect(log.whenDurable()).rejects.toMatchObject({ message: expect.stringContaining("is not the one that was opened") });
  renameSync(`${path}.away`, path);
  await log.whenDurable();
  expect((await log.read()).events).toEqual(messageEvents("s", 1, 3));
  await close();
});

test.each<readonly [string, (bytes: number) => number]>([
  ["nothing", () => 0],
  ["less than its header", () => 64],
  ["half of it", (bytes) => Math.floor(bytes / 2)],
  ["all but one byte", (bytes) => bytes - 1],
])("I02 events written after the file was cut to %s are not acknowledged", async (_what, left) => {
  const path = temporaryFile();
  const { log, close } = await openLog(path);
  truncateSync(path, left(statSync(path).size));
  for (let number = 3; number < 10; number++) {
    log.append(messageEvents("s", number, number));
    await expect(log.whenDurable()).rejects.toMatchObject({ code: "corrupt_record", message: expect.stringContaining("was truncated to") });
  }
  await close();
});

test("I02 a file that another program shortened by a vacuum is written to as before", async () => {
  const path = temporaryFile();
  const { log, close } = await openLog(path);
  log.append(messageEvents("s", 3, 3_000));
  await log.whenDurable();
  const other = new DatabaseSync(path);
  other.exec(
    "create table other (body); insert into other select randomblob(4000) from haft_event limit 500; pragma wal_checkpoint(truncate)",
  );
  log.append(messageEvents("s", 3_001, 3_001));
  await log.whenDurable();
  const before = statSync(path).size;
  other.exec("drop table other; vacuum; pragma wal_checkpoint(truncate)");
  other.close();
  expect(statSync(path).size).toBeLessThan(before);
  log.append(messageEvents("s", 3_002, 3_002));
  await log.whenDurable();
  expect(log.length).toBe(3_002);
  await close();
});
