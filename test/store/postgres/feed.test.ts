import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Store } from "../../../src/core/store/store.ts";
import { postgresStore } from "../../../src/store/postgres-store.ts";
import { messageEvent } from "../../../src/testing/store-case.ts";
import { postgresPrograms, startPostgres, type PostgresServer } from "./server.ts";
import { IN_CI, inCI } from "../../ci.ts";

const START = 120_000;
const WRITERS = 4;
const SESSIONS = 5;
const EVENTS = 12;

describe.skipIf(postgresPrograms === undefined || !inCI)(`the feed of a PostgreSQL store ${IN_CI}:`, { timeout: START }, () => {
  let running: PostgresServer | undefined;
  const stores: Store[] = [];
  beforeAll(async () => {
    running = await startPostgres();
  }, START);
  afterAll(async () => {
    for (const store of stores) await store.close();
    await running?.remove();
  });

  function open(schema: string): Store {
    const store = postgresStore({ url: running?.url ?? expect.fail("the server did not start"), schema });
    stores.push(store);
    return store;
  }

  test("an event that is committed later than one with a greater number is not missed", async () => {
    const store = open("late");
    const log = store.create("a", { at: 1, durability: "sync" });
    log.append([messageEvent("a", 1)]);
    await log.whenDurable();
    const mark = await store.feed.latest();
    const slow = new pg.Client(running?.url);
    await slow.connect();
    await slow.query("begin");
    const insert =
      "insert into late.haft_event (session, position, at, type, body, checksum) select id, $1, 1, 'x', '{}', 'abc' from late.haft_session";
    await slow.query(insert, [100]);
    await slow.query(insert, [101]);
    const { rows } = await slow.query("select count(*)::int as locks from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()");
    expect(rows).toEqual([{ locks: 1 }]);
    log.append([messageEvent("a", 2)]);
    await log.whenDurable();
    expect(await store.feed.read({ after: mark })).toEqual({ entries: [], isFull: false });
    expect(await store.feed.latest()).toBe(mark);
    await slow.query("commit");
    await slow.end();
    expect((await store.feed.read({ after: mark })).entries.map(({ position }) => position)).toEqual([100, 101, 2]);
  });

  test("a reader gets every event of several writing stores once, those of a session in order", async () => {
    const reader = open("busy");
    await reader.open();
    const found = new Map<string, number[]>();
    let [mark, isWriting] = ["0", true];
    const writing = Promise.all(Array.from({ length: WRITERS }, (_, index) => write(open("busy"), index))).finally(() => {
      isWriting = false;
    });
    for (let isLast = false; !isLast;) {
      isLast = !isWriting;
      for (let isFull = true; isFull;) {
        const page = await reader.feed.read({ after: mark, limit: 50 });
        for (const { sessionId, position } of page.entries) found.set(sessionId, [...(found.get(sessionId) ?? []), position]);
        mark = page.entries.at(-1)?.mark ?? mark;
        ({ isFull } = page);
      }
    }
    await writing;
    expect(found.size).toBe(WRITERS * SESSIONS);
    const all = Array.from({ length: EVENTS }, (_, index) => index + 1);
    for (const positions of found.values()) expect(positions).toEqual(all);
  });
});

/** Logs in turn, so that groups are of one statement and of several. */
async function write(store: Store, writer: number): Promise<void> {
  const ids = Array.from({ length: SESSIONS }, (_, index) => `${writer}-${index}`);
  for (const id of ids) {
    const log = store.create(id, { at: 1, durability: "sync" });
    for (let number = 1; number <= EVENTS; number += 2) {
      log.append([messageEvent(id, number), messageEvent(id, number + 1)]);
      await log.whenDurable();
    }
  }
}
