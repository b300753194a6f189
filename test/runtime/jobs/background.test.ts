import { afterEach, describe, expect, test } from "vitest";
import { createRuntime, pure } from "../../../src/index.ts";
import type { RuntimeEvent } from "../../../src/core/event.ts";
import type { ToolCall } from "../../../src/core/call.ts";
import type { EndedJob } from "../../../src/core/jobs/job-status.ts";
import { resultText } from "../../../src/core/result.ts";
import type { ToolContext } from "../../../src/core/context.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { FakeClock } from "../../../src/testing/fake-ports.ts";

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

function gate<T = void>(): PromiseWithResolvers<T> {
  return Promise.withResolvers<T>();
}

function runtimeOf(tools: NonNullable<Parameters<typeof createRuntime>[0]>["tools"], more: object = {}) {
  const events: RuntimeEvent[] = [];
  const runtime = createRuntime({ tools: tools ?? [], onEvent: (event) => events.push(event), ...more });
  open.push(runtime);
  return { runtime, events };
}

describe("background jobs", () => {
  test("F1.11 the turn ends before the job, the history stays valid, and the job ends once, later", async () => {
    const built = gate<string>();
    const { runtime, events } = runtimeOf([{ ...named("build"), execute: () => built.promise, mode: "background" }]);
    const session = runtime.session("s1");
    const pending = await session.execute({ name: "build", input: {} });
    expect(pending.status).toBe("pending");
    expect(session.messages().map(({ role }) => role)).toEqual(["call", "result"]);
    built.resolve("done in 3 s");
    const end = (await runtime.jobs.wait(pending.callId)) as EndedJob;
    expect(end.result).toMatchObject({ status: "ok", output: "done in 3 s", callId: pending.callId });
    const messages = session.messages();
    expect(messages.map(({ role }) => role)).toEqual(["call", "result", "job"]);
    expect(messages[1]).toMatchObject({ result: { status: "pending" } });
    expect(messages[2]).toMatchObject({ content: expect.stringContaining("done in 3 s") });
    expect(events.filter(({ type }) => type === "job-end")).toHaveLength(1);
    expect(events.filter(({ type }) => type === "call-end")).toHaveLength(1);
  });

  test("F1.20 submit rejects an unknown tool, and returns a running job for a known one", async () => {
    const { runtime } = runtimeOf([{ ...named("slow"), execute: () => new Promise(() => {}) }]);
    const session = runtime.session();
    await expect(session.submit({ name: "nothing" })).rejects.toMatchObject({ code: "not_found" });
    const job = await session.submit({ name: "slow", input: {} });
    expect(job).toMatchObject({ state: "running", toolName: "default::slow", mode: "background" });
    expect(runtime.jobs.get(job.id)?.state).toBe("running");
  });

  test.each<[string, unknown, object, string]>([
    ["several calls", [{ name: "slow" }], {}, "submit(call, options) takes one call, not an array."],
    ["an idempotency key", { name: "slow" }, { idempotencyKey: "k" }, 'submit() has no option "idempotencyKey".'],
    ["background: false", { name: "slow" }, { background: false }, 'submit() has no option "background".'],
  ])("F1.20 submit refuses %s before anything runs", async (_what, call, options, message) => {
    let runs = 0;
    const { runtime } = runtimeOf([
      { name: "slow", description: "", inputSchema: {}, effects: pure, mode: "background", execute: () => void runs++ },
    ]);
    const session = runtime.session();
    await expect(session.submit(call as ToolCall, options)).rejects.toMatchObject({ code: "invalid_argument", message }); // plain JavaScript
    expect([runs, runtime.jobs.list()]).toEqual([0, []]);
  });

  test("F1.22 a wait that times out leaves the job running; cancel returns whether it ended the job", async () => {
    const done = gate<string>();
    const { runtime } = runtimeOf([{ ...named("slow"), execute: () => done.promise }]);
    const session = runtime.session();
    const { id } = await session.submit({ name: "slow", input: {} });
    expect(await runtime.jobs.wait(id, { timeoutMs: 5 })).toMatchObject({ state: "running" });
    done.resolve("x");
    expect(await runtime.jobs.wait(id)).toMatchObject({ state: "done" });
    expect(runtime.jobs.cancel(id)).toBe(false);
    const second = await session.submit({ name: "slow", input: {} });
    await runtime.jobs.wait(second.id);
    await expect(runtime.jobs.wait("nope")).rejects.toMatchObject({ code: "not_found" });
  });

  test("F1.26 a cancelled job ends cancelled, and its handler's signal aborts", async () => {
    const stopped = gate();
    const { runtime } = runtimeOf([
      {
        ...named("slow"),
        execute: (_input: unknown, context: { readonly signal: AbortSignal }) =>
          new Promise((_resolve, reject) =>
            context.signal.addEventListener("abort", () => {
              stopped.resolve();
              reject(new Error("stopped"));
            }),
          ),
      },
    ]);
    const session = runtime.session();
    const { id } = await session.submit({ name: "slow", input: {} });
    expect(runtime.jobs.cancel(id, "the user pressed stop")).toBe(true);
    await stopped.promise;
    const end = (await runtime.jobs.wait(id)) as EndedJob;
    expect(end).toMatchObject({
      state: "cancelled",
      error: { code: "cancelled", message: expect.stringContaining("the user pressed stop") },
    });
  });

  test("F1.14 promote answers a running call with a placeholder; a call that has ended is not promoted", async () => {
    const done = gate<string>();
    const { runtime, events } = runtimeOf([{ ...named("slow"), execute: () => done.promise }]);
    const session = runtime.session();
    const answer = session.execute({ name: "slow", input: {} });
    const { callId } = runtime.running[0] ?? { callId: "" };
    expect(runtime.jobs.promote(callId)).toBe(true);
    expect(runtime.jobs.promote(callId)).toBe(false);
    expect((await answer).status).toBe("pending");
    expect((await session.execute([{ name: "none" }])).length).toBe(1); // its turn is over
    done.resolve("late");
    expect(await runtime.jobs.wait(callId)).toMatchObject({ state: "done", result: { output: "late" } });
    expect(runtime.jobs.promote(callId)).toBe(false);
    expect(events.filter(({ type }) => type === "job-end")).toHaveLength(1);
  });

  test("F1.14 promoteAfterMs promotes a slow call automatically, and not a fast one", async () => {
    const done = gate<string>();
    const { runtime, events } = runtimeOf([
      { ...named("slow"), effects: { reads: [], writes: [] }, execute: () => done.promise, promoteAfterMs: 5 },
      { ...named("fast"), effects: { reads: [], writes: [] }, execute: async () => "at once", promoteAfterMs: 5_000 },
    ]);
    const session = runtime.session();
    const [slow, fast] = await session.execute([
      { name: "slow", input: {} },
      { name: "fast", input: {} },
    ]);
    expect(slow?.status).toBe("pending");
    expect(fast).toMatchObject({ status: "ok", output: "at once" });
    done.resolve("x");
    await runtime.jobs.wait(slow?.callId ?? "");
    expect(events.filter(({ type }) => type === "job-start")).toHaveLength(1);
  });

  test("F1.12 a stateful tool asks three questions, receives three answers, and runs its finally when it is cancelled", async () => {
    const heard: unknown[] = [];
    let closed = 0;
    const { runtime } = runtimeOf([
      {
        ...named("interview"),
        mode: "stateful",
        execute: async function* () {
          try {
            heard.push(yield "Your name?");
            heard.push(yield { question: "Your age?" });
            heard.push(yield "Anything else?");
            return { heard: heard.length };
          } finally {
            closed++;
          }
        },
      },
    ]);
    const session = runtime.session();
    const { callId } = await session.execute({ name: "interview", input: {} });
    for (const answer of ["Ada", 36, null]) {
      await until(() => runtime.jobs.get(callId)?.state === "waiting");
      runtime.jobs.send(callId, answer);
    }
    expect(await runtime.jobs.wait(callId)).toMatchObject({ state: "done", result: { output: { heard: 3 } } });
    expect(heard).toEqual(["Ada", 36, null]);
    expect(session.messages().filter(({ role }) => role === "job")).toHaveLength(4);
    const second = await session.execute({ name: "interview", input: {} });
    await until(() => runtime.jobs.get(second.callId)?.state === "waiting");
    runtime.jobs.cancel(second.callId);
    await runtime.jobs.wait(second.callId);
    await until(() => closed === 2);
    expect(() => runtime.jobs.send(second.callId, "late")).toThrow(/has ended/u);
  });

  test("F1.21 a background call in a message is submitted once, when it is sealed", async () => {
    let runs = 0;
    const { runtime, events } = runtimeOf([
      { ...named("look"), effects: { reads: ["x"], writes: [] }, mode: "background", execute: () => ++runs },
    ]);
    await runtime.session().turn(async (turn) => {
      const round = turn.round();
      round.add({ id: "c1", name: "look", input: {} });
      await until(() => runs === 1); // the message goes on
      const results = await round.end({ content: "", finish: "calls", usage: { inputTokens: 0, outputTokens: 0 } });
      expect(results.map(({ status }) => status)).toEqual(["pending"]);
    });
    expect([runs, events.filter(({ type }) => type === "job-start").length]).toEqual([1, 1]);
  });

  test("list rejects unknown states with the list of known ones", () => {
    const { runtime } = runtimeOf([]);
    for (const states of [["runing"], "running", [{}]])
      expect(() => runtime.jobs.list({ states: states as never })).toThrow(/an array of queued, running, waiting/u);
  });

  test("F1.23 output is stored by position, read by range and tail, and counted in the status", async () => {
    const done = gate();
    const { runtime } = runtimeOf([
      {
        ...named("log"),
        execute: async (_input: unknown, context: { readonly output: (text: string | Uint8Array) => void }) => {
          context.output("one\ntwo\n");
          context.output(new TextEncoder().encode("thr€"));
          await done.promise;
          return "x";
        },
      },
    ]);
    const session = runtime.session();
    const { id } = await session.submit({ name: "log", input: {} });
    expect(runtime.jobs.get(id)?.output).toEqual({ chars: 12, lines: 3 });
    expect(runtime.jobs.read(id, { from: 4, maxChars: 4 })).toEqual({ text: "two\n", from: 4, next: 8, total: 12 });
    expect(runtime.jobs.read(id, { tail: 4 }).text).toBe("thr€");
    expect(runtime.jobs.get(id)?.preview).toBe("one\ntwo\nthr€");
    done.resolve();
    await runtime.jobs.wait(id);
    expect(runtime.jobs.read(id).text).toBe("one\ntwo\nthr€");
  });

  test("F1.24 the newest ended jobs are retained, and the oldest are dropped first", async () => {
    const { runtime } = runtimeOf([{ ...named("fast"), execute: () => "x" }], { jobs: { keepEnded: 100 } });
    const session = runtime.session();
    const ids: string[] = [];
    for (let at = 0; at < 101; at++) ids.push((await session.submit({ name: "fast", input: {} })).id);
    expect(runtime.jobs.get(ids[0] ?? "")).toBeUndefined();
    expect(runtime.jobs.get(ids[1] ?? "")?.state).toBe("done");
    expect(runtime.jobs.list()).toHaveLength(100);
  });

  test("F1.24 jobs that ended longer ago than keepEndedMs are dropped, even if the wall clock is changed", async () => {
    class SetClock extends FakeClock {
      aheadMs = 0;

      override wallTime(): number {
        return super.wallTime() + this.aheadMs;
      }
    }
    const clock = new SetClock();
    const { runtime } = runtimeOf([{ ...named("fast"), execute: () => "x" }], { jobs: { keepEndedMs: 1_000 }, ports: { clock } });
    const session = runtime.session();
    for (const aheadMs of [0, 86_400_000, -86_400_000]) {
      const { id } = await session.submit({ name: "fast", input: {} });
      clock.aheadMs = aheadMs;
      await clock.advance(1_000);
      expect(runtime.jobs.get(id)?.state).toBe("done");
      await clock.advance(1);
      expect(runtime.jobs.get(id)).toBeUndefined();
    }
  });

  test.each([
    ["done", async () => "x", {}],
    ["error", async () => Promise.reject(new Error("no")), { error: { code: "execution_failed" } }],
    ["cancelled", () => new Promise(() => {}), { error: { code: "cancelled" } }],
  ])("F1.23 the status of a job in the state %s has its times, its output and its error", async (state, execute, more) => {
    const clock = new FakeClock({ wallTime: 1_000 });
    const { runtime } = runtimeOf(
      [{ ...named("log"), maxAttempts: 1, execute: (_input: unknown, context: ToolContext) => (context.output("one\ntwo"), execute()) }],
      { ports: { clock } },
    );
    const { id } = await runtime.session("s").submit({ name: "log", input: {} });
    await clock.advance(500);
    if (state === "cancelled") runtime.jobs.cancel(id);
    await runtime.jobs.wait(id);
    const at = state === "cancelled" ? 1_500 : 1_000;
    const basics = { id, sessionId: "s", toolName: "default::log", mode: "background", notify: true, startedAt: 1_000 };
    expect(runtime.jobs.get(id)).toMatchObject({
      ...basics,
      state,
      endedAt: at,
      output: { chars: 7, lines: 2 },
      preview: "one\ntwo",
      ...more,
    });
    expect("error" in (runtime.jobs.get(id) ?? {})).toBe("error" in more);
  });

  test.each([undefined, null, 5, {}])("the id %j is rejected, and promotes nothing", (id) => {
    const { runtime } = runtimeOf([]);
    for (const use of [
      (one: never) => runtime.jobs.get(one),
      (one: never) => runtime.jobs.promote(one),
      (one: never) => runtime.jobs.cancel(one),
      (one: never) => runtime.jobs.read(one),
      (one: never) => runtime.jobs.send(one, 1),
    ])
      expect(() => use(id as never)).toThrow(expect.objectContaining({ code: "invalid_argument" }));
  });

  test("jobs over maxRunning wait, and jobs over maxQueued are rejected", async () => {
    const gates = [gate<string>(), gate<string>()];
    let begun = 0;
    const { runtime } = runtimeOf([{ ...named("slow"), effects: { reads: [], writes: [] }, execute: () => gates[begun++]?.promise }], {
      jobs: { maxRunning: 1, maxQueued: 1 },
    });
    const session = runtime.session();
    const first = await session.submit({ name: "slow", input: {} });
    const second = await session.submit({ name: "slow", input: {} });
    expect(runtime.jobs.get(second.id)?.state).toBe("queued");
    await expect(session.submit({ name: "slow", input: {} })).rejects.toMatchObject({ code: "resource_busy" });
    gates[0]?.resolve("a");
    await runtime.jobs.wait(first.id);
    await until(() => runtime.jobs.get(second.id)?.state === "running");
    gates[1]?.resolve("b");
    expect(await runtime.jobs.wait(second.id)).toMatchObject({ state: "done" });
  });

  test("a job's handler makes calls of its session without waiting for a running turn", async () => {
    const turn = gate();
    const { runtime } = runtimeOf([
      { ...named("leaf"), effects: { reads: [], writes: [] }, execute: () => "leaf" },
      {
        ...named("parent"),
        effects: { reads: [], writes: [] },
        mode: "background",
        execute: async () => {
          await Promise.resolve();
          return (await session.execute({ name: "leaf", input: {} })).output;
        },
      },
    ]);
    const session = runtime.session();
    const { callId } = await session.execute({ name: "parent", input: {} });
    const held = session.turn(async () => turn.promise);
    expect(await runtime.jobs.wait(callId)).toMatchObject({ state: "done", result: { output: "leaf" } });
    turn.resolve();
    await held;
  });

  test("closing a session cancels its jobs, and closing the runtime cancels the rest", async () => {
    const { runtime, events } = runtimeOf([{ ...named("slow"), execute: () => new Promise(() => {}) }]);
    const one = runtime.session("one");
    const other = runtime.session("other");
    await one.submit({ name: "slow", input: {} });
    await other.submit({ name: "slow", input: {} });
    await one.close();
    expect(runtime.jobs.list({ states: ["running", "queued"] })).toMatchObject([{ sessionId: "other" }]);
    await runtime.close();
    expect(events.filter(({ type }) => type === "job-end")).toHaveLength(2);
  });

  test("a branch with a running job cannot be committed", async () => {
    const done = gate<string>();
    const { runtime } = runtimeOf([{ ...named("slow"), execute: () => done.promise }]);
    const session = runtime.session();
    const branch = session.fork();
    const { id } = await branch.submit({ name: "slow", input: {} });
    await expect(branch.commit()).rejects.toMatchObject({ code: "resource_busy" });
    done.resolve("x");
    await runtime.jobs.wait(id);
    await branch.commit();
    expect(session.messages().at(-1)).toMatchObject({ role: "job" });
  });

  test("I10 a branch whose job starts while its commit waits cannot be committed: the job runs on, and its end is recorded", async () => {
    const done = gate<string>();
    const { runtime } = runtimeOf([{ ...named("slow"), execute: () => done.promise, mode: "background" }]);
    const branch = runtime.session().fork();
    const turn = gate();
    const held = branch.turn(async () => turn.promise);
    const pending = branch.execute({ name: "slow", input: {} });
    const committed = branch.commit();
    turn.resolve();
    await held;
    await expect(committed).rejects.toMatchObject({ code: "resource_busy" });
    done.resolve("x");
    const { callId } = await pending;
    expect(await runtime.jobs.wait(callId)).toMatchObject({ state: "done", result: { output: "x" } });
    expect(branch.history.at(-1)?.result).toMatchObject({ callId, output: "x" });
  });

  test("a placeholder has the id under which the answer can be found", async () => {
    const { runtime } = runtimeOf([{ ...named("slow"), execute: () => new Promise(() => {}), mode: "background" }]);
    const result = await runtime.session().execute({ name: "slow", input: {} });
    expect(resultText(result)).toContain(result.callId);
  });

  test("a background tool is awaited without a session, and in a simulation", async () => {
    const { runtime } = runtimeOf([{ ...named("slow"), effects: { reads: [], writes: [] }, execute: async () => "x", mode: "background" }]);
    expect(await runtime.execute({ name: "slow", input: {} })).toMatchObject({ status: "ok", output: "x" });
    const { results } = await runtime.session().simulate({ name: "slow", input: {} });
    expect(results).toMatchObject([{ status: "ok" }]);
    await expect(runtime.execute({ name: "slow", input: {} }, { background: true })).rejects.toMatchObject({ code: "invalid_argument" });
  });
});

async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; !holds(); turn++) {
    if (turn > 1_000) throw new Error("It never came to that.");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function named(name: string): Pick<Tool, "name" | "description" | "inputSchema"> {
  return { name, description: `Does ${name}.`, inputSchema: { type: "object" } };
}
