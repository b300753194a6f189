import { chmodSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Worker } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import type { SessionEvent } from "../../src/core/event.ts";
import type { Store } from "../../src/core/store/store.ts";
import { explainSqlite } from "../../src/store/sqlite/sqlite-error.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { FakeClock } from "../../src/testing/fake-ports.ts";
import { callEndEvent, messageEvent, messageEvents } from "../../src/testing/store-case.ts";
import { localStore, type LocalStore, type LocalStoreOptions } from "./local-store.ts";
import { temporaryFile } from "./temporary-file.ts";
import { testInCI } from "../test-in-ci.ts";

describe("I02 when the disk is full", () => {
  test("waits reject, no acknowledged event is lost, and all events are stored once when there is space again", async () => {
    const path = temporaryFile();
    const { store, file } = await openLocal(path);
    const log = store.create("a", { at: 1, durability: "sync" });
    const written: SessionEvent[] = [];
    let acknowledged = 0;
    const pages = Number(file.prepare("PRAGMA page_count").get()?.["page_count"]);
    file.exec(`PRAGMA max_page_count = ${pages + 15}`);
    const error = {
      code: "store_failed",
      message: `The store ${path} could not be written: database or disk is full (SQLITE_FULL).`,
      hint: "Free space on its disk; waiting writes are retried.",
    };
    let failure: unknown;
    while (failure === undefined) {
      written.push(callEndEvent("a", { text: "x".repeat(5_000), number: written.length }));
      log.append(written.slice(-1));
      failure = await caught(log.whenDurable());
      if (failure === undefined) acknowledged = written.length;
    }
    expect(failure).toMatchObject(error);
    await expect(log.close()).rejects.toMatchObject(error);
    log.append([messageEvent("a", 2)]);
    expect((await store.read("a")).events).toEqual(written.slice(0, acknowledged));
    expect((await log.read()).events).toEqual([...written, messageEvent("a", 2)]);

    file.exec("PRAGMA max_page_count = 100000");
    await log.close();
    expect((await store.read("a")).events).toEqual([...written, messageEvent("a", 2)]);
    expect(acknowledged).toBeGreaterThan(2);
    await store.close();
  });

  test("the store is not writable while events wait, and is writable again once they are written", async () => {
    const { store, file } = await openLocal(temporaryFile());
    const log = store.create("a", { at: 1, durability: "sync" });
    await log.whenDurable();
    await store.writable?.();
    file.exec("PRAGMA max_page_count = 1");
    log.append([callEndEvent("a", "x".repeat(100_000))]);
    const full = { code: "store_failed", message: expect.stringContaining("SQLITE_FULL") };
    await expect(log.whenDurable()).rejects.toMatchObject(full);
    await expect(store.writable?.()).rejects.toMatchObject(full);
    file.exec("PRAGMA max_page_count = 100000");
    await store.writable?.();
    expect(await store.read("a")).toMatchObject({ events: [expect.objectContaining({ type: "call-end" })] });
    await store.close();
    await expect(store.writable?.()).rejects.toMatchObject({ code: "store_failed" });
  });

  test("issue 21.2 a session whose close failed is released once there is space again, unless it was used in the meantime", async () => {
    const path = temporaryFile();
    const clock = new FakeClock();
    const { store, file } = await openLocal(path, { clock });
    const logs = ["left", "used"].map((id) => store.create(id, { at: 1, durability: "sync" }));
    for (const log of logs) await log.whenDurable();
    file.exec("PRAGMA max_page_count = 1");
    for (const log of logs) {
      log.append([callEndEvent(log.sessionId, "x".repeat(100_000))]);
      await expect(log.close()).rejects.toMatchObject({ code: "store_failed" });
    }
    logs[1]?.append([messageEvent("used", 2)]);
    const { store: other } = await openLocal(path);
    await clock.advance(1_000); // still no space
    await expect(other.claim("left")).rejects.toMatchObject({ code: "resource_busy" });
    file.exec("PRAGMA max_page_count = 100000");
    await clock.advance(1_000);
    expect((await other.claim("left")).length).toBe(1);
    await expect(other.claim("used")).rejects.toMatchObject({ code: "resource_busy" });
    await logs[1]?.close();
    expect((await other.claim("used")).length).toBe(2);
    await store.close();
    await other.close();
  });

  test("close() rejects with the loss of unwritten events, and still closes the store", async () => {
    const { store, file } = await openLocal(temporaryFile());
    const log = store.create("a", { at: 1, durability: "sync" });
    await log.whenDurable();
    file.exec("PRAGMA max_page_count = 1");
    log.append([callEndEvent("a", "x".repeat(100_000))]);
    await expect(store.close()).rejects.toMatchObject({ code: "store_failed" });
    await expect(store.read("a")).rejects.toThrow("is closed");
    await expect(log.whenDurable()).rejects.toMatchObject({ code: "store_failed" });
  });
});

test("I02 while another process locks the file longer than busyTimeoutMs, events wait, and are written afterwards", async () => {
  const path = temporaryFile();
  const store = sqliteStore({ path, busyTimeoutMs: 1 });
  await store.open();
  const log = store.create("a", { at: 1, durability: "sync" });
  await log.whenDurable();
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  log.append([messageEvent("a", 1)]);
  await expect(log.whenDurable()).rejects.toMatchObject({ code: "store_failed", message: expect.stringContaining("(SQLITE_BUSY)") });
  log.append([messageEvent("a", 2)]);
  await expect(log.whenDurable()).rejects.toMatchObject({ code: "store_failed" });
  await expect(store.claim("b")).rejects.toMatchObject({ code: "not_found" });
  other.exec("ROLLBACK");
  await log.whenDurable();
  expect((await store.read("a")).events).toEqual(messageEvents("a", 1, 2));
  other.close();
  await store.close();
});

test.runIf(process.platform !== "win32")("I02 a read-only file can be read, and appended events wait until it is writable", async () => {
  const path = temporaryFile();
  const before = await openLocal(path);
  await before.store.create("a", { at: 1, durability: "sync" }).close();
  await before.store.close();
  chmodSync(dirname(path), 0o777);
  chmodSync(path, 0o444);
  const { store } = await asSomebodyElse(() => openLocal(path));
  expect((await store.list()).map((session) => session.sessionId)).toEqual(["a"]);
  await expect(store.claim("a")).rejects.toMatchObject({ code: "store_failed", message: expect.stringContaining("(SQLITE_READONLY)") });
  const log = store.create("b", { at: 1, durability: "sync" });
  await expect(log.whenDurable()).rejects.toMatchObject({ code: "store_failed", message: expect.stringContaining("(SQLITE_READONLY)") });
  await expect(store.close()).rejects.toMatchObject({ code: "store_failed" });
});

testInCI("when the store's thread dies, every wait and later request rejects, and a new store has all acknowledged events", async () => {
  const path = temporaryFile();
  const started = new Promise<Worker>((resolve) => process.once("worker", resolve));
  const store = sqliteStore({ path, busyTimeoutMs: 1000 });
  await store.open();
  const log = store.create("a", { at: 1, durability: "sync" });
  log.append([messageEvent("a", 1)]);
  await log.whenDurable();
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE"); // the thread waits with what is appended, and answers nothing that comes after it
  log.append([messageEvent("a", 2)]);
  await new Promise((resolve) => setImmediate(resolve)); // until it is on its way to the thread
  const waits = [log.whenDurable(), store.read("a"), store.cache.get("k", 0)].map(caught);
  await (await started).terminate();
  const error = {
    code: "store_failed",
    retryable: false,
    message: expect.stringContaining(`The store ${path} can no longer be used: its thread`),
  };
  for (const wait of waits) expect(await wait).toMatchObject(error);
  await expect(store.list()).rejects.toMatchObject(error);
  await expect(log.whenDurable()).rejects.toMatchObject(error);
  await expect(store.close()).rejects.toMatchObject(error);
  other.close();
  const { store: next } = await openLocal(path);
  expect((await next.read("a")).events).toEqual([messageEvent("a", 1)]);
  await next.close();
});

const SWAP = `update haft_event set position = -position where session = '"a"' and position in (3, 4);
  update haft_event set position = 7 + position where position < 0`;

describe("I01 a damaged log", () => {
  test("is read up to the damage, cannot be claimed, and the error says how to proceed", async () => {
    const { store, file } = await damagedStore(
      "update haft_event set body = replace(body, 'message 3', 'message 4') where session = '\"a\"' and position = 3",
    );
    const damage = { position: 3, reason: "its checksum is wrong" };
    expect(await store.read("a")).toEqual({ events: messageEvents("a", 1, 2), next: undefined, damage });
    const error = {
      code: "corrupt_record",
      message: 'Session "a" is damaged after its first 2 events (event 3: its checksum is wrong).',
      hint: "Those can be read: export them, and continue in a new session.",
    };
    await expect(store.claim("a")).rejects.toMatchObject(error);
    await expect(store.claim("a", { takeOver: true })).rejects.toMatchObject(error);
    expect(file.prepare("select owner from haft_session where owner is not null").all()).toEqual([]);
    expect((await store.claim("b")).length).toBe(5);
    await store.close();
  });

  test("can be claimed unverified, to be removed", async () => {
    const { store } = await damagedStore("update haft_event set at = 9 where session = '\"a\"' and position = 4");
    const log = await store.claim("a", { unverified: true });
    expect([log.length, (await log.read()).damage?.position]).toEqual([5, 4]);
    expect(await store.remove("a")).toBe(true);
    await expect(store.read("a")).rejects.toMatchObject({ code: "not_found" });
    await store.close();
  });

  test.each([
    ["an event is gone", "delete from haft_event where session = '\"a\"' and position = 3", 2, "it is missing"],
    ["the last event is gone", "delete from haft_event where session = '\"a\"' and position = 5", 4, "it is missing"],
    ["the first event is gone", "delete from haft_event where session = '\"a\"' and position = 1", 0, "it is missing"],
    ["two events changed places", SWAP, 2, "checksum"],
    ["an event has another time", "update haft_event set at = 9 where session = '\"a\"' and position = 4", 3, "checksum"],
    [
      "an event of another session stands in",
      "update haft_event set session = '\"a\"', position = 6 where session = '\"b\"' and position = 5",
      5,
      undefined,
    ],
    ["the session says that it is shorter", "update haft_session set length = 2 where id = '\"a\"'", 5, "the session's own record"],
    ["the session's record is gone", "PRAGMA foreign_keys = OFF; delete from haft_session where id = '\"a\"'", 5, "record is missing"],
    ["an event is no text", "update haft_event set body = 5 where session = '\"a\"' and position = 2", 1, "checksum"],
    [
      "a number is larger than any",
      "update haft_event set at = 9223372036854775807 where session = '\"a\"' and position = 2",
      1,
      "checksum",
    ],
  ])("ends where %s", async (_, change, sound, reason) => {
    const { store } = await damagedStore(change);
    const page = await store.read("a");
    expect(page.events).toEqual(messageEvents("a", 1, sound));
    if (reason === undefined) expect(page.damage).toBe(undefined);
    else expect(page).toMatchObject({ next: undefined, damage: { position: sound + 1, reason: expect.stringContaining(reason) } });
    await store.close();
  });

  test("ends at a row with a valid checksum that is not an event", async () => {
    const { store, log } = await openLocal(":memory:");
    const rows = [
      JSON.stringify(messageEvent("a", 1)),
      '{"type":"message-add","sessionId":"a","at":1}',
      JSON.stringify(messageEvent("a", 3)),
    ];
    const events = rows.map((body) => ({ at: 1, type: "message-add", callId: undefined, body }));
    await log.commit([{ sessionId: "a", epoch: 1, create: { at: 1, durability: "sync" }, from: 1, events }]);
    const page = await store.read("a");
    expect([page.events, page.damage?.position, page.next]).toEqual([[messageEvent("a", 1)], 2, undefined]);
    expect(page.damage?.reason).toContain("$.message");
    await store.close();
  });

  test("is marked in the list of sessions when the session's own record is damaged", async () => {
    const { store } = await damagedStore("update haft_session set updated_at = 99 where id = '\"a\"'");
    const damage = "the checksum of its record is wrong";
    expect((await store.list()).map((session) => [session.sessionId, session.damage])).toEqual([
      ["a", damage],
      ["b", undefined],
    ]);
    await store.close();
  });

  test("is not claimed when the session's own record is damaged, and the error counts the events that can be read", async () => {
    const { store } = await damagedStore("update haft_session set updated_at = 99 where id = '\"a\"'");
    const message = expect.stringContaining("damaged after its first 5 events (the checksum of the session's own record is wrong)");
    await expect(store.claim("a")).rejects.toMatchObject({ code: "corrupt_record", message });
    await expect(store.claim("b")).resolves.toBeDefined();
    await store.close();
  });

  test("fails permanently when there are events after its end, without affecting other sessions", async () => {
    const { store, file } = await openLocal(temporaryFile());
    const [log, other] = ["a", "b"].map((id) => store.create(id, { at: 1, durability: "sync" }));
    await other?.whenDurable();
    file.exec(
      "insert into haft_event (session, position, at, type, call_id, body, checksum) values ('\"a\"', 2, 1, 'message-add', null, '{}', 'x')",
    );
    log?.append(messageEvents("a", 1, 2));
    other?.append([messageEvent("b", 1)]);
    await expect(log?.whenDurable()).rejects.toMatchObject({ code: "corrupt_record" });
    await other?.whenDurable();
    expect([(await store.read("a")).events, (await store.read("b")).events]).toEqual([[], [messageEvent("b", 1)]]);
    await store.close();
  });

  test("fails permanently when its record is damaged while it is open, without affecting other sessions", async () => {
    const { store, file } = await openLocal(temporaryFile());
    const [log, other] = ["a", "b"].map((id) => store.create(id, { at: 1, durability: "sync" }));
    await other?.whenDurable();
    file.exec("update haft_session set length = 5 where id = '\"a\"'");
    log?.append([messageEvent("a", 1)]);
    other?.append([messageEvent("b", 1)]);
    await expect(log?.whenDurable()).rejects.toMatchObject({ code: "corrupt_record" });
    await other?.whenDurable();
    expect(() => log?.append([messageEvent("a", 2)])).toThrow(expect.objectContaining({ code: "corrupt_record" }));
    await store.close();
  });
});

describe("a branch of a damaged parent", () => {
  test("is read only up to the damage", async () => {
    const { store } = await damagedStore("update haft_event set at = 9 where session = '\"a\"' and position = 2", true);
    expect(await store.read("branch")).toMatchObject({ events: messageEvents("a", 1, 1), damage: { position: 2 } });
    await expect(store.claim("branch")).rejects.toMatchObject({ code: "corrupt_record" });
    await store.close();
  });

  test.each([
    ["is another one", "update haft_session set parent_id = '\"b\"' where id = '\"branch\"'"],
    ["is itself", "update haft_session set parent_id = id where id = '\"branch\"'"],
    ["is missing", "PRAGMA foreign_keys = OFF; update haft_session set parent_id = '\"nobody\"' where id = '\"branch\"'"],
    ["is none", "update haft_session set parent_id = null where id = '\"branch\"'"],
    ["gave it fewer events", "update haft_session set parent_length = 2 where id = '\"branch\"'"],
  ])("has no readable events when its recorded parent %s", async (_, change) => {
    const { store } = await damagedStore(change, true);
    expect(await store.read("branch")).toMatchObject({ events: [], next: undefined, damage: { position: 1 } });
    await store.close();
  });

  test("is read as far as possible when only its length is damaged", async () => {
    const { store } = await damagedStore("update haft_session set length = 3 where id = '\"branch\"'", true);
    const events = [...messageEvents("a", 1, 3), messageEvent("branch", 4)];
    expect(await store.read("branch")).toMatchObject({ events, next: undefined, damage: { position: 5 } });
    await store.close();
  });
});

test("I11 a commit whose answer was lost is applied once when it is repeated, alone or with later events", async () => {
  const { store, log } = await openLocal(":memory:");
  const rows = [1, 2, 3].map((at) => ({ at, type: "message-add", callId: undefined, body: JSON.stringify(messageEvent("a", at)) }));
  const first = { sessionId: "a", epoch: 1, create: { at: 1, durability: "sync" }, from: 1, events: rows.slice(0, 2) } as const;
  expect(await log.commit([first])).toEqual([]);
  expect(await log.commit([first])).toEqual([]);
  expect(await log.commit([{ ...first, events: rows }])).toEqual([]);
  expect(await log.commit([{ sessionId: "a", epoch: 1, from: 2, events: rows.slice(1) }])).toEqual([]);
  expect((await store.read("a")).events).toEqual(messageEvents("a", 1, 3));
  for (const wrong of [
    { sessionId: "a", epoch: 1, from: 2, events: rows.slice(0, 2) },
    { sessionId: "a", epoch: 1, from: 5, events: rows.slice(0, 1) },
    { sessionId: "a", epoch: 1, from: 1, events: rows.slice(0, 2) },
  ]) {
    expect(await log.commit([wrong])).toMatchObject([{ sessionId: "a", error: { code: "conflict" } }]);
  }
  expect((await store.read("a")).events).toEqual(messageEvents("a", 1, 3));
  await store.close();
});

test("an error of SQLite is reported with its name and a hint, and any other error unchanged", () => {
  const error = (errcode: number, text = "what happened") => Object.assign(new Error(text), { code: "ERR_SQLITE_ERROR", errcode });
  const table = [5, 261, 8, 10, 522, 13, 14, 11, 267, 26, 1, 19].map((code) => {
    const { code: ours, message: text, retryable } = explainSqlite(error(code), "It failed");
    return [code, ours, retryable, text];
  });
  expect(table).toEqual([
    [5, "store_failed", true, "It failed: what happened (SQLITE_BUSY)."],
    [261, "store_failed", true, "It failed: what happened (SQLITE_BUSY)."],
    [8, "store_failed", true, "It failed: what happened (SQLITE_READONLY)."],
    [10, "store_failed", true, "It failed: what happened (SQLITE_IOERR)."],
    [522, "store_failed", true, "It failed: what happened (SQLITE_IOERR)."],
    [13, "store_failed", true, "It failed: what happened (SQLITE_FULL)."],
    [14, "store_failed", true, "It failed: what happened (SQLITE_CANTOPEN)."],
    [11, "corrupt_record", false, "It failed: what happened (SQLITE_CORRUPT)."],
    [267, "corrupt_record", false, "It failed: what happened (SQLITE_CORRUPT)."],
    [26, "corrupt_record", false, "It failed: what happened (SQLITE_NOTADB)."],
    [1, "corrupt_record", false, "It failed: what happened (SQLITE_CORRUPT)."],
    [19, "store_failed", true, "It failed: what happened."],
  ]);
  expect(explainSqlite("odd", "It failed").message).toBe("It failed: odd.");
});

async function openLocal(path: string, options: LocalStoreOptions = {}): Promise<LocalStore> {
  const local = localStore(path, options);
  await local.store.open();
  return local;
}

/** Sessions `a` and `b` of five events each, and perhaps a branch of `a` after three, with one thing changed behind the store's back. */
async function damagedStore(change: string, withBranch = false): Promise<LocalStore> {
  const local = await openLocal(temporaryFile());
  for (const id of ["a", "b"]) await written(local.store, id, { events: messageEvents(id, 1, 5) });
  if (withBranch) await written(local.store, "branch", { events: messageEvents("branch", 4, 4), shared: 3 });
  local.file.exec(change);
  return local;
}

async function written(
  store: Store,
  id: string,
  { events, shared = 0 }: { readonly events: readonly SessionEvent[]; readonly shared?: number },
) {
  const parent = shared === 0 ? {} : { parent: { sessionId: "a", length: shared } };
  const log = store.create(id, { at: 1, durability: "sync", ...parent });
  log.append(events);
  await log.close();
}

async function caught(promise: Promise<unknown> | undefined): Promise<unknown> {
  try {
    await promise;
    return undefined;
  } catch (error: unknown) {
    return error;
  }
}

/** The superuser may write everything, so a test that runs as one is somebody else until it ends. */
async function asSomebodyElse<Result>(run: () => Promise<Result>): Promise<Result> {
  if (process.geteuid?.() === 0) {
    process.seteuid?.(65_534);
    onTestFinished(() => process.seteuid?.(0));
  }
  return run();
}
