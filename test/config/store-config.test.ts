import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { buildStore } from "../../src/config/build/build-store.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { trustNeeds } from "../../src/config/trust/trust-needs.ts";
import { configFolder, load, problemsOf } from "./config-folder.ts";

const SHAPE = "postgres://user:password@host:5432/database";

describe("problems", () => {
  test.each([
    ["no path", "[store]\n", '1:2: store: "path" is missing: the file that keeps the sessions.'],
    ["an empty path", 'store.path = ""', "1:1: store.path: must not be empty: the file that keeps the sessions."],
    ["a path that is not a string", "store.path = 5", "1:1: store.path: must be a string, not a number."],
    ["a path alone", 'store = "haft.db"', `1:1: store: must begin with postgres://, as in ${SHAPE}. A SQLite file is the path of [store].`],
    [
      "a file by url",
      'store.url = "haft.db"',
      `1:1: store.url: must begin with postgres://, as in ${SHAPE}. A SQLite file is the path of [store].`,
    ],
    [
      "a url without a database",
      'store = "postgres://me:secret@host"',
      `1:1: store: names no database; it must be a URL such as ${SHAPE}.`,
    ],
    ["a url from a variable that is not set", 'store = "${NOWHERE}"', "1:1: store: the environment variable NOWHERE is not set."],
    ["a schema of a file", '[store]\npath = "a.db"\nschema = "b"', "3:1: store.schema: belongs to a database; name it by url."],
    [
      "a file beside a database",
      '[store]\nurl = "postgres://host/a"\npath = "a.db"',
      "3:1: store.path: belongs to a file; leave it out beside url.",
    ],
    ["a store in memory", 'store.path = ":memory:"', "1:1: store.path: a store in memory would be gone with the process; name a file."],
    ["a variable that is not set", 'store.path = "${NOWHERE}/a.db"', "1:1: store.path: the environment variable NOWHERE is not set."],
    ["a variable that is empty", 'store.path = "env:EMPTY"', "1:1: store.path: must not be empty: the file that keeps the sessions."],
    [
      "a kind of store",
      '[store]\npath = "a.db"\ntype = "sqlite"',
      "3:1: store.type: unknown key. Known keys: url, busyTimeoutMs, synchronous, schema, maxConnections, migrate, notify, path.",
    ],
    ["the word of another tool", '[store]\nfile = "a.db"\npath = "a.db"', '2:1: store.file: unknown key. Did you mean "path"?'],
    ["the table of another tool", '[database]\npath = "a.db"', '1:2: database: unknown key. Did you mean "store"?'],
    [
      "a wait that is none",
      '[store]\npath = "a.db"\nbusyTimeoutMs = 0.5',
      "3:1: store.busyTimeoutMs: must be an integer from 0 to 315576000000, not 0.5.",
    ],
    [
      "a word for speed",
      '[store]\npath = "a.db"\nsynchronous = "off"',
      '3:1: store.synchronous: must be one of "full", "normal", not "off".',
    ],
    [
      "a durability that is none",
      '[runtime]\ndurability = "asnyc"',
      '2:1: runtime.durability: must be one of "sync", "async", not "asnyc". Did you mean "async"?',
    ],
    ["no events in memory", "[runtime]\nkeepEvents = 0", "2:1: runtime.keepEvents: must be an integer from 1, not 0."],
    ["a cache below nothing", "[cache]\nmaxBytes = -1", "2:1: cache.maxBytes: must be an integer from 0, not -1."],
    ["a time to live", "[cache]\nttlMs = 1", "2:1: cache.ttlMs: unknown key. Known keys: maxBytes."],
  ])("%s", async (_what, text, problem) => {
    expect(await problemsOf("haft.toml", text, { EMPTY: "" })).toEqual([`haft.toml:${problem}`]);
  });
});

test("the store file is relative to the configuration, and created when the store is first opened", async () => {
  const folder = configFolder({ "haft.toml": '[store]\npath = "${PLACE}.db"\nbusyTimeoutMs = 100\n' });
  const store = buildStore(await loadConfig(join(folder, "haft.toml"), { environment: { PLACE: "here" } }));
  const madeBefore = existsSync(join(folder, "here.db"));
  await store?.open();
  const sessions = await store?.list();
  await store?.close();

  expect({ kind: store?.kind, madeBefore, made: existsSync(join(folder, "here.db")), sessions }).toEqual({
    kind: "sqlite",
    madeBefore: false,
    made: true,
    sessions: [],
  });
});

test("without a store table there is no store", async () => {
  expect(buildStore(await load("haft.toml", ""))).toBeUndefined();
});

test.each([
  ['store = "postgres://me:${WORD}@db.example/app"', { url: "postgres://me:pass@db.example/app" }],
  [
    '[store]\nurl = "postgres://me:${WORD}@db.example/app"\nschema = "s"\nmaxConnections = 3\nmigrate = false',
    { url: "postgres://me:pass@db.example/app", schema: "s", maxConnections: 3, migrate: false },
  ],
])("issue 21.1 a store in PostgreSQL: %s", async (text, store) => {
  const folder = configFolder({ "haft.toml": text });
  const loaded = await loadConfig(join(folder, "haft.toml"), { environment: { WORD: "pass" } });
  expect(loaded.config.store).toEqual(store);
  expect(buildStore(loaded)?.kind).toBe("postgres");
  expect((await trustNeeds(loaded)).widens).toEqual(["store keeps sessions in postgres://me@db.example/app"]);
});
