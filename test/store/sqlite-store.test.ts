import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import type { Store } from "../../src/core/store/store.ts";
import { requireVersion } from "../../src/store/sqlite/sqlite-version.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { accessStoreContract } from "../../src/testing/access-store-contract.ts";
import { approvalStoreContract } from "../../src/testing/approval-store-contract.ts";
import { jobStoreContract } from "../../src/testing/job-store-contract.ts";
import { messageEvent, messageEvents } from "../../src/testing/store-case.ts";
import { storeContract } from "../../src/testing/store-contract.ts";
import { localStore } from "./local-store.ts";
import { temporaryFile } from "./temporary-file.ts";

/** Starting a thread takes longer than most cases, so one of the two stores of a case does without. */
const contract = [...storeContract, ...jobStoreContract, ...accessStoreContract, ...approvalStoreContract];
const together = contract.filter((one) => one.needsSecond);
const alone = contract.filter((one) => !one.needsSecond);

test.each(together)("the SQLite store fulfils the contract: $title", async ({ run }) => {
  const path = temporaryFile();
  await run({ store: sqliteStore({ path }), createSecond: () => localStore(path, { busyTimeoutMs: 5_000 }).store });
});

test.each(alone)("a SQLite database fulfils the contract: $title", async ({ run }) => {
  await run({ store: localStore(temporaryFile()).store, createSecond: () => expect.fail("no other store was asked for") });
});

test("the in-memory SQLite store fulfils the contract", async () => {
  for (const { run } of alone.slice(0, 3)) {
    await run({ store: sqliteStore({ path: ":memory:" }), createSecond: () => expect.fail("no other store was asked for") });
  }
});

describe("opening an unusable store fails with the reason:", () => {
  test("invalid options", () => {
    const wrong = [{ path: "" }, { path: "a", busyTimeoutMs: -1 }, { path: "a", maxBufferedBytes: 0 }, { path: "a", synchronous: "off" }];
    for (const options of wrong) {
      expect(() => sqliteStore(options as { path: string })).toThrow(expect.objectContaining({ code: "invalid_argument" }));
    }
  });

  test("its folder does not exist", async () => {
    const path = temporaryFile("nowhere/sessions.db");
    const error = { code: "store_failed", message: `The store ${path} could not be opened: the folder ${dirname(path)} does not exist.` };
    await expect(sqliteStore({ path }).open()).rejects.toMatchObject(error);
  });

  test("the path is a folder", async () => {
    const path = temporaryFile();
    mkdirSync(path);
    const error = { code: "store_failed", message: `The store ${path} could not be opened: it is a folder, not a file.` };
    await expect(sqliteStore({ path }).open()).rejects.toMatchObject(error);
  });

  test("a read-only store without a file", async () => {
    const path = temporaryFile();
    const error = { code: "store_failed", message: `The store ${path} could not be opened: there is no such file.` };
    await expect(sqliteStore({ path, readOnly: true }).open()).rejects.toMatchObject(error);
    expect(existsSync(path)).toBe(false);
  });

  test("the file is not a database, and stays unchanged", async () => {
    const path = temporaryFile();
    writeFileSync(path, "Dear diary, ".repeat(1_000));
    const error = { code: "corrupt_record", message: `The store ${path} could not be opened: file is not a database (SQLITE_NOTADB).` };
    await expect(sqliteStore({ path }).open()).rejects.toMatchObject(error);
    expect(statSync(path).size).toBe(12_000);
  });

  test("the file is the database of another program, and stays unchanged", async () => {
    const path = temporaryFile();
    const other = new DatabaseSync(path);
    other.exec("create table diary (day text)");
    other.close();
    const error = { code: "corrupt_record", message: `The store ${path} is not a store of Haft: it contains the tables diary.` };
    await expect(localStore(path).store.open()).rejects.toMatchObject(error);
    expect(allTables(path)).toEqual(["diary"]);
  });

  test("I13 the file has a newer version, and stays unchanged", async () => {
    const path = temporaryFile();
    await filled(localStore(path).store);
    change(path, "insert into haft_migration values (99, 'from the future')");
    const message: unknown = expect.stringMatching(
      /^The store .* has format version 99; this version of Haft supports versions up to \d+\.$/u,
    );
    const error = { code: "corrupt_record", message };
    await expect(localStore(path).store.open()).rejects.toMatchObject(error);
    await expect(localStore(path, { readOnly: true }).store.open()).rejects.toMatchObject(error);
    change(path, "delete from haft_migration where version = 99");
    const { store } = localStore(path);
    await store.open();
    expect((await store.read("a")).events).toEqual(messageEvents("a", 1, 2));
  });

  test("the SQLite version can lose commits", () => {
    for (const version of ["3.51.3", "3.51.10", "3.53.4", "4.0.0"]) requireVersion(version);
    for (const version of ["3.51.2", "3.50.9", "3.9.0", "2.99.99", "unknown", ""]) {
      expect(() => requireVersion(version)).toThrow(expect.objectContaining({ code: "store_failed" }));
    }
  });
});

test("a store opens on first use, and tries again after a failure", async () => {
  const path = temporaryFile("new/sessions.db");
  const store = sqliteStore({ path });
  const log = store.create("a", { at: 1, durability: "sync" });
  log.append([messageEvent("a", 1)]);
  for (const attempt of [() => log.whenDurable(), () => store.list(), () => store.cache.get("k", 0), () => log.close()]) {
    await expect(attempt()).rejects.toMatchObject({ code: "store_failed" });
  }
  mkdirSync(dirname(path));
  expect((await log.read()).events).toEqual(messageEvents("a", 1, 1));
  await log.close();
  expect((await store.read("a")).events).toEqual(messageEvents("a", 1, 1));
  await store.close();
});

test("a read-only store changes nothing and rejects writes", async () => {
  const path = temporaryFile();
  await filled(localStore(path).store);
  const { store } = localStore(path, { readOnly: true });
  await store.open();
  const error = { code: "store_failed", message: `The store ${path} was opened for reading only.` };
  expect((await store.read("a")).events).toEqual(messageEvents("a", 1, 2));
  expect(() => store.create("b", { at: 1, durability: "sync" })).toThrow(expect.objectContaining(error));
  await expect(store.claim("a")).rejects.toMatchObject(error);
  await expect(store.remove("a")).rejects.toMatchObject(error);
  await expect(store.cache.invalidate(["a"])).rejects.toMatchObject({ code: "store_failed" });
  await store.close();
});

test("a store whose first process was killed in the middle of a transaction can be read", async () => {
  const path = temporaryFile();
  await filled(localStore(path).store);
  const program = `const { DatabaseSync } = require("node:sqlite");
    const file = new DatabaseSync(${JSON.stringify(path)});
    file.exec("pragma journal_mode = delete; pragma cache_size = 1; begin; delete from haft_event; create table filler (x)");
    for (let n = 0; n < 500; n++) file.prepare("insert into filler values (zeroblob(4000))").run();
    process.kill(process.pid, "SIGKILL");`;
  expect(spawnSync(process.execPath, ["-e", program]).signal).toBe("SIGKILL");
  expect(existsSync(`${path}-journal`)).toBe(true);
  const { store } = localStore(path, { readOnly: true });
  expect((await store.read("a")).events).toEqual(messageEvents("a", 1, 2));
  await store.close();
});

test("the database is loaded only in the store's own thread", () => {
  const program = `await import(${JSON.stringify(new URL("../../src/store/sqlite-store.ts", import.meta.url).href)});
    console.log(process.moduleLoadList.filter((name) => name.includes("sqlite")));`;
  expect(execFileSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" })).toBe("[]\n");
});

test("the database files are readable by their owner only", async () => {
  const path = temporaryFile();
  const { store } = localStore(path);
  await store.open();
  await store.cache.invalidate(["a"]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(`${path}-wal`).mode & 0o777).toBe(0o600);
  await store.close();
});

test("an append with a value that is not JSON, or could not be read back, is rejected as a whole", async () => {
  const { store } = localStore(":memory:");
  await store.open();
  const log = store.create("a", { at: 1, durability: "sync" });
  const deep = (levels: number): unknown => Array.from({ length: levels }).reduce((inner) => [inner], 1);
  const append = (value: unknown) => () => log.append([messageEvent("a", 1), { ...messageEvent("a", 2), extra: value } as never]);
  const cycle: unknown[] = [];
  cycle.push(cycle);
  for (const value of [1n, cycle]) expect(append(value)).toThrow(expect.objectContaining({ code: "not_json" }));
  // Until Node 24 what nests so deep could not be written as JSON.
  expect(append(deep(100_000))).toThrow(expect.objectContaining({ code: expect.stringMatching(/^(?:not_json|too_large)$/u) }));
  expect(append(deep(128))).toThrow(expect.objectContaining({ code: "too_large" }));
  append({ nested: deep(100), text: '"[[[{{{\\"' })();
  await log.whenDurable();
  expect((await store.read("a")).events).toEqual(messageEvents("a", 1, 2));
  await store.close();
});

async function filled(store: Store): Promise<void> {
  await store.open();
  const log = store.create("a", { at: 1, durability: "sync" });
  log.append(messageEvents("a", 1, 2));
  await store.close();
}

function change(path: string, statement: string): void {
  const file = new DatabaseSync(path);
  file.exec(statement);
  file.close();
}

function allTables(path: string): readonly unknown[] {
  const file = new DatabaseSync(path);
  const rows = file.prepare("select name from sqlite_schema").all();
  file.close();
  return rows.map((row) => row["name"]);
}

test("issue 14.5 a group that changes 4 MB of pages is not written to the file before its commit", async () => {
  const path = temporaryFile();
  const { store, file } = localStore(path);
  await store.open();
  file.exec("begin immediate; create table filler (body text)");
  const { size } = statSync(`${path}-wal`);
  const insert = file.prepare("insert into filler values (?)");
  for (let row = 0; row < 1_000; row++) insert.run("x".repeat(4_000));
  const written = statSync(`${path}-wal`).size - size;
  file.exec("rollback");
  await store.close();
  expect(written).toBe(0);
});
