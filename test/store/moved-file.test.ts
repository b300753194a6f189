import { renameSync, rmSync } from "node:fs";
import { expect, test } from "vitest";
import type { EventLog } from "../../src/core/store.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { messages } from "../../src/testing/store-case.ts";
import { temporaryFile } from "./temporary-file.ts";

async function openLog(path: string): Promise<{ readonly log: EventLog; close(): Promise<void> }> {
  const store = sqliteStore({ path });
  await store.open();
  const log = store.create("s", { at: 0, durability: "sync" });
  log.append(messages("s", 1, 2));
  await log.whenDurable();
  return { log, close: () => store.close().catch(() => {}) };
}

test("I02 what is written after the file was removed is not acknowledged", async () => {
  const path = temporaryFile();
  const { log, close } = await openLog(path);
  rmSync(path);
  log.append(messages("s", 3, 3));
  await expect(log.whenDurable()).rejects.toMatchObject({
    code: "store_failed",
    message: expect.stringContaining("is not there any more"),
  });
  await close();
});

test("I02 nor is what is written while another file stands in its place; once it is back, nothing is lost", async () => {
  const path = temporaryFile();
  const { log, close } = await openLog(path);
  renameSync(path, `${path}.away`);
  const other = sqliteStore({ path: `${path}.other` });
  await other.open();
  await other.close();
  renameSync(`${path}.other`, path);
  log.append(messages("s", 3, 3));
  await expect(log.whenDurable()).rejects.toMatchObject({ message: expect.stringContaining("is another one than was opened") });
  renameSync(`${path}.away`, path);
  await log.whenDurable();
  expect((await log.read()).events).toEqual(messages("s", 1, 3));
  await close();
});
