/** What is written to PostgreSQL in one statement, and what becomes of it when its answer is lost or another process is in the way. */
import type { PostgresPool, PostgresPoolClient } from "kysely";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Store } from "../../../src/core/store/store.ts";
import { openPostgresDatabase } from "../../../src/store/postgres/postgres-database.ts";
import { createPostgresPool } from "../../../src/store/postgres/postgres-pool.ts";
import { checkPostgresSettings } from "../../../src/store/postgres/postgres-settings.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { createPostgresStore } from "../../../src/store/postgres/create-postgres-store.ts";
import { messageEvent, messageEvents } from "../../../src/testing/store-case.ts";
import { tool } from "../../runtime/bench-runtime.ts";
import { postgresPrograms, startPostgres, type PostgresServer } from "./server.ts";

const START = 120_000;
const CALL = { turnId: "turn_1", callId: "call_1", toolName: "pay", description: "Pays.", input: {} };
const QUESTION = { ...CALL, id: "q", digest: "d", definition: "e", reason: "It costs money.", simulated: false, askedAt: 1 };

interface Watch {
  /** Texts of the statements that were run. */
  readonly texts: string[];
  /** Called before each; what it throws is the answer. */
  before: (text: string) => Promise<void> | void;
  /** Called after each; what it throws is the answer, though it was run. */
  after: (text: string) => Promise<void> | void;
}

describe.skipIf(postgresPrograms === undefined)("issue 21 group writes over one PostgreSQL server:", { timeout: START }, () => {
  let running: PostgresServer | undefined;
  beforeAll(async () => {
    running = await startPostgres({}, "trust");
  }, START);
  afterAll(() => running?.remove());

  function storeOf(schema: string): { readonly store: Store; readonly watch: Watch } {
    const settings = checkPostgresSettings({ url: running?.url ?? "", schema });
    const watch: Watch = { texts: [], before: () => {}, after: () => {} };
    const pool = async () => watchedPool(await createPostgresPool(settings), watch);
    const store = createPostgresStore(settings, { connect: async () => openPostgresDatabase(settings, pool), maxBufferedBytes: 64e6 });
    onTestFinished(() => store.close().catch(() => {}));
    return { store, watch };
  }

  async function begun(store: Store, id: string): Promise<void> {
    const log = store.create(id, { at: 1, durability: "sync" });
    log.append([messageEvent(id, 1)]);
    await log.close();
  }

  test("sessions that begin, continue and are closed together take one statement, and a claim reads its log with another", async () => {
    const { store, watch } = storeOf("counted");
    await store.open();
    await begun(store, "first"); // its owner is known from then on
    const open = store.create("open", { at: 1, durability: "sync" });
    open.append([messageEvent("open", 1)]);
    await open.whenDurable();
    watch.texts.length = 0;
    const made = store.create("made", { at: 1, durability: "sync" });
    made.append(messageEvents("made", 1, 3));
    open.append([messageEvent("open", 2)]);
    await Promise.all([made.close(), open.close()]);
    expect(watch.texts.map((text) => text.trim().slice(0, 10))).toEqual(["with moved"]);
    watch.texts.length = 0;
    const again = await Promise.all([store.claim("made"), store.claim("open")]);
    expect(await Promise.all(again.map(async (log) => (await log.read()).events.length))).toEqual([3, 2]);
    again[0]?.append([messageEvent("made", 4)]);
    await again[0]?.whenDurable();
    expect(watch.texts.map((text) => text.trim().slice(0, 10))).toEqual(["with free ", "with moved"]);
    expect((await store.read("made")).events).toHaveLength(4);
  });

  test("logs that are confirmed together take one read-only statement", async () => {
    const { store, watch } = storeOf("confirmed");
    const logs = Array.from({ length: 50 }, (_, index) => store.create(`shop ${index}`, { at: 1, durability: "sync" }));
    for (const log of logs) log.append([messageEvent(log.sessionId, 1)]);
    await Promise.all(logs.map(async (log) => log.whenDurable()));
    watch.texts.length = 0;
    await Promise.all(logs.map(async (log) => log.confirm?.()));
    expect(watch.texts.map((text) => text.slice(0, 6))).toEqual(["select"]);
  });

  test("a closed log whose answer was lost is closed with every event once, even if another process has claimed it since", async () => {
    const { store, watch } = storeOf("lost");
    const other = storeOf("lost").store;
    await store.open();
    await begun(store, "first");
    await begun(other, "second");
    for (const isClaimed of [false, true]) {
      const id = `shop ${isClaimed}`;
      const log = store.create(id, { at: 1, durability: "sync" });
      log.append([messageEvent(id, 1)]);
      await log.whenDurable();
      log.append(messageEvents(id, 2, 3));
      watch.after = async (text) => {
        if (!text.includes("moved as")) return;
        watch.after = () => {};
        if (isClaimed) (await other.claim(id)).append([messageEvent(id, 4)]);
        throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
      };
      await log.close();
      const [listed] = await store.list({ sessionId: id });
      expect(listed?.openedBy === undefined).toBe(!isClaimed);
      expect((await store.read(id)).events.slice(0, 3)).toEqual(messageEvents(id, 1, 3));
    }
  });

  test("a session that is claimed while it is removed is either removed or claimed, never both", async () => {
    const { store, watch } = storeOf("removed");
    const { store: other } = storeOf("removed");
    await store.open();
    await begun(other, "second");
    await begun(store, "shop");
    let claiming: Promise<unknown> | undefined;
    watch.before = async (text) => {
      if (text.startsWith("update") && text.includes('"epoch" =')) {
        watch.before = claimBeforeDeletion;
        await (await other.claim("shop")).close(); // the first try to take it finds another epoch
      }
    };
    async function claimBeforeDeletion(text: string): Promise<void> {
      if (!text.startsWith("delete")) return;
      watch.before = () => {};
      claiming = other.claim("shop").catch((error: unknown) => error);
      await Promise.race([claiming, untilOneWaits()]);
    }
    expect(await store.remove("shop")).toBe(true);
    expect(await claiming).toMatchObject({ code: "not_found" });
    expect(await running?.execute("select session from removed.haft_event where session = '\"shop\"'")).toEqual([]);
  });

  test.for([
    ["with others", "with free"],
    ["alone", "commit"],
  ] as const)(
    "a claim %s whose answer is lost for good is released at the next heartbeat, and a later claim is not",
    async ([, statement]) => {
      const schema = statement.replaceAll(" ", "_");
      const { store: other } = storeOf(schema);
      await other.open();
      await begun(other, "known");
      await begun(other, "shop");
      const settings = checkPostgresSettings({ url: running?.url ?? "", schema, retryMs: 0 });
      const watch: Watch = { texts: [], before: () => {}, after: () => {} };
      const database = openPostgresDatabase(settings, async () => watchedPool(await createPostgresPool(settings), watch));
      onTestFinished(() => database.close());
      const claim = (sessionId: string) => database.claim({ sessionId, takeOver: false, verified: 0 });
      const loseOne = async (sessionId: string): Promise<void> => {
        watch.texts.length = 0;
        watch.after = (text) => {
          const isClaimed = watch.texts.some((one) => /^\s*(?:update|with free)/u.test(one));
          if (isClaimed && text.trim().startsWith(statement)) throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
        };
        await expect(claim(sessionId)).rejects.toMatchObject({ code: "store_failed" });
        watch.after = () => {};
      };
      if (statement === "with free") await claim("known"); // from then on several are claimed by one statement
      await loseOne("shop");
      await expect(other.claim("shop")).rejects.toMatchObject({ code: "resource_busy" });
      await database.sendHeartbeat();
      const later = await other.claim("shop");
      expect(later.wasLeftOpen).toBe(true); // by its owner before the lost claim, for all that is known
      await later.close();
      await loseOne("shop");
      expect(await claim("shop")).toMatchObject({ claimed: true, length: 1, wasLeftOpen: true });
      await database.sendHeartbeat();
      await expect(other.claim("shop")).rejects.toMatchObject({ code: "resource_busy" });
    },
  );

  test("a long log that may have been left open is reported as such by a claim of several requests, after a claim whose answer was lost", async () => {
    const { store: other } = storeOf("long");
    const log = other.create("shop", { at: 1, durability: "async" });
    for (let from = 1; from < 5_800; from += 200) log.append(messageEvents("shop", from, from + 199));
    await log.close();
    const settings = checkPostgresSettings({ url: running?.url ?? "", schema: "long", retryMs: 0 });
    const watch: Watch = { texts: [], before: () => {}, after: () => {} };
    const database = openPostgresDatabase(settings, async () => watchedPool(await createPostgresPool(settings), watch));
    onTestFinished(() => database.close());
    watch.after = (text) => {
      const isClaimed = watch.texts.some((one) => one.startsWith("update"));
      if (isClaimed && text === "commit") throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    };
    const request = { sessionId: "shop", takeOver: false };
    await expect(database.claim({ ...request, verified: 5_800 })).rejects.toMatchObject({ code: "store_failed" });
    watch.after = () => {};
    expect(await database.claim({ ...request, verified: 0 })).toEqual({ claimed: false, verified: 5_000 });
    expect(await database.claim({ ...request, verified: 5_000 })).toMatchObject({ claimed: true, length: 5_800, wasLeftOpen: true });
  });

  test("a session without a question is resumed with one statement, and its job run and its log closed with two", async () => {
    const [sender, worker] = [storeOf("resumed"), storeOf("resumed")];
    await worker.store.open();
    await begun(worker.store, "first"); // its owner is known from then on
    const leaving = createRuntime({ tools: [tool("note", () => "noted")], store: sender.store, jobs: { maxRunning: 0 } });
    await leaving.session("shop").submit({ name: "note" });
    await leaving.sessions.handOver("shop");
    const runtime = createRuntime({ tools: [tool("note", () => "noted")], store: worker.store });
    worker.watch.texts.length = 0;
    const session = await runtime.resume("shop");
    await Promise.all(session.jobs.map(({ id }) => runtime.jobs.wait(id)));
    await session.close();
    const ofSession = worker.watch.texts.filter((text) => !text.startsWith("delete")); // old jobs are forgotten
    expect(ofSession.map((text) => text.trim().slice(0, 10))).toEqual(["with free ", "with moved", "with moved"]);
    expect((await worker.store.jobs.list({ sessionId: "shop" })).map(({ state }) => state)).toEqual(["done"]);
  });

  test("an open question of a process that has left is withdrawn when its session is claimed together with others", async () => {
    const [one, other] = [storeOf("left_question").store, storeOf("left_question").store];
    await one.open();
    await begun(other, "first");
    const logs = ["asked", "quiet"].map((id) => one.create(id, { at: 1, durability: "sync" }));
    for (const log of logs) log.append([messageEvent(log.sessionId, 1)]);
    await logs[0]?.whenDurable();
    const { id, digest, position } = await one.approvals.put({ ...QUESTION, sessionId: "asked" });
    await one.approvals.leave({ id, digest, position });
    for (const log of logs) await log.close();
    await Promise.all(logs.map(({ sessionId }) => other.claim(sessionId)));
    expect(await other.approvals.withdrawAbandoned({ sessionId: "quiet", at: 2 })).toBe(0);
    expect(await other.approvals.withdrawAbandoned({ sessionId: "asked", at: 2 })).toBe(1);
  });

  test("a log left open by its process is reported as such, even if the answer to the claim was lost", async () => {
    const { store: one } = storeOf("left_open");
    await one.open();
    const log = one.create("shop", { at: 1, durability: "sync" });
    log.append([messageEvent("shop", 1)]);
    await one.close();
    const { store, watch } = storeOf("left_open");
    let losses = 0;
    watch.after = (text) => {
      if (text !== "commit" || !watch.texts.some((before) => before.startsWith("update")) || losses++ > 0) return;
      throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    };
    expect((await store.claim("shop")).wasLeftOpen).toBe(true);
    expect(losses).toBeGreaterThan(1); // it was claimed again
  });

  async function untilOneWaits(): Promise<void> {
    const question = "select 1 from pg_stat_activity where wait_event_type = 'Lock'";
    while ((await running?.execute(question))?.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  }
});

function watchedPool(pool: PostgresPool, watch: Watch): PostgresPool {
  return {
    options: {},
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect();
      const query = async (text: string, parameters: readonly unknown[]): Promise<unknown> => {
        watch.texts.push(text);
        await watch.before(text);
        const answer = await client.query(text, parameters);
        await watch.after(text);
        return answer;
      };
      return { query, release: () => client.release() } as unknown as PostgresPoolClient;
    },
  };
}
