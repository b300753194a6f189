/** What processes of a store in PostgreSQL tell each other. */
import { hash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Store } from "../../../src/core/store/store.ts";
import { CHANGED_PARTS, type StoreChange } from "../../../src/core/store/store-changes.ts";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { PostgresNotifier } from "../../../src/store/postgres/postgres-notifier.ts";
import { postgresStore, type PostgresStoreOptions } from "../../../src/store/postgres-store.ts";
import { IN_CI, inCI } from "../../ci.ts";
import { FakeClock, MemoryLog } from "../../../src/testing/fake-ports.ts";
import { messageEvent } from "../../../src/testing/store-case.ts";
import { bouncerProgram, startBouncer } from "./bouncer.ts";
import { postgresPrograms, startPostgres, type PostgresServer } from "./server.ts";

const START = 120_000;
const SKIPPED = postgresPrograms === undefined || !inCI;

describe.skipIf(SKIPPED)(`issue 21.2 processes notify each other of writes ${IN_CI}:`, { timeout: START }, () => {
  let running: PostgresServer | undefined;
  beforeAll(async () => {
    running = await startPostgres({ max_connections: 40 }, "trust");
  }, START);
  afterAll(() => running?.remove());

  function server(): PostgresServer {
    return running ?? expect.fail("the server did not start");
  }

  function storeOf(schema: string, options: Partial<PostgresStoreOptions> = {}): Store {
    const store = postgresStore({ url: server().url, schema, ...options });
    onTestFinished(() => store.close().catch(() => {}));
    return store;
  }

  /** Changes as they are told, from when the store is told of them. */
  async function followed(store: Pick<Store, "follow">) {
    const told: StoreChange[] = [];
    let wake = (): void => {};
    const follower = store.follow((change) => {
      told.push(change);
      wake();
    });
    const next = async (fits: (change: StoreChange) => boolean): Promise<StoreChange> => {
      for (;;) {
        const found = told.find(fits);
        if (found !== undefined) return found;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    };
    if (!follower.isLive) await next(() => true); // it listens from then on: anything may have been written before
    told.length = 0;
    return { follower, told, next };
  }

  async function write(store: Store, id: string, position: number): Promise<void> {
    const log = position === 1 ? store.create(id, { at: 1, durability: "sync" }) : await store.claim(id);
    log.append([messageEvent(id, position)]);
    await log.close();
  }

  test("events are announced with their sessions, to other processes and not to the writer", async () => {
    const [one, other] = [storeOf("told"), storeOf("told")];
    await one.open();
    const [own, seen] = [await followed(one), await followed(other)];
    expect(seen.follower.isLive).toBe(true);
    await write(one, "shop", 1);
    const change = await seen.next(({ sessionIds }) => sessionIds?.includes("shop") === true);
    expect(change.parts).toEqual(["events"]);
    expect(await other.read("shop")).toMatchObject({ events: [messageEvent("shop", 1)] }); // it is durable by then
    expect(own.told).toEqual([]);
    seen.follower.stop();
  });

  test.skipIf(bouncerProgram === undefined).each(["session", "transaction"] as const)(
    "through PgBouncer in %s mode, the store detects and reports whether notifications arrive",
    async (mode) => {
      const bouncer = await startBouncer(server().url, mode);
      onTestFinished(() => bouncer.stop());
      const log = new MemoryLog();
      const settings = { url: bouncer.url, schema: `bouncer_${mode}`, connectTimeoutMs: 5_000 };
      const notifier = new PostgresNotifier(settings, { ...systemPorts, log });
      onTestFinished(() => notifier.close());
      const { follower } = await followed({ follow: (listener) => notifier.follow(listener) });
      const warned = log.lines.map(({ message }) => message.slice(0, 41));
      const expected = mode === "session" ? [true] : [false, "No notifications of PostgreSQL arrive, as"];
      expect([follower.isLive, ...warned]).toEqual(expected);
    },
  );

  test("consecutive events are announced together, and immediately with changes that a process waits for", async () => {
    const clock = new FakeClock();
    const settings = { url: server().url, schema: "paced", connectTimeoutMs: 5_000 };
    const [writer, reader] = [new PostgresNotifier(settings, { ...systemPorts, clock }), new PostgresNotifier(settings)];
    const seen = await followed({ follow: (listener) => reader.follow(listener) });
    const sessionsUntil = async (id: string): Promise<readonly unknown[]> => {
      await seen.next(({ sessionIds }) => sessionIds?.includes(id) === true);
      return seen.told.splice(0).map(({ parts, sessionIds }) => [parts, sessionIds]);
    };
    const events = async (id: string, afterMs: number): Promise<void> => {
      writer.notify({ parts: ["events"], sessionIds: [id] });
      await clock.advance(afterMs);
    };
    await events("a", 0);
    expect(await sessionsUntil("a")).toEqual([[["events"], ["a"]]]);
    await events("b", 49); // not told: it would come before the others
    writer.notify({ parts: ["approvals"], sessionIds: ["c"] });
    expect(await sessionsUntil("c")).toEqual([
      [
        ["events", "approvals"],
        ["b", "c"],
      ],
    ]);
    await events("d", 20);
    await events("e", 30);
    expect(await sessionsUntil("e")).toEqual([[["events"], ["d", "e"]]]);
    await Promise.all([writer.close(), reader.close()]);
  });

  test("notifications that are pending when the connection is lost are sent on the next one", async () => {
    const clock = new FakeClock();
    const settings = { url: server().url, schema: "lost", connectTimeoutMs: 5_000 };
    const [writer, reader] = [new PostgresNotifier(settings, { ...systemPorts, clock }), new PostgresNotifier(settings)];
    const seen = await followed({ follow: (listener) => reader.follow(listener) });
    const isTold = (id: string) => seen.told.some(({ sessionIds }) => sessionIds?.includes(id) === true);
    writer.notify({ parts: ["events"], sessionIds: ["a"] });
    await seen.next(({ sessionIds }) => sessionIds?.includes("a") === true);
    writer.notify({ parts: ["events"], sessionIds: ["b"] });
    await server().execute(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'haft notifier' and query like '%pg_notify(%'",
    );
    await setTimeout(200); // until the client knows
    for (let step = 0; step < 200 && !isTold("b"); step++) {
      await clock.advance(25);
      await setTimeout(5);
    }
    expect(isTold("b")).toBe(true);
    await Promise.all([writer.close(), reader.close()]);
  });

  test("stores of other schemas, and stores that do not notify, receive no notifications", async () => {
    const [one, elsewhere, silent] = [storeOf("first"), storeOf("second"), storeOf("first", { notify: false })];
    await Promise.all([one.open(), elsewhere.open()]);
    const seen = await followed(elsewhere);
    const follower = silent.follow(() => expect.fail("it was told"));
    expect(follower.isLive).toBe(false);
    await write(one, "shop", 1);
    await write(elsewhere, "mine", 1);
    const other = await followed(one);
    await write(silent, "quiet", 1);
    await write(one, "shop", 2);
    expect([seen.told, other.told]).toEqual([[], []]);
  });

  test("I07 when many sessions change at once, the notification names none, and PostgreSQL accepts it", async () => {
    const [one, other] = [storeOf("many"), storeOf("many")];
    await one.open();
    const seen = await followed(other);
    const ids = Array.from({ length: 200 }, (_, index) => `${"x".repeat(100)}${index}`);
    await Promise.all(ids.map((id) => write(one, id, 1)));
    await seen.next(({ sessionIds }) => sessionIds === undefined);
    await write(one, "last", 1);
    await seen.next(({ sessionIds }) => sessionIds === undefined || sessionIds.includes("last"));
  });

  test("a notification from outside of Haft counts as a change of anything", async () => {
    const store = storeOf("foreign");
    await store.open();
    const seen = await followed(store);
    const channel = `haft_${hash("sha256", "foreign").slice(0, 32)}`;
    for (const text of ["{", "null", "[]", '{"parts": 1}', "x".repeat(7_000)])
      await server().execute(`select pg_notify('${channel}', '${text}')`);
    await seen.next(({ sessionIds }) => sessionIds === undefined);
    await server().execute(`select pg_notify('${channel}', '{"parts": ["events"], "sessionIds": ["shop"]}')`);
    await seen.next(({ sessionIds }) => sessionIds?.includes("shop") === true);
    expect(seen.told.map(({ parts }) => parts.length)).toEqual([...Array<number>(5).fill(CHANGED_PARTS.length), 1]);
  });

  test("a lost connection is reopened, and everything is read again then", async () => {
    const [one, other] = [storeOf("lost"), storeOf("lost")];
    await one.open();
    const seen = await followed(other);
    await server().execute("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'haft notifier'");
    await seen.next(({ parts, sessionIds }) => sessionIds === undefined && parts.length > 1);
    await write(one, "shop", 1);
    await seen.next(({ sessionIds }) => sessionIds?.includes("shop") === true);
  });

  test("a restarted server is awaited, and nothing written in the meantime is missed", async () => {
    const [one, other] = [storeOf("restarted"), storeOf("restarted")];
    await one.open();
    const seen = await followed(other);
    const writing = one.create("shop", { at: 1, durability: "sync" });
    await server().restart();
    writing.append([messageEvent("shop", 1)]);
    await writing.close();
    await seen.next(({ sessionIds }) => sessionIds === undefined || sessionIds.includes("shop"));
    expect((await other.read("shop")).events).toEqual([messageEvent("shop", 1)]);
  });

  test("cancelled jobs and answered approvals are announced", async () => {
    const [one, other] = [storeOf("asked"), storeOf("asked")];
    await one.open();
    const seen = await followed(other);
    await one.jobs.requestCancel({ sessionId: "a", id: "b", reason: "no need" });
    await seen.next(({ parts }) => parts.includes("jobs"));
    const words = { description: "d", definition: "d", reason: "r", simulated: false };
    await one.approvals.put({
      id: "q",
      sessionId: "a",
      callId: "c",
      turnId: "t",
      toolName: "x::y",
      input: {},
      digest: "b",
      askedAt: 1,
      ...words,
    });
    expect(await one.approvals.end({ id: "q", digest: "b", status: "denied", at: 2 })).toBe(true);
    await seen.next(({ parts }) => parts.includes("approvals"));
  });

  test("messages are announced with the names of their channels, or without names if there are too many", async () => {
    const [one, other] = [storeOf("channels"), storeOf("channels")];
    await one.open();
    const seen = await followed(other);
    const send = async (channel: string) => one.channels?.send({ channel, body: "{}", sender: "s", senderId: "s", keep: 10 });
    await send("news");
    const change = await seen.next(({ parts }) => parts.includes("channels"));
    expect([change.parts, change.channels]).toEqual([["channels"], ["news"]]);
    await write(one, "shop", 1);
    expect((await seen.next(({ parts }) => parts.includes("events"))).channels).toEqual([]);
    await Promise.all(Array.from({ length: 200 }, (_, index) => send(`${"x".repeat(2_000)}${index}`)));
    await seen.next(({ parts, channels }) => parts.includes("channels") && channels === undefined);
  });

  test("a store that is closed right after opening closes its connection", async () => {
    const store = storeOf("closed");
    await store.open();
    store.follow(() => {});
    await write(store, "shop", 1);
    await store.close();
    const left = await server().execute("select count(*)::int as n from pg_stat_activity where application_name = 'haft notifier'");
    expect(left[0]?.["n"]).toBe(0);
  });
});
