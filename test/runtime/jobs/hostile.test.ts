/** Background jobs against everything that could lose one, end it twice, hold something for ever or hang. */
import { describe, expect, test } from "vitest";
import { heapBytes } from "../../../scripts/exact-accounting.ts";
import type { ToolContext } from "../../../src/core/context.ts";
import type { SessionEvent } from "../../../src/core/event.ts";
import type { EndedJob } from "../../../src/core/jobs/job-status.ts";
import type { ToolResult } from "../../../src/core/result.ts";
import { ToolError } from "../../../src/core/error.ts";
import type { ToolExecutionError } from "../../../src/call/tool-execution-error.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { FakeClock, settle } from "../../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool } from "../bench-runtime.ts";
import { FailingStore } from "../session/failing-store.ts";

const never = (): Promise<never> => new Promise(() => {});
const FINISHED = { content: "", finish: "calls", usage: { inputTokens: 0, outputTokens: 0 } } as const;

function typesOf(log: readonly SessionEvent[], callId: string): readonly string[] {
  return log.flatMap((event) => ("callId" in event && event.callId === callId ? [event.type] : []));
}

describe("promotion", () => {
  test("F1.14 a call that is promoted between two attempts is tried again", async () => {
    let attempts = 0;
    const flaky = tool("flaky", async () => {
      if (++attempts === 1) throw new ToolError("network_error", "reset", { outcome: "not_started" });
      return "second";
    });
    const { runtime, ports } = testRuntime({ tools: [flaky], retry: { delayMs: 50, maxDelayMs: 50 } });
    const answer = runtime.session("s").execute({ name: "flaky" });
    await settle();
    const { callId } = runtime.running[0] ?? { callId: "" };
    expect(runtime.jobs.promote(callId)).toBe(true);
    expect((await answer).status).toBe("pending");
    await ports.clock.advance(1_000);
    expect(runtime.jobs.get(callId)?.state).toBe("done");
    expect(ports.clock.pending).toBe(0);
  });

  test("F1.14 a manual promotion clears the timer of promoteAfterMs", async () => {
    const done = gate<string>();
    const { runtime, ports } = testRuntime({ tools: [tool("slow", () => done.promise)], promoteAfterMs: 60_000 });
    const answer = runtime.session("s").execute({ name: "slow" });
    await settle();
    expect(runtime.jobs.promote(runtime.running[0]?.callId ?? "")).toBe(true);
    await answer;
    expect(ports.clock.pending).toBe(0);
    done.open("x");
  });

  test("F1.14 a returned promise that throws when it is awaited leaves no timer, and the process can exit", async () => {
    const tampered = (): Promise<string> =>
      Object.defineProperty(Promise.resolve("x"), "constructor", {
        get: () => {
          throw new Error("tampered");
        },
      });
    let holds = 0;
    const clock = Object.assign(new FakeClock(), { hold: () => holds++, release: () => holds-- });
    const runtime = createRuntime({ tools: [tool("odd", tampered, { maxAttempts: 1, promoteAfterMs: 60_000 })], ports: { clock } });
    for (const target of [runtime, runtime.session("s")])
      expect((await target.execute({ name: "odd" })).error?.message).toContain("tampered");
    expect([holds, clock.pending, runtime.running]).toEqual([0, 0, []]);
  });

  test("F1.14 a promoted call takes one of the slots for jobs, and releases it", async () => {
    const done = [gate<string>(), gate<string>()];
    let begun = 0;
    const { runtime } = testRuntime({ tools: [tool("slow", () => done[begun++]?.promise)], jobs: { maxRunning: 1 } });
    const session = runtime.session("s");
    const answers = session.execute([{ name: "slow" }, { name: "slow" }]);
    await settle();
    const [first = "", second = ""] = runtime.running.map(({ callId }) => callId);
    expect([runtime.jobs.promote(first), runtime.jobs.promote(second)]).toEqual([true, false]);
    done[0]?.open("a");
    await runtime.jobs.wait(first);
    await settle();
    expect(runtime.jobs.promote(second)).toBe(true);
    done[1]?.open("b");
    expect((await answers).map(({ status }) => status)).toEqual(["pending", "pending"]);
    expect(await runtime.jobs.wait(second)).toMatchObject({ state: "done" });
  });

  test("F1.14 output from before the promotion can be read, and positions continue after it", async () => {
    const done = gate<string>();
    const slow = tool("slow", async (_input, { output }) => {
      output("early\n");
      await done.promise;
      output("late\n");
      return "x";
    });
    const { runtime, events } = testRuntime({ tools: [slow] });
    const answer = runtime.session("s").execute({ name: "slow" });
    await settle();
    const { callId } = runtime.running[0] ?? { callId: "" };
    runtime.jobs.promote(callId);
    await answer;
    done.open("x");
    await runtime.jobs.wait(callId);
    expect(runtime.jobs.read(callId).text).toBe("early\nlate\n");
    expect(events.flatMap((event) => (event.type === "job-output" ? [event.position] : []))).toEqual([0, 6]);
  });

  test("F1.14 a handler sees its deadline removed when its call is promoted", async () => {
    const deadlines: number[] = [];
    const done = gate<string>();
    const slow = tool("slow", async (_input, context) => {
      deadlines.push(context.deadline);
      await done.promise;
      deadlines.push(context.deadline);
      return "x";
    });
    const { runtime, ports } = testRuntime({ tools: [slow], timeoutMs: 1_000 });
    const answer = runtime.session("s").execute({ name: "slow" });
    await settle();
    runtime.jobs.promote(runtime.running[0]?.callId ?? "");
    const { callId } = await answer;
    await ports.clock.advance(5_000);
    expect(runtime.jobs.get(callId)?.state).toBe("running");
    done.open("x");
    await runtime.jobs.wait(callId);
    expect(deadlines).toEqual([1_000, Infinity]);
  });

  test("an injected timeout still ends a promoted call", async () => {
    const { runtime, ports } = testRuntime({
      tools: [tool("slow", never, { maxAttempts: 1 })],
      timeoutMs: 1_000,
      faults: { rules: [{ type: "timeout", probability: 1 }] },
    });
    const answer = runtime.session("s").execute({ name: "slow" });
    await settle();
    const { callId } = runtime.running[0] ?? { callId: "" };
    expect(runtime.jobs.promote(callId)).toBe(true);
    await answer;
    await ports.clock.advance(2_000);
    expect(runtime.jobs.get(callId)).toMatchObject({ state: "error", error: { code: "timeout" } });
  });

  test("F1.14 calls of a promoted handler in its session wait for no turn, and are recorded as nested calls", async () => {
    const goOn = gate();
    const leaf = tool("leaf", () => "leaf");
    const parent = tool("parent", async () => {
      await goOn.promise;
      return (await session.execute({ name: "leaf" })).output;
    });
    const { runtime, events } = testRuntime({ tools: [leaf, parent] });
    const session = runtime.session("s");
    const answer = session.execute({ name: "parent" });
    await settle();
    const { callId } = runtime.running[0] ?? { callId: "" };
    runtime.jobs.promote(callId);
    await answer;
    const ended = await session.turn(async () => {
      goOn.open();
      return runtime.jobs.wait(callId);
    });
    expect(ended).toMatchObject({ state: "done", result: { output: "leaf" } });
    const starts = events.flatMap((event) => (event.type === "call-start" ? [event.parentCallId] : []));
    expect(starts).toEqual([undefined, callId]);
    await session.turn(async () => {}); // nobody is left in line
  });

  test("two promotions at the same moment, or one at the moment of the call's end, give one job or none", async () => {
    const done = gate<string>();
    const { runtime, events } = testRuntime({ tools: [tool("slow", () => done.promise)], promoteAfterMs: 10 });
    const session = runtime.session("s");
    const answer = session.execute({ name: "slow" });
    await settle();
    const { callId } = runtime.running[0] ?? { callId: "" };
    done.open("x");
    const promoted = [runtime.jobs.promote(callId), runtime.jobs.promote(callId)];
    await answer;
    await settle();
    expect(promoted).toEqual([true, false]);
    expect(events.filter(({ type }) => type === "job-start" || type === "job-end")).toHaveLength(2);
    expect(runtime.jobs.promote(callId)).toBe(false);
  });
});

describe("stateful jobs", () => {
  const inputSchema = { type: "object" } as const;

  test("F1.12 a job that is cancelled while it waits runs its finally, releases its locks and leaves no orphan", async () => {
    let closed = 0;
    const talk = tool("talk", () => never(), {
      mode: "stateful",
      effects: { reads: [], writes: ["table"] },
      inputSchema,
      execute: async function* () {
        try {
          yield "Hello?";
        } finally {
          await Promise.resolve();
          closed++;
        }
      },
    });
    const write = tool("write", () => "written", { effects: { reads: [], writes: ["table"] } });
    const { runtime, ports } = testRuntime({ tools: [talk, write] });
    const session = runtime.session("s");
    const { callId } = await session.execute({ name: "talk" });
    await settle();
    runtime.jobs.cancel(callId);
    await settle();
    expect(closed).toBe(1);
    expect((await session.execute({ name: "write" })).status).toBe("ok");
    expect(runtime.counters.orphans).toBe(0);
    expect(runtime.jobs.get(callId)).not.toHaveProperty("question");
    expect(ports.clock.pending).toBe(0);
  });

  test("F1.12 a listener can answer a question, or cancel its job, while it is notified of the question", async () => {
    const heard: unknown[] = [];
    const talk = tool("talk", () => never(), {
      mode: "stateful",
      effects: { reads: [], writes: ["table"] },
      inputSchema,
      execute: async function* () {
        heard.push(yield "first?");
        heard.push(yield "second?");
        heard.push(yield "third?");
      },
    });
    const world = testRuntime({ tools: [talk] });
    const { runtime } = world;
    const states: unknown[] = [];
    runtime.subscribe((event) => {
      if (event.type !== "job-output" || event.asks !== true) return;
      states.push([runtime.jobs.get(event.callId)?.state, runtime.jobs.get(event.callId)?.question]);
      if (event.text === "third?") runtime.jobs.cancel(event.callId);
      else runtime.jobs.send(event.callId, `to ${event.text}`);
    });
    const { callId } = await runtime.session("s").execute({ name: "talk" });
    await settle();
    expect(heard).toEqual(["to first?", "to second?"]);
    expect(states).toEqual(["first?", "second?", "third?"].map((question) => ["waiting", question]));
    expect(runtime.jobs.get(callId)).toMatchObject({ state: "cancelled" });
    await world.ports.clock.advance(1);
    expect([runtime.running, runtime.counters.orphans, world.ports.clock.pending]).toEqual([[], 0, 0]);
  });

  test("F1.12 an attempt that timed out asks no more questions: the answer goes to the next attempt", async () => {
    const heard: unknown[] = [];
    const talk = tool("talk", () => never(), {
      mode: "stateful",
      timeoutMs: 100,
      maxAttempts: 2,
      effects: { reads: [], writes: [] },
      execute: async function* (_input: unknown, { attempt }) {
        const said: unknown = yield `attempt ${attempt}?`;
        heard.push([attempt, said]);
        return "done";
      },
    });
    const { runtime, ports } = testRuntime({ tools: [talk], retry: { delayMs: 50, maxDelayMs: 50 } });
    const { callId } = await runtime.session("s").execute({ name: "talk" });
    await ports.clock.advance(101);
    expect(runtime.jobs.get(callId)?.state).toBe("running"); // between two attempts
    runtime.jobs.send(callId, "hi");
    await ports.clock.advance(60);
    expect(heard).toEqual([[2, "hi"]]);
    expect(runtime.jobs.get(callId)?.state).toBe("done");
  });

  test.each([
    ["a generator that is not async", tool("talk", () => [1][Symbol.iterator](), { mode: "stateful" })],
    ["a promise of an async generator", tool("talk", async () => (async function* () {})(), { mode: "stateful" })],
    ["an async generator of a direct tool", tool("talk", () => (async function* () {})(), { mode: "background" })],
  ])("F1.12 %s ends with an error whose hint says what would work", async (_, talk) => {
    const { runtime } = testRuntime({ tools: [talk] });
    const { callId } = await runtime.session("s").execute({ name: "talk" });
    const end = await runtime.jobs.wait(callId);
    expect(end).toMatchObject({ state: "error", error: { code: "not_json", operatorHint: expect.stringContaining("async *execute()") } });
  });

  test("F1.12 a job that yields a value that is not JSON ends with an error, and its finally runs", async () => {
    let closed = 0;
    const talk = tool("talk", () => never(), {
      mode: "stateful",
      execute: async function* () {
        try {
          yield 1n;
        } finally {
          closed++;
        }
      },
    });
    const { runtime } = testRuntime({ tools: [talk] });
    const { callId } = await runtime.session("s").execute({ name: "talk" });
    expect(await runtime.jobs.wait(callId)).toMatchObject({ state: "error", error: { code: "not_json" } });
    expect(closed).toBe(1);
  });
});

describe("approval", () => {
  const destructive = { reads: [], writes: ["disk"], destructive: true } as const;

  test("a background call is approved before it is a job", async () => {
    const allowed = gate<"allow-once">();
    const { runtime, events } = testRuntime({
      tools: [tool("wipe", () => "wiped", { mode: "background", effects: destructive })],
      approval: { approve: () => allowed.promise },
    });
    const answer = runtime.session("s").execute({ name: "wipe" });
    await settle();
    expect(runtime.jobs.list()).toEqual([]);
    expect(runtime.jobs.promote(runtime.running[0]?.callId ?? "")).toBe(false);
    allowed.open("allow-once");
    const { status, callId } = await answer;
    expect(status).toBe("pending");
    expect(await runtime.jobs.wait(callId)).toMatchObject({ state: "done" });
    expect(events.filter(({ type }) => type === "job-end")).toHaveLength(1);
  });

  test("a background call that is denied, or that has no approver, gets that error and becomes no job", async () => {
    const tools = [tool("wipe", () => "wiped", { mode: "background", effects: destructive })];
    const { runtime } = testRuntime({ tools, approval: { approve: () => "deny" } });
    expect(await runtime.session("s").execute({ name: "wipe" })).toMatchObject({ error: { code: "approval_denied" } });
    const other = testRuntime({ tools });
    expect((await other.runtime.session("s").execute({ name: "wipe" })).error?.code).toMatch(/^approval_/u);
    expect([runtime.jobs.list(), other.runtime.jobs.list()]).toEqual([[], []]);
  });
});

describe("batches and messages that fail or are voided", () => {
  test('a job in a batch with onError "throw" is cancelled and its state changes are rolled back before the batch throws', async () => {
    const note = tool("note", (_input, { state }) => (state.update("notes", () => "noted"), never()), { mode: "background" });
    const fail = tool("fail", async () => {
      await settle();
      throw new ToolError("execution_failed", "no", { outcome: "failed" });
    });
    const { runtime, events } = testRuntime({ tools: [note, fail] });
    const session = runtime.session("s");
    const thrown = (await session
      .execute([{ name: "note" }, { name: "fail" }], { onError: "throw" })
      .catch((error: unknown) => error)) as ToolExecutionError;
    expect(thrown.results.map(({ status }) => status)).toEqual(["cancelled", "error"]);
    expect(session.state("default", "notes")).toBeUndefined();
    expect(session.messages()).toEqual([]);
    expect(runtime.running).toEqual([]);
    const types = events.map(({ type }) => type);
    expect(types.indexOf("job-end")).toBeLessThan(types.indexOf("batch-rollback"));
  });

  test("a job of a voided message is cancelled, and its result is cancelled", async () => {
    const note = tool("look", never, { mode: "background" });
    const { runtime } = testRuntime({ tools: [note] });
    const session = runtime.session("s");
    let results: readonly ToolResult[] = [];
    await session.turn(async (turn) => {
      const round = turn.round();
      round.add({ kind: "call", name: "look", input: {} } as never);
      await settle();
      results = await round.void("the model changed its mind");
    });
    expect(results.map(({ status }) => status)).toEqual(["cancelled"]);
    expect(session.messages()).toEqual([]);
    expect(runtime.running).toEqual([]);
    const [callId = ""] = session.log.flatMap((event) => (event.type === "call-start" ? [event.callId] : []));
    expect(typesOf(session.log, callId)).toEqual(["call-start", "job-start", "call-end", "job-end"]);
  });

  test("an idempotency key returns the placeholder while its job runs, and the result once it has ended", async () => {
    let runs = 0;
    const done = gate<string>();
    const { runtime } = testRuntime({ tools: [tool("slow", () => (runs++, done.promise))] });
    const session = runtime.session("s");
    const send = (): Promise<ToolResult> => session.execute({ name: "slow", id: "c1" }, { idempotencyKey: "k", background: true });
    const [first, ...more] = await Promise.all(Array.from({ length: 100 }, send));
    expect(first?.status).toBe("pending");
    expect(more.every((other) => other === first)).toBe(true);
    expect(await send()).toEqual(first);
    done.open("x");
    await runtime.jobs.wait(first?.callId ?? "");
    expect(await send()).toMatchObject({ status: "ok", output: "x", id: "c1" });
    expect(runs).toBe(1);
  });
});

describe("the end of a job", () => {
  test("F1.27 a listener that makes calls while a job ends loses none of their ends", async () => {
    const { runtime } = testRuntime({ tools: [tool("fast", () => "x")] });
    const session = runtime.session("s");
    let left = 3;
    runtime.subscribe((event) => {
      if (event.type === "call-end" && left-- > 0) void session.execute({ name: "fast" }, { background: true });
    });
    await session.submit({ name: "fast" });
    await settle();
    const { log } = session;
    const ended = log.flatMap((event, at) => (event.type === "call-end" ? [[event.callId, log[at + 1]?.type]] : []));
    expect(ended).toHaveLength(4);
    expect(new Set(ended.map(([, next]) => next))).toEqual(new Set(["job-end"]));
    expect(session.messages().filter(({ role }) => role === "job")).toHaveLength(4);
    expect(runtime.running).toEqual([]);
  });

  test("a session can be closed while one of its turns waits for its job", async () => {
    const { runtime } = testRuntime({ tools: [tool("slow", never)] });
    const session = runtime.session("s");
    const { id } = await session.submit({ name: "slow" });
    const waiting = session.turn(async () => runtime.jobs.wait(id));
    await settle();
    await session.close();
    expect(await waiting).toMatchObject({ state: "cancelled" });
  });

  test.each(["session", "runtime"] as const)("a job whose handler awaits the close of its %s ends cancelled", async (which) => {
    const closed = gate();
    const bench: { session?: RuntimeSession } = {};
    const close = tool("close", async () => {
      await Promise.resolve();
      await (which === "session" ? bench.session : runtime)?.close();
      closed.open();
    });
    const { runtime } = testRuntime({ tools: [close] });
    const session = (bench.session = runtime.session("s"));
    const { id } = await session.submit({ name: "close" });
    expect(await runtime.jobs.wait(id)).toMatchObject({ state: "cancelled" });
    await closed.promise;
    await session.close();
    await runtime.close();
  });

  test("a job that waits for itself, or for its own parent job, gets an error that says so", async () => {
    const outer = tool("outer", async () => {
      await settle();
      return (await session.execute({ name: "inner" })).error?.message ?? "none";
    });
    const inner = tool("inner", async () => runtime.jobs.wait(runtime.jobs.list()[0]?.id ?? ""));
    const { runtime } = testRuntime({ tools: [outer, inner] });
    const session = runtime.session("s");
    const { id } = await session.submit({ name: "outer" });
    const end = (await runtime.jobs.wait(id)) as EndedJob;
    expect(end.result?.output).toContain("so it could never end");
  });

  test("submit returns the ended job even if keepEnded is 0", async () => {
    const { runtime } = testRuntime({ tools: [tool("fast", () => "x")], jobs: { keepEnded: 0 } });
    expect(await runtime.session("s").submit({ name: "fast" })).toMatchObject({ state: "done" });
  });

  test("2,000 calls made by one job leave nothing in memory", async () => {
    const held = new Set<WeakRef<object>>();
    const leaf = tool("leaf", (_input, context) => (held.add(new WeakRef(context)), "x"));
    const busy = tool("busy", async () => {
      for (let at = 0; at < 2_000; at++) {
        if (at % 2 === 0) await session.execute({ name: "leaf" }, { recordHistory: false });
        else await session.execute([{ name: "leaf" }], { recordHistory: false });
      }
      await settle();
      heapBytes(); // collects garbage
      return [...held].filter((one) => one.deref() !== undefined).length;
    });
    const { runtime } = testRuntime({ tools: [leaf, busy] });
    const session = runtime.session("s");
    const { id } = await session.submit({ name: "busy" });
    const end = (await runtime.jobs.wait(id)) as EndedJob;
    expect(end.state).toBe("done");
    expect(end.result?.output).toBeLessThan(100);
  });
});

describe("after a crash", () => {
  async function crashed(): Promise<{ readonly store: FailingStore; readonly id: string }> {
    const store = new FailingStore();
    const { runtime } = testRuntime({ store, tools: [tool("look", never, { effects: { reads: ["x"] } })] });
    const session = runtime.session("s");
    await session.addMessage({ role: "user", content: "go" });
    const { id } = await session.submit({ name: "look" });
    return { store: store.crash(), id };
  }

  test.each([
    ["whose calls are only settled", [tool("look", never, { effects: { reads: ["x"] } })], { interrupted: "settle" }],
    ["whose tool has gone", [], {}],
  ] as const)("I09 a job of a session %s ends once, with a job-end", async (_case, tools, options) => {
    const { store, id } = await crashed();
    const { runtime } = testRuntime({ store, tools });
    const session = await runtime.resume("s", options);
    await settle();
    expect(typesOf(session.log, id).slice(-2)).toEqual(["call-end", "job-end"]);
    expect(session.messages().map(({ role }) => role)).toEqual(["user", "call", "result", "job"]);
    expect((await runtime.jobs.wait(id)).state).not.toBe("running");
  });

  test("I09 all interrupted jobs are resumed, even if they exceed maxRunning and maxQueued", async () => {
    const store = new FailingStore();
    const tools = (answer: () => unknown) => [tool("look", answer, { effects: { reads: ["x"] } })];
    const before = testRuntime({ store, tools: tools(never) }).runtime.session("s");
    for (let at = 0; at < 5; at++) await before.submit({ name: "look" });
    const { runtime } = testRuntime({ store: store.crash(), tools: tools(() => "read"), jobs: { maxRunning: 1, maxQueued: 0 } });
    await runtime.resume("s");
    await settle();
    expect(runtime.jobs.list().map(({ state }) => state)).toEqual(["done", "done", "done", "done", "done"]);
  });

  test("an idempotency key finds its job again after a crash", async () => {
    const store = new FailingStore();
    const done = gate<string>();
    const tools = (answer: () => unknown) => [tool("look", answer, { effects: { reads: ["x"] } })];
    const call = { name: "look", id: "c1" };
    const options = { idempotencyKey: "k", background: true } as const;
    const first = await testRuntime({ store, tools: tools(never) })
      .runtime.session("s")
      .execute(call, options);
    const { runtime } = testRuntime({ store: store.crash(), tools: tools(() => done.promise) });
    const session = await runtime.resume("s");
    expect(await session.execute(call, options)).toEqual(first);
    done.open("read");
    await runtime.jobs.wait(first.callId);
    expect(await session.execute(call, options)).toMatchObject({ callId: first.callId, status: "ok", output: "read" });
  });

  test("a branch runs neither the jobs of its session nor the calls those jobs were making", async () => {
    const store = new FailingStore();
    let runs = 0;
    const effects = { reads: ["x"] };
    const tools = (isNew: boolean) => [
      tool("leaf", () => (runs++, isNew ? "leaf" : never()), { effects }),
      tool("parent", async () => (await sessions[0]?.execute({ name: "leaf" }))?.output, { effects: { reads: ["y"] } }),
    ];
    const sessions: RuntimeSession[] = [];
    const session = testRuntime({ store, tools: tools(false) }).runtime.session("s");
    sessions.push(session);
    await session.submit({ name: "parent" });
    await settle();
    const branch = session.fork({ id: "branch" });
    await branch.addMessage({ role: "user", content: "meanwhile" });
    const { runtime } = testRuntime({ store: store.crash(), tools: tools(true) });
    await runtime.resume("branch");
    await settle();
    expect([runs, runtime.jobs.list(), runtime.running]).toEqual([1, [], []]);
  });

  test("jobs of a session that another process has taken over end here, and write nothing more", async () => {
    const store = new FailingStore();
    const tools = [tool("look", never, { effects: { reads: ["x"] } })];
    const { runtime } = testRuntime({ store, tools });
    const session = runtime.session("s");
    const { id } = await session.submit({ name: "look" });
    store.appendError = new ToolError("conflict", "taken over");
    runtime.jobs.cancel(id);
    await expect(runtime.jobs.wait(id)).rejects.toMatchObject({ code: "conflict" });
    expect(runtime.jobs.get(id)?.state).toBe("cancelled");
    await runtime.close();
    expect(runtime.running).toEqual([]);
  });
});

test("hooks receive the result of a job once, and never its placeholder", async () => {
  const seen: string[] = [];
  const done = gate<string>();
  const { runtime } = testRuntime({
    tools: [tool("slow", () => done.promise)],
    hooks: [{ name: "see", afterCall: (result) => void seen.push(result.status) }],
  });
  const session = runtime.session("s");
  const { id } = await session.submit({ name: "slow" });
  expect(seen).toEqual([]);
  done.open("x");
  await runtime.jobs.wait(id);
  expect(seen).toEqual(["ok"]);
});

test("a background call in a round does not hold up its turn, and the next message has its placeholder", async () => {
  const { runtime } = testRuntime({ tools: [tool("slow", never, { mode: "background" })] });
  const session = runtime.session("s");
  const results = await session.turn(async (turn) => {
    const round = turn.round();
    round.add({ kind: "call", name: "slow", input: {} } as never);
    return round.end(FINISHED);
  });
  expect(results.map(({ status }) => status)).toEqual(["pending"]);
  await runtime.close();
});

describe("the body of a stateful tool is part of its call", () => {
  test("its calls have the rules and the principal of the stateful call, before and after it is answered", async () => {
    const said: string[] = [];
    const secret = tool("secret", () => "told");
    const talk = tool(
      "talk",
      async function* (_input: unknown, context: ToolContext) {
        const ask = async (): Promise<void> => {
          for (const result of [await session.execute({ name: "secret" }), await context.execute({ name: "secret", input: {} })])
            said.push(result.error?.code ?? result.status);
          await session.execute({ name: "open" });
        };
        await ask();
        yield "Go on?";
        await ask();
      },
      { mode: "stateful" },
    );
    const { runtime } = testRuntime({ tools: [secret, tool("open", () => 1), talk] });
    const session: RuntimeSession = runtime.session("s");
    const { id } = await session.submit({ name: "talk" }, { allow: { deny: ["default::secret"] }, principal: "ada" });
    await runtime.jobs.wait(id, { untilAsked: true });
    runtime.jobs.send(id, "yes");
    await runtime.jobs.wait(id);
    expect(said).toEqual(Array.from({ length: 4 }, () => "permission_denied"));
    const starts = session.log.flatMap((event) =>
      event.type === "call-start" ? [[event.call.name, event.principal, event.parentCallId]] : [],
    );
    expect(starts.filter(([name]) => name === "open")).toEqual(Array.from({ length: 2 }, () => ["open", "ada", id]));
  });

  test("an injected latency delays its end, and changes nothing else", async () => {
    const talk = tool(
      "talk",
      async function* () {
        const heard: unknown = yield "Who?";
        return { heard: String(heard) };
      },
      { mode: "stateful" },
    );
    await using runtime = createRuntime({
      tools: [talk],
      faults: { seed: 1, rules: [{ type: "latency", probability: 1, delayMs: 1 }] },
    });
    const { id } = await runtime.session("s").submit({ name: "talk" });
    await runtime.jobs.wait(id, { untilAsked: true });
    runtime.jobs.send(id, "Ada");
    expect((await runtime.jobs.wait(id)) as EndedJob).toMatchObject({
      state: "done",
      result: { status: "ok", output: { heard: "Ada" }, fault: "latency" },
    });
  });
});
