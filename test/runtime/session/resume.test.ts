/** After a crash: what was acknowledged is there once, and what was under way ends with what is known of it. */
import { describe, expect, test } from "vitest";
import type { ToolContext } from "../../../src/core/context.ts";
import type { Effects, ReconcileContext, Reconciled } from "../../../src/core/resources/effects.ts";
import type { Engine } from "../../../src/core/engine.ts";
import { ToolError } from "../../../src/core/error.ts";
import type { Locks } from "../../../src/core/resources/locks.ts";
import type { Outcome } from "../../../src/core/error-codes.ts";
import type { Tool } from "../../../src/core/tool.ts";
import type { RuntimeOptions } from "../../../src/runtime/runtime.ts";
import type { ResumeOptions } from "../../../src/runtime/resume/resume-session.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { settle, type FakePorts } from "../../../src/testing/fake-ports.ts";
import { testRuntime, tool } from "../bench-runtime.ts";
import { FailingStore } from "./failing-store.ts";

const never = (): Promise<never> => new Promise(() => {});
const money = { writes: ["money"] } satisfies Effects;
const repeatable = { writes: ["a"], idempotent: true } satisfies Effects;

interface Crashed {
  readonly before: RuntimeSession;
  readonly store: FailingStore;
}

/** Runs calls until none goes on by itself, then ends the process. */
async function crash(
  tools: readonly Tool[],
  run: (session: RuntimeSession) => Promise<unknown>,
  options: RuntimeOptions = {},
): Promise<Crashed> {
  const store = new FailingStore();
  const before = testRuntime({ ...options, store, tools }).runtime.session("s");
  await before.addMessage({ role: "user", content: "go" });
  void run(before).catch(() => {});
  await settle();
  await store.logs.get("s")?.whenDurable();
  return { before, store: store.crash() };
}

async function resume(
  { store }: Crashed,
  tools: readonly Tool[],
  options: ResumeOptions & { readonly runtime?: RuntimeOptions; readonly whileWaiting?: (ports: FakePorts) => Promise<void> } = {},
) {
  const { runtime: more, whileWaiting, ...rest } = options;
  const bench = testRuntime({ ...more, store, tools });
  const resuming = bench.runtime.resume("s", rest);
  await whileWaiting?.(bench.ports);
  const session = await resuming;
  return { ...bench, session, store };
}

const outcomes = (session: RuntimeSession): readonly unknown[] =>
  session.history.map(({ call, result }) => [call.name, result?.status, result?.output ?? result?.error?.code]);

test("I03 after a crash, acknowledged calls exist once with state and ids, and nothing runs", async () => {
  let ran = 0;
  const tools = [tool("pay", (_, { state }) => (state.update("paid", () => ++ran), ran), { effects: money })];
  const crashed = await crash(tools, (session) =>
    session.execute([
      { id: "p1", name: "pay" },
      { id: "p2", name: "pay" },
    ]),
  );
  const { session, events, store } = await resume(crashed, tools);
  expect([session.history, session.log, session.state("default", "paid")]).toEqual([crashed.before.history, crashed.before.log, 2]);
  expect([ran, events]).toEqual([2, []]);
  expect((await session.execute({ name: "pay" })).output).toBe(3);
  expect(store.disk.events("s")).toEqual(session.log);
});

test("I03 interrupted reads and idempotent writes run again with their ids, keys and turn, and the state of their first start", async () => {
  const seen: unknown[] = [];
  let isBack = false;
  const body = (_: unknown, { state, idempotencyKey, callId, turnId }: ToolContext): unknown => {
    seen.push([state.get("n") ?? null, idempotencyKey, callId, turnId]);
    state.update("n", (n) => Number(n ?? 0) + 1);
    return isBack ? "back" : never();
  };
  const tools = [tool("read", body, { effects: { reads: ["x"] } }), tool("put", body, { effects: { writes: ["y"], idempotent: true } })];
  const crashed = await crash(tools, async (session) => session.execute([{ id: "p1", name: "read" }, { name: "put" }]));
  isBack = true;
  const { session } = await resume(crashed, tools);
  expect(outcomes(session)).toEqual([
    ["read", "ok", "back"],
    ["put", "ok", "back"],
  ]);
  expect(seen.slice(2)).toEqual(seen.slice(0, 2));
  expect([session.state("default", "n"), session.history[0]?.result?.id]).toEqual([2, "p1"]);
});

test("I03 a write without an intent runs, as it never started; a write with one does not run, and its outcome is unknown", async () => {
  let ran = 0;
  const tools = [tool("pay", () => (++ran, never()), { effects: money })];
  const started = await crash(tools, (session) => session.execute([{ name: "pay" }]));
  const { session, store } = await resume(started, tools);
  expect([outcomes(session), ran]).toEqual([[["pay", "error", "outcome_unknown"]], 1]);
  expect(session.history[0]?.result?.error).toMatchObject({
    message: "The process ended while default::pay ran; it is not known whether it took effect.",
    outcome: "unknown",
    retryable: false,
    hint: "Check before calling it again.",
  });
  const again = await resume({ ...started, store: store.crash() }, tools);
  expect([again.session.history, ran]).toEqual([session.history, 1]);
  const waiting = await crash(
    [tool("pay", () => ++ran, { effects: money }), tool("block", never, { effects: money })],
    async (session) => {
      const [block, pay] = [session.execute([{ name: "block" }, { name: "pay" }]), settle()];
      await pay;
      return block;
    },
    { approval: { always: ["*::pay"], approve: never } },
  );
  expect(waiting.store.disk.types("s").filter((type) => type === "call-intent").length).toBe(1);
  const later = await resume(waiting, [tool("pay", () => "paid", { effects: money }), tool("block", never, { effects: money })]);
  expect(outcomes(later.session)).toEqual([
    ["block", "error", "outcome_unknown"],
    ["pay", "ok", "paid"],
  ]);
});

const heldLocks: Locks = { request: () => ({ granted: false, whenGranted: never, waitingFor: () => [], release: () => {} }) };
const away = (outcome: Outcome) => (): Promise<never> =>
  Promise.reject(new ToolError("unavailable", "no answer", { outcome, hint: "Wait." }));

test.each<readonly [string, Effects<unknown>, Outcome, Outcome]>([
  ["a write that does not begin again", { writes: ["a"], idempotent: true }, "not_started", "unknown"],
  ["a write that fails again", { writes: ["a"], idempotent: true }, "failed", "unknown"],
  ["a read, which has no effect", { reads: ["a"] }, "not_started", "not_started"],
])("the outcome of a call that runs again includes its attempt before the crash: %s", async (_, effects, outcome, expected) => {
  const crashed = await crash([tool("put", never, { effects })], (session) => session.execute([{ name: "put" }]));
  const { session } = await resume(crashed, [tool("put", away(outcome), { effects })]);
  expect(session.history[0]?.result).toMatchObject({ attempts: 1, error: { code: "unavailable", outcome: expected, hint: "Wait." } });
});

test("an idempotent write denied at resume is not_started if it had not begun before the crash, else its outcome is unknown", async () => {
  const effects = { writes: ["a"], idempotent: true } satisfies Effects;
  const run = (session: RuntimeSession): Promise<unknown> => session.execute([{ name: "put" }]);
  const always = ["*::put"];
  const tools = [tool("put", never, { effects })];
  const waiting = await crash(tools, run, { approval: { always, approve: never } });
  const denied = await resume(waiting, tools, { runtime: { approval: { always, approve: () => "deny" } } });
  expect(denied.session.history[0]?.result?.error).toMatchObject({ code: "approval_denied", outcome: "not_started" });

  const begun = await crash(tools, run);
  const late = await resume(begun, tools, {
    runtime: { locks: heldLocks, deadlineMs: 1_000 },
    whileWaiting: (ports) => ports.clock.advance(1_000),
  });
  expect(late.session.history[0]?.result).toMatchObject({ attempts: 0, error: { code: "resource_busy", outcome: "unknown" } });
});

describe.each([false, true])("an idempotent write that may have run before the crash (as a job: %s)", (background) => {
  const effects = repeatable;
  const number = { type: "object", properties: { n: { type: "integer" } } } as const;
  const text = { type: "object", properties: { n: { type: "string", pattern: "^a$" } } } as const;
  test.each<readonly [string, readonly Tool[], RuntimeOptions, string]>([
    ["its tool is gone", [], {}, "not_found"],
    ["its input no longer fits", [tool("put", never, { effects, inputSchema: text })], {}, "invalid_input"],
    ["a rule denies it", [tool("put", never, { effects })], { permission: { deny: ["*::put"] } }, "permission_denied"],
    [
      "approval is denied",
      [tool("put", never, { effects })],
      { approval: { always: ["*::put"], approve: () => "deny" } },
      "approval_denied",
    ],
  ])("I03 has an unknown outcome if it cannot run again: %s", async (_, now, more, code) => {
    const crashed = await crash([tool("put", never, { effects, inputSchema: number })], (session) =>
      session.execute([{ name: "put", input: { n: 1 } }], { background }),
    );
    const { session } = await resume(crashed, now, { runtime: more });
    await settle();
    expect(session.history[0]?.result).toMatchObject({ attempts: 0, error: { code, outcome: "unknown" } });
  });
});

test.each<readonly [string, Effects<unknown>, Outcome]>([
  ["a write that may be repeated", repeatable, "unknown"],
  ["a write that may not be repeated, which has no intent", money, "not_started"],
  ["a read", { reads: ["a"] }, "not_started"],
])("I03 a call whose rewritten input is lost has an unknown outcome only if it may have written: %s", async (_, effects, outcome) => {
  const tools = [tool("put", never, { effects })];
  const crashed = await crash(tools, (session) => session.execute([{ name: "put" }], { rewriteInput: () => ({}) }), { locks: heldLocks });
  const { session } = await resume(crashed, tools);
  expect(session.history).toMatchObject([{ result: { attempts: 0, error: { code: "cancelled", outcome } } }]);
});

test.each<readonly [string, Effects<unknown>, Outcome]>([
  ["a write that may be repeated", repeatable, "unknown"],
  ["a read", { reads: ["a"] }, "not_started"],
])("I03 a nested call that its handler makes again has an unknown outcome only if it may have written: %s", async (_, effects, outcome) => {
  const outer = (execute: (context: ToolContext) => unknown): Tool =>
    tool("outer", (_input, context) => execute(context), { effects: { reads: [] } });
  const put = tool("put", never, { effects });
  const crashed = await crash([put, outer(({ execute }) => execute({ name: "put" }))], (session) => session.execute([{ name: "outer" }]));
  const { session } = await resume(crashed, [put, outer(() => "done")]);
  const results = session.log.flatMap((event) => (event.type === "call-end" ? [event.result] : []));
  expect(results).toMatchObject([{ error: { code: "cancelled", outcome } }, { output: "done" }]);
});

test.each<readonly [string, Effects<unknown>, boolean]>([
  ["a write that may not be repeated, which has no intent", money, false],
  ["a job that had not been started, which may be repeated", { ...money, idempotent: true }, true],
])("a call that began neither before the crash nor after has the outcome not_started: %s", async (_, effects, background) => {
  const tools = [tool("put", never, { effects })];
  const crashed = await crash(tools, (session) => session.execute([{ name: "put" }], { background }), {
    locks: heldLocks,
    jobs: { maxRunning: 0 },
  });
  const bench = testRuntime({ store: crashed.store, tools, locks: heldLocks, deadlineMs: 1_000 });
  const resuming = bench.runtime.resume("s");
  await bench.ports.clock.advance(1_000);
  const session = await resuming;
  await bench.ports.clock.advance(1_000);
  expect(session.history[0]?.result).toMatchObject({ attempts: 0, error: { code: "resource_busy", outcome: "not_started" } });
});

test("a call with a recorded intent runs again if its tool is now idempotent, and its outcome includes the earlier attempt", async () => {
  const begun = (): Promise<Crashed> => crash([tool("pay", never, { effects: money })], (session) => session.execute([{ name: "pay" }]));
  const effects = { ...money, idempotent: true } satisfies Effects;
  const { session, store } = await resume(await begun(), [tool("pay", away("failed"), { effects })]);
  expect(session.history[0]?.result).toMatchObject({ attempts: 1, error: { code: "unavailable", outcome: "unknown" } });
  expect(store.disk.types("s").filter((type) => type === "call-intent").length).toBe(1);
  const denied = await resume(await begun(), [tool("pay", never, { effects })], {
    runtime: { approval: { always: ["*::pay"], approve: () => "deny" } },
  });
  expect(denied.session.history[0]?.result).toMatchObject({ attempts: 0, error: { code: "approval_denied", outcome: "unknown" } });
});

test('I03 interrupted: "settle" runs nothing and ends each call with what is known', async () => {
  let ran = 0;
  const tools = [tool("pay", () => (++ran, never()), { effects: money }), tool("read", () => (++ran, never()), { effects: { reads: [] } })];
  const crashed = await crash(tools, (session) => session.execute([{ name: "pay" }, { name: "read" }]));
  const { session } = await resume(crashed, tools, { interrupted: "settle" });
  expect([outcomes(session), ran]).toEqual([
    [
      ["pay", "error", "outcome_unknown"],
      ["read", "cancelled", "cancelled"],
    ],
    2,
  ]);
  const strange = resume({ ...crashed, store: crashed.store.crash() }, tools, { interrupted: "nothing" as "settle" });
  await expect(strange).rejects.toMatchObject({ code: "invalid_argument" });
});

test.each<readonly [string, Effects["reconcile"], readonly unknown[], number]>([
  ["happened", () => ({ happened: true, output: "receipt" }), ["ok", "receipt"], 0],
  ["happened, later", async () => (await settle(), { happened: true, output: "receipt" }), ["ok", "receipt"], 0],
  ["happened, and answered nothing", () => ({ happened: true, output: undefined }), ["ok", null], 0],
  ["did not happen", () => ({ happened: false }), ["ok", "paid"], 1],
  ["does not know", () => undefined, ["error", "outcome_unknown"], 0],
  ["says null", () => null as never, ["error", "outcome_unknown"], 0],
  ["says true", () => true as never, ["error", "outcome_unknown"], 0],
  ["says something else", () => ({ status: "done" }) as never, ["error", "outcome_unknown"], 0],
  ["says no in words", () => ({ happened: "no" }) as never, ["error", "outcome_unknown"], 0],
  [
    "throws",
    () => {
      throw new Error("no service");
    },
    ["error", "outcome_unknown"],
    0,
  ],
  [
    "rejects",
    () => Promise.reject(new ToolError("unavailable", "no service", { outcome: "not_started" })),
    ["error", "outcome_unknown"],
    0,
  ],
  [
    "gives what throws when read",
    () => ({
      get happened(): true {
        throw new Error("boom");
      },
      output: 1,
    }),
    ["error", "outcome_unknown"],
    0,
  ],
  [
    "gives an output that throws when read",
    () => ({
      happened: true,
      get output(): unknown {
        throw new Error("boom");
      },
    }),
    ["error", "outcome_unknown"],
    0,
  ],
])("I03 I11 the tool's reconcile %s", async (_, reconcile, expected, runs) => {
  let ran = 0;
  const effects = { ...money, ...(reconcile === undefined ? {} : { reconcile }) };
  const crashed = await crash([tool("pay", never, { effects })], (session) => session.execute([{ name: "pay", input: { sum: 5 } }]));
  const { session } = await resume(crashed, [tool("pay", () => (ran++, "paid"), { effects })]);
  const result = session.history[0]?.result;
  expect([[result?.status, result?.error?.code ?? result?.output], ran, result?.attempts]).toEqual([expected, runs, runs]);
});

test("I11 reconcile receives the key and input of the call, and is abandoned if it hangs", async () => {
  const asked: ReconcileContext[] = [];
  let key: string | undefined;
  const effects = { ...money, reconcile: (context: ReconcileContext) => (asked.push(context), new Promise<Reconciled>(() => {})) };
  const schema = { inputSchema: { type: "object", properties: { sum: { type: "integer" } } } };
  const tools = [tool("pay", (_, { idempotencyKey }) => ((key = idempotencyKey), never()), { ...schema, effects })];
  const crashed = await crash(tools, (session) => session.execute([{ name: "pay", input: { sum: "5" } }]));
  const { session } = await resume(crashed, tools, { whileWaiting: (ports) => ports.clock.advance(30_000) });
  expect([asked.map((one) => [one.idempotencyKey, one.input, one.signal.aborted]), outcomes(session)]).toEqual([
    [[key, { sum: 5 }, true]],
    [["pay", "error", "outcome_unknown"]],
  ]);
  expect(session.history[0]?.result?.error?.message).toContain("Its reconcile() did not answer in time.");
});

test("I11 a reconcile may take its time limit, but not longer than the call's deadline", async () => {
  const answer = Promise.withResolvers<Reconciled>();
  const effects = { ...money, reconcile: () => answer.promise };
  const tools = [tool("pay", never, { effects })];
  const crashed = await crash(tools, (session) => session.execute([{ name: "pay" }]));
  const late = await resume({ ...crashed, store: new FailingStore(crashed.store.disk).crash() }, tools, {
    runtime: { deadlineMs: 5_000 },
    whileWaiting: (ports) => ports.clock.advance(5_000),
  });
  expect(outcomes(late.session)).toEqual([["pay", "error", "outcome_unknown"]]);
  const again = await crash(tools, (session) => session.execute([{ name: "pay" }]));
  const { session } = await resume(again, tools, {
    whileWaiting: async (ports) => {
      await ports.clock.advance(29_000);
      answer.resolve({ happened: true, output: "receipt" });
    },
  });
  expect(outcomes(session)).toEqual([["pay", "ok", "receipt"]]);
});

test("I03 an interrupted call without its tool, toolset or permission has an unknown outcome; one that never started says why", async () => {
  const tools = [tool("pay", never, { effects: money }), tool("read", never, { effects: { reads: [] } })];
  const crashed = await crash(tools, (session) => session.execute([{ name: "pay" }, { name: "read" }]));
  const { session } = await resume(crashed, []);
  expect(outcomes(session)).toEqual([
    ["pay", "error", "outcome_unknown"],
    ["read", "error", "not_found"],
  ]);
  const denied = await crash(tools, (session) => session.execute([{ name: "pay" }]));
  const later = await resume(denied, tools, { runtime: { permission: { deny: ["*::pay"] } } });
  expect(outcomes(later.session)).toEqual([["pay", "error", "outcome_unknown"]]);
});

test("I03 a call that waited for approval is asked about again, and an approved call that ran is not", async () => {
  const asked: string[] = [];
  const burn = (effects: Effects): Tool => tool("burn", () => "burnt", { effects: { ...money, destructive: true, ...effects } });
  const waiting = await crash([burn({})], (session) => session.execute([{ name: "burn" }]), { approval: { approve: never } });
  const approve = (request: { readonly callId: string }): "deny" => (asked.push(request.callId), "deny");
  const { session } = await resume(waiting, [burn({})], { runtime: { approval: { approve } } });
  expect([outcomes(session), asked]).toEqual([[["burn", "error", "approval_denied"]], [session.history[0]?.callId]]);
  const hanging = tool("burn", never, { effects: { ...money, destructive: true } });
  const dispatched = await crash([hanging], (one) => one.execute([{ name: "burn" }]), { approval: { approve: () => "allow-once" } });
  const happened = await resume(dispatched, [burn({ reconcile: () => ({ happened: true, output: "burnt" }) })], {
    runtime: { approval: { approve } },
  });
  expect([outcomes(happened.session), asked.length]).toEqual([[["burn", "ok", "burnt"]], 1]);
});

test("I03 calls of a batch continue in order, with the history they saw before, without siblings that had ended", async () => {
  const engine: Engine = { kind: "tale", order: "sequential", call: (_, { history }) => history.map(({ call }) => call.name) };
  let isBack = false;
  const tools = [
    tool("first", () => 1),
    tool("fast", () => 2),
    tool("slow", (_, { history }) => (isBack ? history.map(({ call }) => call.name) : never())),
  ];
  const toolsets = [{ name: "t", engine, tools: [{ name: "tell", description: "", inputSchema: true, effects: { reads: [] } }] }];
  const crashed = await crash(
    tools,
    async (session) => {
      await session.execute({ name: "first" });
      return session.execute(["fast", "slow", "t::tell"].map((name) => ({ name })));
    },
    { toolsets },
  );
  isBack = true;
  const { session } = await resume(crashed, tools, { runtime: { toolsets } });
  expect(session.history.map(({ call, result }) => [call.name, result?.output])).toEqual([
    ["first", 1],
    ["fast", 2],
    ["slow", ["first"]],
    ["t::tell", ["first", "fast", "slow"]],
  ]);
});

test("I03 a crash during a resume is resumed: calls that ended meanwhile do not run again", async () => {
  const ran: string[] = [];
  const body = (name: string, isOver: boolean): Tool =>
    tool(name, () => (ran.push(name), isOver ? name : never()), { effects: { reads: [name] } });
  const first = await crash([body("a", false), body("b", false)], (session) => session.execute([{ name: "a" }, { name: "b" }]));
  const middle = first.store;
  void testRuntime({ store: middle, tools: [body("a", true), body("b", false)] }).runtime.resume("s");
  await settle();
  await middle.logs.get("s")?.whenDurable();
  const { session } = await resume({ ...first, store: middle.crash() }, [body("a", true), body("b", true)]);
  expect([outcomes(session), ran]).toEqual([
    [
      ["a", "ok", "a"],
      ["b", "ok", "b"],
    ],
    ["a", "b", "a", "b", "b"],
  ]);
});

test('I03 with durability "async" a call without an intent may have run: it is not run again', async () => {
  let ran = 0;
  const tools = [tool("pay", () => (++ran, never()), { effects: money })];
  const crashed = await crash(
    tools,
    async (session) => {
      const paying = session.execute([{ name: "pay" }]);
      await session.eventLog?.whenDurable();
      return paying;
    },
    { durability: "async" },
  );
  const log = crashed.store.disk.logs.get("s");
  log?.lines.splice(
    log.lines.findIndex((line) => line.includes("call-intent")),
    1,
  );
  const { session } = await resume(crashed, tools);
  expect([outcomes(session), ran]).toEqual([[["pay", "error", "outcome_unknown"]], 1]);
});

test('I03 with durability "async" a call that may be repeated runs again, with or without an intent', async () => {
  const tools = (isBack: boolean): readonly Tool[] => [
    tool("read", () => (isBack ? "read" : never()), { effects: { reads: ["x"], writes: [] } }),
    tool("put", () => (isBack ? "put" : never()), { effects: { ...money, idempotent: true } }),
  ];
  const run = async (session: RuntimeSession): Promise<void> => {
    void session.execute([{ name: "read" }, { name: "put" }]);
    await session.eventLog?.whenDurable();
  };
  const crashed = await crash(tools(false), run, { durability: "async" });
  const { session } = await resume(crashed, tools(true), { runtime: { durability: "async" } });
  expect(outcomes(session)).toEqual([
    ["read", "ok", "read"],
    ["put", "ok", "put"],
  ]);
});

test("I03 a late result of an abandoned call is known after a crash", async () => {
  const late = Promise.withResolvers<string>();
  const store = new FailingStore();
  const tools = [tool("pay", () => late.promise, { effects: money, timeoutMs: 100 })];
  const { runtime, ports } = testRuntime({ store, tools });
  const before = runtime.session("s");
  const paying = before.execute({ name: "pay" });
  await ports.clock.advance(100);
  expect((await paying).error?.code).toBe("timeout");
  late.resolve("paid");
  await settle();
  await before.addMessage({ role: "user", content: "?" });
  const { session } = await resume({ before, store: store.crash() }, tools);
  expect(session.history.map(({ result, resolved }) => [result?.error?.code, resolved])).toEqual([["timeout", "applied"]]);
});

test("I03 a state change before a crash is kept when reconcile reports that the effect happened", async () => {
  const effects = { ...money, reconcile: () => ({ happened: true, output: "paid" }) as const };
  const pay = tool("pay", (_, { state }) => (state.update("paid", () => true), never()), { effects });
  const crashed = await crash([pay], (session) => session.execute([{ name: "pay" }]));
  const { session } = await resume(crashed, [pay]);
  expect([outcomes(session), session.state("default", "paid")]).toEqual([[["pay", "ok", "paid"]], true]);
});
