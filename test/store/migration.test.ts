/** Files of earlier versions are brought up to date when they are opened for writing. `version-1.sql` is a file as version 1 left it. */
import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { SessionEvent } from "../../src/core/event.ts";
import type { Store } from "../../src/core/store/store.ts";
import { storedEvents } from "../../src/session/read-events.ts";
import { localStore } from "./local-store.ts";
import { temporaryFile } from "./temporary-file.ts";

const VERSION_1 = readFileSync(new URL("version-1.sql", import.meta.url), "utf8");

/** A file of version 1, and more statements run on it. */
function fileOfVersion1(more: string = ""): string {
  const path = temporaryFile();
  const file = new DatabaseSync(path);
  file.exec(VERSION_1);
  file.exec(more);
  file.close();
  return path;
}

async function jobs(store: Store) {
  return (await store.jobs.list({ limit: 5_000 })).map(({ sessionId, id, state, starts, endedAt }) => [
    sessionId,
    id,
    state,
    starts,
    endedAt,
  ]);
}

test("a store of version 1 can be opened: its sessions are read as before, and its jobs are listed", async () => {
  const path = fileOfVersion1();
  const { store } = localStore(path);
  await store.open();
  expect((await store.read("trip")).events).toHaveLength(11);
  expect((await store.read("branch")).events.at(-1)?.type).toBe("message-add");
  expect(await jobs(store)).toEqual([
    ["other", "call_4", "running", 1, undefined],
    ["trip", "call_3", "running", 1, undefined],
    ["trip", "call_2", "error", 1, 1_700_000_016_000],
    ["trip", "call_1", "done", 1, 1_700_000_008_000],
  ]);
  const log = await store.claim("trip");
  expect(log.length).toBe(11);
  await store.close();
  const again = localStore(path);
  expect(again.file.prepare("select version, name from haft_migration order by version").all()).toEqual([
    { version: 1, name: "sessions, events, owners, cache" },
    { version: 2, name: "jobs" },
    { version: 3, name: "keys, refusals" },
    { version: 4, name: "approvals" },
    { version: 5, name: "numbers of events" },
    { version: 6, name: "webhooks" },
    { version: 7, name: "epochs of claims" },
    { version: 8, name: "keyed requests" },
    { version: 9, name: "artifacts" },
    { version: 10, name: "addresses of owners" },
    { version: 11, name: "leases" },
    { version: 12, name: "holders of keyed requests" },
    { version: 13, name: "descriptions of processes" },
    { version: 14, name: "messages on channels" },
    { version: 15, name: "calls of no session" },
  ]);
  expect(await jobs(again.store)).toHaveLength(4);
  await again.store.close();
});

test("a store of version 1 opened read-only can be read, and the error for its jobs says how to list them", async () => {
  const path = fileOfVersion1();
  const { store } = localStore(path, { readOnly: true });
  expect((await store.list()).map(({ sessionId }) => sessionId)).toEqual(["other", "trip", "branch"]);
  expect((await store.read("trip")).events).toHaveLength(11);
  await expect(store.jobs.list()).rejects.toMatchObject({
    code: "corrupt_record",
    message: `The store ${path} has format version 1, which lists no jobs.`,
    hint: expect.stringContaining("Open it once for writing"),
  });
  await expect(store.access.keys()).rejects.toMatchObject({
    code: "corrupt_record",
    message: `The store ${path} has format version 1, which keeps no keys and no refusals.`,
  });
  const noChannels = { code: "corrupt_record", message: `The store ${path} has format version 1, which keeps no messages on channels.` };
  await expect(store.channels?.last("news")).rejects.toMatchObject(noChannels);
  await expect(store.channels?.waiting("news")).rejects.toMatchObject(noChannels);
  await expect(store.channels?.latest({ channel: "news", limit: 1 })).rejects.toMatchObject(noChannels);
  await expect(store.channels?.read({ channel: "news", after: 0, limit: 1 })).rejects.toMatchObject(noChannels);
  await store.close();
});

test.each(["body = '{'", "body = '{\"id\":7}'", "body = '[]'"])("E04 a key whose row has %s is rejected as damaged", async (damage) => {
  const { store, file } = localStore(temporaryFile());
  await store.access.addKey({ id: "k", name: "CI", salt: "00", hash: "ff", scopes: ["read"], createdAt: 1 });
  file.exec(`update haft_key set ${damage}`);
  const damaged = { code: "corrupt_record", message: expect.stringContaining('The row of the key "k" is damaged') };
  await expect(store.access.key("k")).rejects.toMatchObject(damaged);
  await store.close();
});

test("thousands of jobs from an earlier version are listed, skipping damaged events", async () => {
  const body = `'{"callId":"j' || n || '","sessionId":"many","turnId":"t","at":' || n || ',"type":"job-start","toolName":"t","mode":"background","notify":false}'`;
  const path = fileOfVersion1(`
    insert into haft_session values ('"many"', null, 0, 1, 'sync', 1, 2500, '', '', null);
    with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 2500)
    insert into haft_event select '"many"', n, n, 'job-start', null, case n when 7 then '{' else ${body} end, '' from numbers;`);
  const { store } = localStore(path);
  const found = await jobs(store);
  expect(found).toHaveLength(4 + 2_499);
  expect(found.at(-1)).toEqual(["many", "j1", "running", 1, undefined]);
  await store.close();
});

test("I13 a migration that fails halfway leaves the file unchanged, and is retried at the next opening", async () => {
  const path = fileOfVersion1("create table haft_job (id text)");
  await expect(localStore(path).store.open()).rejects.toMatchObject({ code: "corrupt_record" });
  const file = new DatabaseSync(path);
  expect(file.prepare("select max(version) as version from haft_migration").get()).toEqual({ version: 1 });
  file.exec("drop table haft_job");
  file.close();
  const { store } = localStore(path);
  expect(await jobs(store)).toHaveLength(4);
  await store.close();
});

test("I13 a file that was migrated by different steps, as between two releases, is left unchanged and can be read", async () => {
  const path = fileOfVersion1("insert into haft_migration values (2, 'artifacts')");
  await expect(localStore(path).store.open()).rejects.toMatchObject({
    code: "corrupt_record",
    message: `The store ${path} was created by other migrations: its version 2 is "artifacts"; in this version of Haft it is "jobs".`,
    hint: expect.stringContaining("export its sessions"),
  });
  const { store } = localStore(path, { readOnly: true });
  expect((await store.read("trip")).events).toHaveLength(11);
  await store.close();
});

test("I13 a file of the current version that was migrated by different steps is also refused, and can be read", async () => {
  const path = temporaryFile();
  const made = localStore(path).store;
  await made.create("trip", { at: 1, durability: "sync" }).close();
  await made.close();
  const file = new DatabaseSync(path);
  file.exec("update haft_migration set name = 'other' where version = (select max(version) from haft_migration)");
  file.close();
  await expect(localStore(path).store.open()).rejects.toMatchObject({
    code: "corrupt_record",
    message: expect.stringContaining("was created by other migrations: its version "),
  });
  const { store } = localStore(path, { readOnly: true });
  expect((await store.read("trip")).events).toEqual([]);
  await store.close();
});

test("an event written by a newer version is reported as that, and not only as damaged", async () => {
  const { store } = localStore(temporaryFile());
  const log = store.create("a", { at: 1, durability: "sync" });
  log.append([{ type: "widget-add", sessionId: "a", at: 1 } as unknown as SessionEvent]);
  await log.whenDurable();
  expect(await store.read("a")).toEqual({
    events: [],
    next: undefined,
    damage: {
      position: 1,
      reason: 'It is of the type "widget-add", which this version of Haft does not know: a newer version wrote it.',
      isNewer: true,
    },
  });
  await expect(storedEvents(store, "a").next()).rejects.toMatchObject({ code: "corrupt_record", retryable: true });
  await store.close();
});

test("an event with values that a newer version may have written is reported as damaged", async () => {
  const { store } = localStore(temporaryFile());
  const log = store.create("a", { at: 1, durability: "sync" });
  log.append([{ type: "message-add", sessionId: "a", at: 1, message: { role: "chorus", content: "" } } as unknown as SessionEvent]);
  await log.whenDurable();
  expect((await store.read("a")).damage?.reason).toContain("a newer version of Haft may have written it");
  await expect(storedEvents(store, "a").next()).rejects.toMatchObject({ code: "corrupt_record", retryable: false });
  await store.close();
});

test("a job in a state of a newer version does not prevent other jobs from being listed, on any page", async () => {
  const { store, file } = localStore(fileOfVersion1());
  await store.open();
  const all = (await store.jobs.list()).map(({ id }) => id);
  const unknown = all[1] ?? expect.fail("the file has jobs");
  file.exec(`update haft_job set state = 'asleep' where id = '${JSON.stringify(unknown)}' and session = '"trip"'`);
  const known = all.filter((id) => id !== unknown);
  expect((await store.jobs.list()).map(({ id }) => id)).toEqual(known);
  expect((await store.jobs.list({ limit: 2 })).map(({ id }) => id)).toEqual(known.slice(0, 2));
  await expect(store.jobs.list({ id: unknown, sessionId: "trip" })).rejects.toMatchObject({
    code: "corrupt_record",
    message: expect.stringContaining('its state is "asleep", which this version does not know'),
  });
  await store.close();
});

test.each(["mode = 'direct'", "cancel_reason = 'no JSON'", "tool = '{'"])(
  "a row with %s is reported as damaged, with the job and session that it belongs to",
  async (damage) => {
    const path = fileOfVersion1();
    const { store, file } = localStore(path);
    await store.open();
    file.exec(`update haft_job set ${damage} where id = '"call_3"'`);
    await expect(store.jobs.list()).rejects.toMatchObject({
      code: "corrupt_record",
      message: expect.stringContaining('The row of the job "call_3" of session "trip" is damaged'),
    });
    expect(await store.jobs.list({ sessionId: "other" })).toHaveLength(1);
    expect((await store.read("trip")).damage).toBeUndefined();
    await store.close();
  },
);

test("F1.24 tens of thousands of rows are deleted in one call", async () => {
  const path = fileOfVersion1();
  const { store, file } = localStore(path);
  await store.open();
  file.exec(`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 25000)
    insert into haft_job select '"trip"', '"many' || n || '"', '"t"', 'background', 1, 'done', n, n, 1, null, null from numbers`);
  expect(await store.jobs.prune({ keep: 10, endedBefore: 12_000 })).toBe(25_002 - 10);
  expect((await store.jobs.list({ limit: 1_000 })).map(({ state }) => state)).toHaveLength(10 + 2);
  await store.close();
});
