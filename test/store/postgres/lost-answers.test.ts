/** Statements that PostgreSQL has run although their answers were lost: the retry must find what they stored, and count it once. */
import type { PostgresPool, PostgresPoolClient } from "kysely";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { DatabaseStore as Store } from "../../../src/store/database/database-store.ts";
import { InThreadDatabase } from "../../../src/store/database/in-thread-database.ts";
import { openPostgresDatabase } from "../../../src/store/postgres/postgres-database.ts";
import { checkPostgresSettings } from "../../../src/store/postgres/postgres-settings.ts";
import type { SqlDatabase } from "../../../src/store/sql/sql-database.ts";
import { pgliteDatabase, type PgliteDatabase } from "./pglite-pool.ts";

const START = 120_000;

/** The write statements that run while it is watched; the answer of the one at `losing` is lost. */
interface Watch {
  statements: number;
  losing: number | undefined;
}

interface Opened {
  readonly store: Store;
  readonly watch: Watch;
  readonly database: () => SqlDatabase;
}

let running: PgliteDatabase | undefined;
const QUEUE = "orders";
/** Only the tests send heartbeats: those of a timer would be counted among the statements. */
const NEVER_MS = 1e8;
beforeAll(async () => {
  running = await pgliteDatabase();
}, START);
afterAll(() => running?.close());

async function openStore(schema: string, retryMs = 5_000): Promise<Opened> {
  const pglite = running ?? expect.fail("the database did not start");
  const settings = checkPostgresSettings({ url: "postgres://pglite/memory", schema, retryMs });
  const watch: Watch = { statements: 0, losing: undefined };
  let database: SqlDatabase | undefined;
  const connect = async (): Promise<SqlDatabase> =>
    (database = openPostgresDatabase(settings, async () => losingPool(pglite.pool(), watch)));
  const options = { kind: "postgres", outlivesProcess: true, place: schema, readOnly: false, maxBufferedBytes: 64e6 } as const;
  const store = new Store(new InThreadDatabase({ place: schema, heartbeatMs: NEVER_MS, connect }), options);
  onTestFinished(() => store.close());
  await store.open();
  return { store, watch, database: () => database ?? expect.fail("the store is not open") };
}

function losingPool(pool: PostgresPool, watch: Watch): PostgresPool {
  const connect = async (): Promise<PostgresPoolClient> => {
    const client = await pool.connect();
    const query = async (text: string, parameters: readonly unknown[]): Promise<unknown> => {
      const answer = await client.query(text, parameters);
      if (++watch.statements === watch.losing) throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
      return answer;
    };
    return { query, release: () => client.release() } as unknown as PostgresPoolClient;
  };
  return { options: {}, end: () => pool.end(), connect };
}

const REFUSAL = { at: 1, status: 403, reason: "no", method: "POST", path: "/v1/calls" };
const CALL = { at: 1, toolName: "shop::pay", via: "api", outcome: "ok" } as const;
const keyOf = (id: string) => ({ id, name: "ann", salt: "aa", hash: "bb", scopes: ["call"], createdAt: 1 });
const ruleOf = (id: string) => ({ id, pattern: "shop::pay", scope: "rule", createdAt: 1 }) as const;

const message = (channel: string, body: string, capacity = 5) => ({ channel, body, sender: "Ann", senderId: "a", keep: 10, capacity });
const take = async ({ channels }: Store, channel: string) => (await channels.take({ channel, reader: "b" }))?.body;
const readBodies = async ({ channels }: Store, channel: string) =>
  (await channels.read({ channel, after: 0, limit: 10 })).map(({ body }) => body);

/** A write, what is done before it, and what is seen after it. Each run has another name. */
interface Case {
  readonly title: string;
  readonly before?: (store: Store, name: string) => Promise<unknown>;
  readonly write: (store: Store, name: string) => Promise<unknown>;
  readonly after: (store: Store, name: string) => Promise<unknown>;
}

const CASES: readonly Case[] = [
  {
    title: "a message that is sent on a broadcast",
    write: async ({ channels }, channel) => (await channels.send({ channel, body: "1", sender: "Ann", senderId: "a", keep: 10 })) > 0,
    after: readBodies,
  },
  {
    title: "a message that fills a queue",
    write: async ({ channels }, channel) => (await channels.send(message(channel, "1", 1))) > 0,
    after: readBodies,
  },
  {
    title: "a message that is taken from a queue",
    before: async ({ channels }, channel) => [await channels.send(message(channel, "1")), await channels.send(message(channel, "2"))],
    write: take,
    after: async (store, channel) => [await take(store, channel), await take(store, channel)],
  },
  {
    title: "a key that is revoked",
    before: ({ access }, id) => access.addKey(keyOf(id)),
    write: ({ access }, id) => access.revokeKey({ id, at: 5 }),
    after: async ({ access }, id) => (await access.key(id))?.revokedAt,
  },
  {
    title: "a request that is refused",
    write: ({ access }, principal) =>
      access.addRefusals([
        { ...REFUSAL, principal },
        { ...REFUSAL, principal, at: 2 },
      ]),
    after: async ({ access }, principal) => (await access.refusals({ principal })).map(({ at }) => at),
  },
  {
    title: "calls of the audit",
    before: ({ access }, principal) => access.addCalls({ calls: [{ ...CALL, principal }], keep: 10_000 }),
    write: ({ access }, principal) =>
      access.addCalls({
        calls: [
          { ...CALL, principal },
          { ...CALL, principal, at: 2 },
        ],
        keep: 10_000,
      }),
    after: async ({ access }, principal) => (await access.calls({ principal })).calls.map(({ at }) => at),
  },
  {
    title: "a rule that is added",
    write: ({ approvals }, id) => approvals.addRule(ruleOf(id)),
    after: async ({ approvals }, name) => (await approvals.rules({ now: 1 })).filter(({ id }) => id === name).length,
  },
  {
    title: "a rule that is removed",
    before: ({ approvals }, id) => approvals.addRule(ruleOf(id)),
    write: ({ approvals }, id) => approvals.removeRule(id),
    after: async ({ approvals }, name) => (await approvals.rules({ now: 1 })).filter(({ id }) => id === name).length,
  },
];

test("I11 a write whose answer is lost counts once, whichever of its statements it is", { timeout: START }, async () => {
  const { store, watch } = await openStore("counted");
  let runs = 0;
  const run = async ({ before, write, after }: Case, losing?: number) => {
    const name = `run ${++runs}`;
    await before?.(store, name);
    Object.assign(watch, { statements: 0, losing });
    const answer = await write(store, name);
    const { statements } = watch;
    watch.losing = undefined;
    return { statements, seen: [answer, await after(store, name)] };
  };
  for (const one of CASES) {
    await run(one); // the first write of a process has statements that register it
    const { statements, seen } = await run(one);
    for (let losing = 1; losing <= statements; losing++)
      expect({ ...one, losing, seen: (await run(one, losing)).seen }).toEqual({ ...one, losing, seen });
  }
  expect(runs).toBeGreaterThan(50);
});

test("I11 a message whose take was given up is taken by the next reader of this process, and once", { timeout: START }, async () => {
  const { store, watch } = await openStore("given_up", 0);
  for (const body of ["1", "2"]) await store.channels.send(message(QUEUE, body));
  await loseTake(store, watch);
  expect(await Promise.all([take(store, QUEUE), take(store, QUEUE), take(store, QUEUE)])).toEqual(
    expect.arrayContaining(["1", "2", undefined]),
  );
});

test("I11 a message whose take was given up is released with the next heartbeat, for other processes", { timeout: START }, async () => {
  const { store, watch, database } = await openStore("released", 0);
  const other = await openStore("released");
  for (const body of ["1", "2"]) await store.channels.send(message(QUEUE, body));
  await loseTake(store, watch);
  await database().sendHeartbeat();
  expect([await take(other.store, QUEUE), await take(store, QUEUE), await take(other.store, QUEUE)]).toEqual(["1", "2", undefined]);
  await database().sendHeartbeat(); // releases no message that a reader has
  expect(await take(other.store, QUEUE)).toBeUndefined();
});

/** Takes a message, and loses the answer to the commit. */
async function loseTake(store: Store, watch: Watch): Promise<void> {
  await take(store, QUEUE); // its owner is known from then on
  await store.channels.release({ channel: QUEUE, number: (await store.channels.latest({ channel: QUEUE, limit: 2 }))[0]?.number ?? 0 });
  watch.statements = 0;
  await take(store, QUEUE);
  const { statements } = watch;
  await store.channels.release({ channel: QUEUE, number: (await store.channels.latest({ channel: QUEUE, limit: 2 }))[0]?.number ?? 0 });
  Object.assign(watch, { statements: 0, losing: statements });
  await expect(take(store, QUEUE)).rejects.toMatchObject({ code: "store_failed" });
}
