/** Work that an engine goes on with elsewhere is asked for after a crash, and not begun a second time. */
import { expect, test } from "vitest";
import type { Engine } from "../../../src/core/engine.ts";
import type { Effects } from "../../../src/core/resources/effects.ts";
import { ToolError } from "../../../src/core/error.ts";
import type { EndedJob } from "../../../src/core/jobs/job-status.ts";
import { RemoteJob } from "../../../src/core/jobs/remote-job.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { gate, testRuntime } from "../bench-runtime.ts";
import { FailingStore } from "../session/failing-store.ts";

const writes: Effects = { writes: ["money"] };
const repeatable: Effects = { writes: ["money"], idempotent: true };

/** Calls of `pay` begin work that goes on until it is answered; counted are calls and attaches. */
class FarEngine implements Engine {
  readonly kind = "far";
  readonly calls: string[] = [];
  readonly cancelled: string[] = [];
  readonly answer = gate<string>();
  readonly attach?: NonNullable<Engine["attach"]>;
  readonly #id: string;

  constructor(attach: Engine["attach"] | "none" = (remoteId) => this.#job(remoteId), id = "task-1") {
    this.#id = id;
    if (attach !== "none")
      this.attach = (remoteId, request, context) => {
        this.calls.push(`attach ${remoteId} ${JSON.stringify(request.input)}`);
        return attach?.(remoteId, request, context);
      };
  }

  call(): unknown {
    this.calls.push("call");
    return this.#job(this.#id);
  }

  #job(id: string): RemoteJob {
    return new RemoteJob({ id, result: this.answer.promise, cancel: async () => void this.cancelled.push(id) });
  }
}

function runtimeOn(store: FailingStore, engine: Engine, effects: Effects) {
  const pay = { name: "pay", description: "Pays.", inputSchema: { type: "object" }, effects } as const;
  return testRuntime({ store, toolsets: [{ name: "bank", engine, tools: [pay] }], approval: { never: ["*"] } });
}

/** Begins a job whose process then ends. Returns its id and the store of the next process. */
async function crashed(engine: Engine, effects: Effects, background = true) {
  const store = new FailingStore();
  const session = runtimeOn(store, engine, effects).runtime.session("s");
  const answer = session.execute({ name: "pay", input: { n: 1 } }, { background });
  await settle();
  await store.logs.get("s")?.whenDurable();
  const id = background ? (await answer).callId : "";
  return { id, store: store.crash() };
}

test("a call that may not be repeated attaches to its remote work, with its input, and gets the result", async () => {
  const { id, store } = await crashed(new FarEngine(), writes);
  const engine = new FarEngine();
  const { runtime, trace } = runtimeOn(store, engine, writes);
  await runtime.resume("s");
  engine.answer.open("paid");
  expect((await runtime.jobs.wait(id)) as EndedJob).toMatchObject({ state: "done", result: { output: "paid", origin: "live" } });
  expect(engine.calls).toEqual(['attach task-1 {"n":1}']);
  expect(trace().filter((type) => type === "call-remote")).toEqual([]); // it is in the log already
});

test("a direct call attaches too", async () => {
  const { store } = await crashed(new FarEngine(), writes, false);
  const engine = new FarEngine();
  const { runtime } = runtimeOn(store, engine, writes);
  engine.answer.open("paid");
  const session = await runtime.resume("s");
  expect([engine.calls, session.history.map(({ result }) => result?.output)]).toEqual([['attach task-1 {"n":1}'], ["paid"]]);
});

test.each([
  ["may be repeated is made again", repeatable, ["attach", "call"], { state: "done" }],
  ["may not be repeated has an unknown outcome", writes, ["attach"], { state: "error", error: { code: "outcome_unknown" } }],
])("if the remote work is gone, a call that %s", async (_, effects, calls, expected) => {
  const { id, store } = await crashed(new FarEngine(), effects);
  const engine = new FarEngine(() => {
    throw new ToolError("not_found", "no such task");
  });
  const { runtime } = runtimeOn(store, engine, effects);
  await runtime.resume("s");
  engine.answer.open("paid");
  expect(await runtime.jobs.wait(id)).toMatchObject(expected);
  expect(engine.calls.map((call) => call.split(" ")[0])).toEqual(calls);
});

test.each([true, false])(
  "if the engine can no longer attach, the outcome of a repeated call includes its earlier attempt (job: %s)",
  async (background) => {
    const { store } = await crashed(new FarEngine(), repeatable, background);
    const engine = new FarEngine("none");
    const { runtime } = runtimeOn(store, engine, repeatable);
    engine.answer.fail(new ToolError("execution_failed", "no money", { outcome: "failed" }));
    const session = await runtime.resume("s");
    await settle();
    expect(session.history[0]?.result).toMatchObject({ status: "error", error: { code: "execution_failed", outcome: "unknown" } });
    expect(engine.calls).toEqual(["call"]);
  },
);

test.each(["failed", "unknown"] as const)(
  "attaching continues the same attempt: the outcome is that of the remote work, %s",
  async (outcome) => {
    const { id, store } = await crashed(new FarEngine(), repeatable);
    const engine = new FarEngine();
    const { runtime } = runtimeOn(store, engine, repeatable);
    await runtime.resume("s");
    engine.answer.fail(new ToolError("execution_failed", "no money", { outcome }));
    expect(await runtime.jobs.wait(id)).toMatchObject({ state: "error", error: { code: "execution_failed", outcome } });
  },
);

test.each([
  ["while the next one runs", 0],
  ["when the call has its result", 60_000],
])("remote work that an abandoned attempt reports only %s is not recorded", async (_, afterMs) => {
  const begun = [gate<RemoteJob>(), gate<RemoteJob>()] as const;
  const left = [...begun];
  const cancelled: string[] = [];
  const jobOf = (id: string): RemoteJob =>
    new RemoteJob({ id, result: new Promise(() => {}), cancel: async () => void cancelled.push(id) });
  const engine: Engine = { kind: "far", call: () => left.shift()?.promise, attach: () => new Promise(() => {}) };
  const pay = { name: "pay", description: "Pays.", inputSchema: { type: "object" }, effects: repeatable, timeoutMs: 5_000, maxAttempts: 2 };
  const store = new FailingStore();
  const { runtime, ports } = testRuntime({ store, toolsets: [{ name: "bank", engine, tools: [pay] }], approval: { never: ["*"] } });
  void runtime.session("s").execute({ name: "pay", input: {} });
  await ports.clock.advance(16_000); // the first keeps its lock for a while
  begun[1].open(jobOf("task-2"));
  await ports.clock.advance(afterMs);
  begun[0].open(jobOf("task-1"));
  await settle();
  await store.logs.get("s")?.whenDurable();
  const { events } = await store.crash().read("s");
  expect(events.flatMap((event) => (event.type === "call-remote" ? [event.remoteId] : []))).toEqual(["task-2"]);
  expect(cancelled).toContain("task-1");
});

test("attaching to an unreachable engine is retried, and never starts the work anew", async () => {
  const { id, store } = await crashed(new FarEngine(), writes);
  let tries = 0;
  const engine: FarEngine = new FarEngine(() => {
    if (++tries < 3) throw new ToolError("network_error", "refused", { outcome: "not_started" });
    return new RemoteJob({ id: "task-1", result: engine.answer.promise });
  });
  const { runtime, ports } = runtimeOn(store, engine, writes);
  await runtime.resume("s");
  engine.answer.open("paid");
  await ports.clock.advance(60_000);
  expect(await runtime.jobs.wait(id)).toMatchObject({ state: "done" });
  expect(engine.calls).toEqual(Array.from({ length: 3 }, () => 'attach task-1 {"n":1}'));
});

test("F1.26 cancelling an attached job also cancels its remote work", async () => {
  const { id, store } = await crashed(new FarEngine(), writes);
  const engine = new FarEngine();
  const { runtime } = runtimeOn(store, engine, writes);
  await runtime.resume("s");
  await settle();
  runtime.jobs.cancel(id);
  await settle();
  expect(runtime.jobs.get(id)?.state).toBe("cancelled");
  expect(engine.cancelled).toEqual(["task-1"]);
});

test.each<[string, () => FarEngine]>([
  ["of an engine that cannot attach", () => new FarEngine("none")],
  ["without a name", () => new FarEngine(undefined, "")],
  ["of an endless name", () => new FarEngine(undefined, "x".repeat(2_000))],
])("remote work %s is not recorded, and is treated as interrupted", async (_, make) => {
  const { id, store } = await crashed(make(), writes);
  expect(store.disk.types("s")).not.toContain("call-remote");
  const engine = make();
  const { runtime } = runtimeOn(store, engine, writes);
  await runtime.resume("s");
  expect(await runtime.jobs.wait(id)).toMatchObject({ error: { code: "outcome_unknown" } });
  expect(engine.calls).toEqual([]);
});

test("if the engine can no longer attach, the ledger decides", async () => {
  const { id, store } = await crashed(new FarEngine(), repeatable);
  expect(store.disk.types("s")).toContain("call-remote");
  const engine = new FarEngine("none");
  const { runtime } = runtimeOn(store, engine, repeatable);
  await runtime.resume("s");
  engine.answer.open("paid");
  expect(await runtime.jobs.wait(id)).toMatchObject({ state: "done" });
  expect(engine.calls).toEqual(["call"]);
});
