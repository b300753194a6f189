/** Sessions that the server takes up and lets go, while requests need them. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { ToolError, createRuntime, type RuntimeSession } from "haft";
import { sqliteStore } from "haft/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { writeRecording } from "../../../src/core/recording/recording.ts";
import type { Engine } from "../../../src/core/engine.ts";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { SessionPool } from "../../../src/server/api/sessions/session-pool.ts";
import { FakeClock, MemoryLog } from "../../../src/testing/fake-ports.ts";
import { temporaryFile } from "../../store/temporary-file.ts";
import { startApi } from "./api-server.ts";

const ALL = (): undefined => undefined;

async function startPool(maxOpenSessions: number): Promise<SessionPool> {
  const folder = await mkdtemp(join(tmpdir(), "haft-pool-"));
  const store = sqliteStore({ path: join(folder, "haft.db"), synchronous: "normal" });
  const runtime = createRuntime({ store });
  await runtime.open();
  const settings = { maxOpenSessions, sessionIdleMs: 60_000, graceMs: 0 };
  const pool = new SessionPool({ runtime, store, clock: systemPorts.clock, log: systemPorts.log, settings, allow: ALL });
  onTestFinished(async () => {
    await pool.closeAll();
    await runtime.close();
    await rm(folder, { recursive: true, force: true });
  });
  return pool;
}

test("issue 19.2 a request for another session is answered even when all allowed open sessions are busy", async () => {
  const api = await startApi({ limits: { maxOpenSessions: 1 } });
  for (const id of ["one", "two"]) await api.ask("POST", "/v1/sessions", { body: { id } });
  const busy = api.ask("POST", "/v1/sessions/one/execute", { body: { calls: [{ name: "notes::wait" }] } });
  await api.gate.entered.promise;
  const { status, json } = await api.ask("POST", "/v1/sessions/two/execute", { body: { calls: [{ name: "notes::list" }] } });
  expect([status, json.results?.[0].status]).toEqual([200, "ok"]);
  api.gate.open();
  expect((await busy).status).toBe(200);
});

test("issue 19.2 a session that is being closed is resumed for a request that needs it", async () => {
  const pool = await startPool(10);
  const session = await pool.use("shop", (open) => open, { create: true });
  const closing = pool.close(session);
  await expect(pool.use("shop", ({ closed, id }) => [id, closed])).resolves.toEqual(["shop", false]);
  await closing;
});

test("a request that may create its session is not answered by an earlier one that may not, even at the same moment", async () => {
  const pool = await startPool(10);
  const requests = [{}, { create: true }, {}, { create: true }].map((options) => pool.use("desk", ({ id }) => id, options));
  const found = (await Promise.allSettled(requests)).map((end) => (end.status === "fulfilled" ? end.value : end.reason.code));
  expect(found).toEqual(["not_found", "desk", "not_found", "desk"]);
  expect(pool.size).toBe(1);
});

test("a request gets its own error where the removal of its session was refused meanwhile", async () => {
  const pool = await startPool(10);
  const desk = await pool.use("desk", (open) => open, { create: true });
  pool.add(desk.fork({ id: "left" }));
  const { promise, reject } = Promise.withResolvers<never>();
  const working = pool.use("desk", () => promise);
  await expect(pool.remove("desk")).rejects.toMatchObject({ code: "conflict" });
  reject(new ToolError("limit_exceeded", "Its own error."));
  await expect(working).rejects.toMatchObject({ code: "limit_exceeded" });
});

test("a request still waiting for its turn when the server stops is rejected as retryable", async () => {
  const pool = await startPool(10);
  const desk = await pool.use("desk", (open) => open, { create: true });
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const inTurn = desk.turn(() => over);
  const waiting = pool.use("desk", (session) => session.execute([{ name: "default::any", input: {} }]));
  const refused = expect(waiting).rejects.toMatchObject({ code: "unavailable", retryable: true, outcome: "not_started" });
  const ending = pool.closeAll();
  await expect.poll(() => desk.closed).toBe(true);
  end();
  await Promise.all([inTurn, refused, ending]);
});

test("a discarded branch is released, and a later branch with its id is tracked", async () => {
  const pool = await startPool(10);
  const desk = await pool.use("desk", (open) => open, { create: true });
  const branch = desk.fork({ id: "left" });
  pool.add(branch);
  await branch.discard();
  const later = desk.fork({ id: "left" });
  pool.add(later);
  await pool.close(branch);
  expect([pool.size, later.closed]).toEqual([2, false]);
});

test("issue 19.2 no request gets a closed session, whatever the order of requests and however few may be open", async () => {
  const pool = await startPool(1);
  const ids = ["one", "two", "three"];
  for (const id of ids) await pool.use(id, () => {}, { create: true });
  const plan = fc.array(fc.record({ id: fc.constantFrom(...ids), turns: fc.nat(6) }), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(plan, async (requests) => {
      const found = requests.map(({ id, turns }) =>
        pool.use(id, async (session) => {
          for (let n = 0; n < turns; n++) await new Promise((resolve) => setImmediate(resolve));
          return session.closed;
        }),
      );
      expect(await Promise.all(found)).toEqual(requests.map(() => false));
    }),
    { numRuns: 15 },
  );
});

test("issue 19.5 open branches are limited, and the error says what helps", async () => {
  const api = await startApi({ limits: { maxOpenSessions: 3 } });
  await api.ask("POST", "/v1/sessions", { body: { id: "shop" } });
  const fork = async () => (await api.ask("POST", "/v1/sessions/shop/fork")).json;
  const [first] = [await fork(), await fork()];
  expect([await fork(), (await api.ask("POST", "/v1/sessions")).json]).toEqual([
    expect.objectContaining({ code: "limit_exceeded", status: 429, hint: expect.stringContaining("discard") }),
    expect.objectContaining({ code: "limit_exceeded", status: 429 }),
  ]);
  expect((await api.ask("POST", `/v1/sessions/${first.id}/discard`)).status).toBe(204);
  expect((await fork()).open).toBe(true);
});

test("issue 19.2 a client cannot create a session with a reserved id", async () => {
  const api = await startApi();
  await api.ask("POST", "/v1/sessions", { body: { id: "shop" } });
  const id = "haft-request-0123";
  const { text: raw } = await api.ask("GET", "/v1/sessions/shop/recording");
  let recorded = "";
  for await (const line of writeRecording([], { sessionId: id, exportedAt: 1 })) recorded += line;
  const headers = { "content-type": "application/jsonl" };
  const answers = [
    await api.ask("POST", "/v1/sessions", { body: { id } }),
    await api.ask("POST", "/v1/sessions/shop/fork", { body: { id } }),
    await api.ask("POST", `/v1/recordings?id=${id}`, { raw, headers }),
    await api.ask("POST", "/v1/recordings", { raw: recorded, headers }),
  ];
  expect(answers.map(({ status, json }) => [status, json.code])).toEqual(answers.map(() => [400, "invalid_argument"]));
});

test("issue 19.6 without a store, completed keyed requests keep no session, and pending ones are limited", async () => {
  const api = await startApi({ store: "none", limits: { maxOpenSessions: 3 } });
  const before = api.runtime.sessions.list().length;
  const keyed = (key: string, body: object) => api.ask("POST", "/v1/execute", { body, headers: { "idempotency-key": key } });
  const add = { calls: [{ name: "notes::add", input: { text: "Buy milk" } }] };
  for (const key of ["a", "b", "c", "d", "a"]) expect((await keyed(key, add)).status).toBe(200);
  expect([api.added.length, api.runtime.sessions.list().length]).toEqual([4, before]);
  const long = { calls: [{ name: "notes::wait" }], waitMs: 0 };
  for (const key of ["e", "f", "g"]) expect((await keyed(key, long)).status).toBe(202);
  const { status, json } = await keyed("h", long);
  expect([status, json.code ?? (await api.ask("GET", json.location)).json.code]).toEqual([503, "unavailable"]);
  api.gate.open();
  await expect.poll(async () => (await keyed("e", long)).json.results?.[0].output, { timeout: 60_000 }).toBe("passed");
});

/** A pool whose session is being closed for want of use, until it is told to end. */
async function closingPool() {
  const closed = Promise.withResolvers<void>();
  const engine: Engine = { kind: "slow", call: () => "done", openSession() {}, closeSession: () => closed.promise };
  const store = sqliteStore({ path: temporaryFile(), synchronous: "normal" });
  const tool = { name: "work", description: "Works.", inputSchema: { type: "object" } } as const;
  const runtime = createRuntime({ store, toolsets: [{ name: "slow", engine, tools: [tool] }] });
  onTestFinished(async () => void (await runtime.close()));
  const clock = new FakeClock();
  const settings = { maxOpenSessions: 10, sessionIdleMs: 1_000, graceMs: 0 };
  const pool = new SessionPool({ runtime, store, clock, log: new MemoryLog(), settings, allow: ALL });
  const call = { name: "slow::work", input: {} };
  const work = (): Promise<string> => pool.use("shop", async (session) => (await session.execute(call)).status, { create: true });
  expect(await work()).toBe("ok");
  await clock.advance(1_000);
  expect(runtime.sessions.get("shop")).toBeUndefined(); // it is being closed
  return { pool, work, closed };
}

test("issue 21.2 a request for a session that is closing because it is idle resumes it after it has closed", async () => {
  const { pool, work, closed } = await closingPool();
  const again = work();
  closed.resolve();
  expect(await again).toBe("ok");
  expect(pool.size).toBe(1);
  await pool.closeAll();
});

test("a session that is closing because it is idle is removed after it has closed", async () => {
  const { pool, closed } = await closingPool();
  const removing = pool.remove("shop");
  closed.resolve();
  expect([await removing, await pool.remove("shop"), await pool.findStored("shop")]).toEqual([true, false, undefined]);
});

test("a session can be removed while it is released, resumed or used, and other requests get at most not_found", async () => {
  const pool = await startPool(1);
  const step = fc.record({ id: fc.constantFrom("one", "two"), what: fc.constantFrom("use", "create", "remove"), turns: fc.nat(4) });
  const turns = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve));
  };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 16 }), async (steps) => {
      const answers = steps.map(async ({ id, what, turns: count }): Promise<unknown> => {
        await turns(count);
        if (what === "remove") return typeof (await pool.remove(id));
        const work = async (session: RuntimeSession): Promise<string> => {
          await turns(count);
          await session.snapshot();
          return session.id;
        };
        return pool.use(id, work, { create: what === "create" }).catch((error: unknown) => ToolError.fromUnknown(error).code);
      });
      for (const [at, answer] of (await Promise.all(answers)).entries())
        expect(steps[at]?.what === "remove" ? ["boolean"] : [steps[at]?.id, "not_found"]).toContain(answer);
      for (const id of ["one", "two"]) await pool.remove(id);
      expect([pool.size, await pool.findStored("one"), await pool.findStored("two")]).toEqual([0, undefined, undefined]);
    }),
    { numRuns: 40, endOnFailure: true },
  );
});

test("requests that use a session while it is removed, or arrive meanwhile, get not_found", async () => {
  const pool = await startPool(10);
  const [entered, removed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const work = async (session: RuntimeSession): Promise<void> => {
    entered.resolve();
    await removed.promise;
    await session.addMessage({ role: "user", content: "Hello" });
  };
  const code = (error: unknown): string => ToolError.fromUnknown(error).code;
  const used = pool.use("shop", work, { create: true }).catch(code);
  await entered.promise;
  const removing = pool.remove("shop");
  const late = pool.use("shop", () => "used").catch(code);
  expect(await removing).toBe(true);
  removed.resolve();
  expect(await Promise.all([used, late])).toEqual(["not_found", "not_found"]);
});

test("a session whose calls are still being repeated after a crash is removed at once, and waiting requests get not_found", async () => {
  const path = temporaryFile();
  const call = { name: "pool::swim", input: {} };
  const crashed = sqliteStore({ path });
  crashed.create("s", { at: 1, durability: "sync" }).append([
    { type: "session-start", sessionId: "s", at: 1 },
    { type: "call-start", callId: "call_1", sessionId: "s", turnId: "turn_1", at: 1, call },
  ]);
  await crashed.close();
  const swims = Promise.withResolvers<void>();
  const swim = {
    name: "swim",
    description: "Swims for ever.",
    inputSchema: { type: "object" },
    effects: { reads: ["water"] },
    timeoutMs: 0,
    execute: () => (swims.resolve(), new Promise<never>(() => {})),
  } as const;
  const store = sqliteStore({ path });
  const runtime = createRuntime({ store, toolsets: [{ name: "pool", description: "A pool.", tools: [swim] }] });
  const settings = { maxOpenSessions: 10, sessionIdleMs: 60_000, graceMs: 0 };
  const pool = new SessionPool({ runtime, store, clock: systemPorts.clock, log: systemPorts.log, settings, allow: ALL });
  onTestFinished(async () => {
    await pool.closeAll();
    await runtime.close();
  });
  const waiting = expect(pool.use("s", () => {})).rejects.toMatchObject({ code: "not_found" });
  await swims.promise;
  expect(await pool.remove("s")).toBe(true);
  await waiting;
  expect(await store.list()).toEqual([]);
});

test("concurrent removals of one id run one after another, and a request waits for all of them", async () => {
  const pool = await startPool(10);
  for (let round = 0; round < 20; round++) {
    await pool.use("shop", (session) => session.addMessage({ role: "user", content: "Hello." }), { create: true });
    const order: string[] = [];
    const removals = [1, 2, 3].map(async (one) => {
      await pool.remove("shop");
      order.push(`removal ${one}`);
    });
    await pool.whenReleased("shop");
    order.push("free");
    await Promise.all(removals);
    expect(order).toEqual(["removal 1", "removal 2", "removal 3", "free"]);
  }
});
