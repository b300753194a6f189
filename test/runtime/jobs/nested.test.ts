/** The calls that background jobs make, after a crash. */
import { describe, expect, test } from "vitest";
import type { Effects } from "../../../src/core/resources/effects.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { createChain } from "../../../src/compose/chain/chain.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import type { SessionSnapshot } from "../../../src/runtime/snapshot.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool } from "../bench-runtime.ts";
import { noJobs } from "../../store/no-jobs.ts";
import { FailingStore } from "../session/failing-store.ts";

const MONEY: Effects = { writes: ["money"], external: true };
const never = (): Promise<never> => new Promise(() => {});

/** Ids that no process before has given. */
const idsOf = (process: number): { next: (prefix: string) => string } => {
  let count = 0;
  return { next: (prefix) => `${prefix}_${process}_${++count}` };
};

describe.each(["a chain", "a handler that makes calls in its session"])("a job that is %s", (kind) => {
  const chain = createChain([{ tool: "book" }, { tool: "look" }]).toTool({ name: "trip", description: "Trip" });

  test("and whose nested call crashes its process is parked after three starts", async () => {
    const log: string[] = [];
    let store = new FailingStore();
    let id = "";
    for (let process = 0; process < 6; process++) {
      const here = store;
      const tools: readonly Tool[] = [
        tool("book", () => (log.push("book"), { booking: 1 }), { effects: MONEY }),
        tool(
          "look",
          async () => {
            log.push("look");
            await here.logs.get("s")?.whenDurable();
            here.isDead = true;
            return never();
          },
          { effects: { reads: ["x"] } },
        ),
        kind === "a chain"
          ? chain
          : tool("trip", async (_input, { execute }) => (await execute({ name: "look" })).output, { effects: { idempotent: true } }),
      ];
      const { runtime } = testRuntime({ store: here, tools, ports: { ids: idsOf(process) } });
      if (process === 0) {
        const session = runtime.session("s");
        id = (await session.submit({ name: "trip" })).id;
      } else void runtime.resume("s").catch(() => {});
      await settle();
      if (!here.isDead) {
        expect(runtime.jobs.get(id)).toMatchObject({ state: "parked" });
        break;
      }
      store = here.crash();
    }
    expect(log.filter((name) => name === "look")).toHaveLength(3);
    expect(log.filter((name) => name === "book").length).toBeLessThanOrEqual(1);
  });

  test.each(["its own session", "another session"])(
    "and whose id was cancelled in %s runs its calls again only if that is another session",
    async (where) => {
      const log: string[] = [];
      const make = (store: FailingStore, process: number): ReturnType<typeof testRuntime> =>
        testRuntime({
          store,
          ports: { ids: idsOf(process) },
          tools: [
            tool("look", () => (log.push(`look ${process}`), process === 0 ? never() : "seen"), { effects: { reads: ["x"] } }),
            kind === "a chain"
              ? createChain([{ tool: "look", outputKey: "look" }]).toTool({ name: "trip", description: "Trip" })
              : tool("trip", async (_input, { execute }) => (await execute({ name: "look" })).output, { effects: { idempotent: true } }),
          ],
        });
      const before = new FailingStore();
      const { id } = await make(before, 0).runtime.session("s").submit({ name: "trip" });
      await settle();
      await before.logs.get("s")?.whenDurable();
      const request = { sessionId: where === "its own session" ? "s" : "t", id, reason: "nobody wants it" };
      const store = Object.assign(before.crash(), { jobs: { ...noJobs, cancelRequests: async () => [request] } });
      const { runtime } = make(store, 1);
      const session = await runtime.resume("s");
      await settle();
      const ended = session.history.map(({ call, result }) => [call.name, result?.status]);
      if (where === "another session") {
        expect(ended).toContainEqual(["trip", "ok"]);
        return;
      }
      expect(log).toEqual(["look 0"]);
      expect(ended).toEqual([
        ["trip", "cancelled"],
        ["look", "cancelled"],
      ]);
    },
  );
});

test.each([1, 2])("promoting a call moves the nested calls that it waits for out of the turn, beside %i calls", async (count) => {
  const hold = gate();
  const tools = [
    tool("inner", () => hold.promise.then(() => "built")),
    tool("outer", (): unknown => session.execute({ name: "inner" }).then(({ output }) => output), { timeoutMs: 0 }),
    tool("look", () => "seen"),
  ];
  const { runtime } = testRuntime({ tools });
  const session = runtime.session("s");
  const calls = [{ name: "outer" }, { name: "look" }].slice(0, count);
  const first = session.execute(calls);
  await settle();
  const [{ callId } = { callId: "" }] = runtime.running.filter(({ name }) => name.endsWith("outer"));
  expect(runtime.jobs.promote(callId)).toBe(true);
  expect((await first).map(({ status }) => status)).toEqual(["pending", "ok"].slice(0, count));
  expect(await session.execute({ name: "look" })).toMatchObject({ status: "ok" }); // before the job has ended
  hold.open();
  expect(await runtime.jobs.wait(callId)).toMatchObject({ state: "done", result: { output: "built" } });
  expect(await session.execute({ name: "look" })).toMatchObject({ status: "ok" });
  await session.close();
});

describe("a nested call whose caller has ended, in a job that is still running", () => {
  /** A job calls `outer`, which runs out of time while the `inner` that it called goes on. */
  async function leftBehind() {
    const store = new FailingStore();
    const runs = { inner: 0 };
    const tools = (session: () => RuntimeSession) => [
      tool("inner", () => (runs.inner++, never()), { effects: { reads: ["x"] }, timeoutMs: 0 }),
      tool("outer", async () => (await session().execute({ name: "inner" })).output, { timeoutMs: 100, maxAttempts: 1 }),
      tool("trip", async () => (await session().execute({ name: "outer" })).status && never(), { effects: { idempotent: true } }),
    ];
    const bench = testRuntime({ store, tools: tools(() => session), orphanHoldMs: 1, ports: { ids: idsOf(0) } });
    const session: RuntimeSession = bench.runtime.session("s");
    const { id } = await session.submit({ name: "trip" });
    await bench.ports.clock.advance(200);
    expect(bench.runtime.running.map(({ name }) => name)).toEqual(["default::trip", "default::inner"]);
    return { ...bench, store, session, id, runs, tools };
  }

  test("is in a snapshot that can be restored", async () => {
    const { session, tools } = await leftBehind();
    const snapshot: unknown = JSON.parse(JSON.stringify(await session.snapshot()));
    const copy = testRuntime({ tools: tools(() => session) }).runtime.session("copy", { from: snapshot as SessionSnapshot });
    expect(copy.history.map(({ call, result }) => [call.name, result?.status])).toEqual([
      ["trip", undefined],
      ["outer", "error"],
      ["inner", undefined],
    ]);
  });

  test("does not run again if the job was cancelled meanwhile", async () => {
    const { store, id, runs, tools, session } = await leftBehind();
    await store.logs.get("s")?.whenDurable();
    const request = { sessionId: "s", id, reason: "nobody wants it" };
    const after = Object.assign(store.crash(), { jobs: { ...noJobs, cancelRequests: async () => [request] } });
    const { runtime } = testRuntime({ store: after, tools: tools(() => session), ports: { ids: idsOf(1) } });
    const resumed = await runtime.resume("s");
    await settle();
    expect(runs.inner).toBe(1);
    expect(resumed.history.map(({ result }) => result?.status)).toEqual(["cancelled", "error", "cancelled"]);
  });
});

describe("nested calls of a job that were running when its process ended", () => {
  async function resumed() {
    const store = new FailingStore();
    const ends = gate<string>();
    let process = 0;
    const make = (of: FailingStore) => {
      const ids = idsOf(process);
      const bench = testRuntime({
        store: of,
        ports: { ids },
        tools: [
          tool("look", () => (process === 0 ? never() : ends.promise), { effects: { reads: ["x"] }, timeoutMs: 0 }),
          tool("trip", async (_input, { execute }) => (await execute({ name: "look" })).output, { effects: { idempotent: true } }),
        ],
      });
      return bench;
    };
    const { id } = await make(store).runtime.session("s").submit({ name: "trip" });
    await settle();
    await store.logs.get("s")?.whenDurable();
    process++;
    const bench = make(store.crash());
    return { ...bench, session: await bench.runtime.resume("s"), id, ends };
  }

  test("are not awaited by resume, and end before their job runs again", async () => {
    const { runtime, session, id, ends, events } = await resumed();
    expect(session.jobs).toMatchObject([{ id, state: "running" }]);
    expect(await session.execute({ name: "look" }, { background: true })).toMatchObject({ status: "pending" }); // its turns are free
    ends.open("seen");
    expect(await runtime.jobs.wait(id)).toMatchObject({ state: "done", result: { output: "seen" } });
    const ended = events.flatMap((event) => (event.type === "call-end" ? [event.result.name] : []));
    expect(ended.indexOf("default::look")).toBeLessThan(ended.indexOf("default::trip"));
  });

  test.each(["the job is cancelled", "the session is closed", "the runtime is closed"])("end with one result each when %s", async (how) => {
    const { runtime, session, id, ports } = await resumed();
    await settle();
    if (how === "the job is cancelled") runtime.jobs.cancel(id);
    else if (how === "the session is closed") await session.close();
    else await runtime.close();
    await ports.clock.advance(60_000); // its handlers are deaf
    expect(session.history.map(({ result }) => result?.status)).toEqual(["cancelled", "cancelled", "cancelled"]); // the job, the call that its handler made before, and the one that it makes again
    expect([runtime.running, session.jobs, ports.clock.pending]).toEqual([[], [], 0]);
  });
});
