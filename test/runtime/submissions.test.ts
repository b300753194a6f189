/** A batch that is submitted again under its key is answered with its first results, whatever happened in between. */
import { expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { Tool } from "../../src/core/tool.ts";
import type { ToolResult } from "../../src/core/result.ts";
import { writeRecording } from "../../src/core/recording/recording.ts";
import { importRecording } from "../../src/runtime/import-recording.ts";
import { createChain } from "../../src/compose/chain/chain.ts";
import { findToolsToolset } from "../../src/toolsets/find-tools.ts";
import type { RuntimeOptions } from "../../src/runtime/runtime.ts";
import { sessionWithin } from "../../src/runtime/session-within.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool } from "./bench-runtime.ts";
import { FailingStore } from "./session/failing-store.ts";

const money = { writes: ["money"] };
const KEY = { idempotencyKey: "order 1" };
const PAY = [
  { id: "p1", name: "pay", input: { sum: 5 } },
  { name: "pay", input: { sum: 6 } },
];
const FULL = new ToolError("store_failed", "The disk is full.");
/** What was done may be written later. */
const LOST = { code: "store_failed", message: "The disk is full.", outcome: "unknown" };

/** A runtime whose payments are counted. */
function shop(options: RuntimeOptions = {}) {
  let paid = 0;
  const pay = tool("pay", ({ sum }) => (paid++, { sum, paid }), { effects: money });
  const bench = testRuntime({ ...options, tools: [pay, ...(options.tools ?? [])] });
  return { ...bench, paid: () => paid, pay };
}

async function restarted(store: FailingStore, tools: readonly Tool[]) {
  const ids = { next: (kind: string) => `${kind}_${crypto.randomUUID()}` }; // none of the process before
  return testRuntime({ store: store.crash(), tools, ports: { ids } }).runtime.resume("s");
}

test("I10 a hundred concurrent submissions of one key get one execution and a hundred equal answers", async () => {
  const { runtime, paid } = shop();
  const session = runtime.session();
  const answers = await Promise.all(Array.from({ length: 100 }, () => session.execute(PAY, KEY)));
  expect([paid(), new Set(answers.map((answer) => JSON.stringify(answer))).size, session.history.length]).toEqual([2, 1, 2]);
  expect(answers[0]?.map((result) => [result.id, result.output])).toEqual([
    ["p1", { sum: 5, paid: 1 }],
    [undefined, { sum: 6, paid: 2 }],
  ]);
  expect(await session.execute(PAY, KEY)).toEqual(answers[0]);
});

test("I10 concurrent submissions of one key also run once while the store is slow, and after a restart", async () => {
  const store = new FailingStore();
  const { runtime, paid, pay } = shop({ store });
  const session = runtime.session("s");
  store.hold();
  const submitting = Promise.all(Array.from({ length: 100 }, () => session.execute(PAY, KEY)));
  await settle();
  expect(paid()).toBe(0);
  store.goOn();
  const [first] = await submitting;
  const resumed = await restarted(store, [pay]);
  const again = await Promise.all(Array.from({ length: 100 }, () => resumed.execute(PAY, KEY)));
  expect([paid(), again.every((answer) => JSON.stringify(answer) === JSON.stringify(first))]).toEqual([2, true]);
});

test("I10 a single call with a key gets its one result", async () => {
  const { runtime, paid } = shop();
  const session = runtime.session();
  const call = { name: "pay", input: { sum: 5 } };
  const first = await session.execute(call, KEY);
  expect([await session.execute(call, KEY), first.output, paid()]).toEqual([first, { sum: 5, paid: 1 }, 1]);
});

test("I10 other calls under a key conflict, at once, while they run, and after a restart; call ids do not count as different", async () => {
  const store = new FailingStore();
  const { runtime, paid, pay } = shop({ store });
  const session = runtime.session("s");
  const [running, other] = [session.execute(PAY, KEY), session.execute([{ name: "pay", input: { sum: 7 } }], KEY)];
  await expect(other).rejects.toMatchObject({
    code: "conflict",
    message: 'The idempotency key "order 1" was used for other calls of this session.',
  });
  const first = await running;
  const renamed = PAY.map((call, at) => ({ input: call.input, name: call.name, id: `other ${at}` }));
  expect(await session.execute(renamed, KEY)).toEqual(first);
  await expect(session.execute([...PAY].reverse(), KEY)).rejects.toMatchObject({ code: "conflict" });
  const resumed = await restarted(store, [pay]);
  await expect(resumed.execute(PAY.slice(1), KEY)).rejects.toMatchObject({ code: "conflict" });
  expect([await resumed.execute(PAY, KEY), paid()]).toEqual([first, 2]);
});

test("I10 keys are strings of 1 to 1,024 characters, in a session that records", async () => {
  const { runtime } = shop();
  const session = runtime.session();
  for (const idempotencyKey of ["", "x".repeat(1_025), 5, null] as const) {
    await expect(session.execute(PAY, { idempotencyKey: idempotencyKey as string })).rejects.toMatchObject({ code: "invalid_argument" });
  }
  await expect(session.execute(PAY, { ...KEY, recordHistory: false })).rejects.toMatchObject({ code: "invalid_argument" });
  await expect(runtime.execute(PAY, KEY)).rejects.toMatchObject({ code: "invalid_argument" });
  expect(session.length).toBe(0);
  expect(await session.execute([], KEY)).toEqual([]);
});

test("I04 I10 a batch whose rollback a crash cut off throws its recorded results when it is submitted again with onError", async () => {
  const store = new FailingStore();
  const undoing = gate();
  const undone: string[] = [];
  const book = tool("book", () => "booked", {
    effects: { writes: ["seats"], external: true, undo: () => (undone.push("book"), undoing.promise) },
  });
  const pay = tool("pay", () => Promise.reject(new Error("declined")), { effects: { ...money, external: true } });
  const calls = [{ name: "book" }, { name: "pay" }];
  const session = testRuntime({ store, tools: [book, pay] }).runtime.session("s");
  void session.execute(calls, { ...KEY, onError: "throw" }).catch(() => {});
  await settle();
  expect(undone).toEqual(["book"]);
  const alerts: unknown[] = [];
  const ids = { next: (kind: string) => `${kind}_${crypto.randomUUID()}` };
  const options: RuntimeOptions = { store: store.crash(), tools: [book, pay], ports: { ids }, onAlert: (error) => alerts.push(error) };
  const resumed = await testRuntime(options).runtime.resume("s");
  const results = await resumed.execute(calls, KEY);
  expect(results.map(({ error }) => error?.code)).toEqual(["outcome_unknown", "outcome_unknown"]);
  const failure = await resumed.execute(calls, { ...KEY, onError: "throw" }).catch((thrown: unknown) => thrown);
  expect(failure).toMatchObject({ name: "ToolExecutionError", results, result: results[0] });
  expect([alerts, undone]).toEqual([[failure], ["book"]]);
  undoing.open();
});

test("I11 a client that got no answer gets the first results with the same key, and the store is asked again", async () => {
  const store = new FailingStore();
  let paid = 0;
  // The store fails while the last payment is made.
  const pay = tool("pay", () => (++paid === 2 && (store.durableError = FULL), paid), { effects: money });
  const session = testRuntime({ store, tools: [pay] }).runtime.session("s");
  await session.addMessage({ role: "user", content: "buy" });
  await expect(session.execute(PAY, KEY)).rejects.toMatchObject(LOST);
  await expect(session.execute(PAY, KEY)).rejects.toMatchObject(LOST);
  store.durableError = undefined;
  const answer = await session.execute(PAY, KEY);
  expect([answer.map((result) => result.output), paid]).toEqual([[1, 2], 2]);
  expect([await (await restarted(store, [pay])).execute(PAY, KEY), paid]).toEqual([answer, 2]);
});

test("I11 calls whose results the store lost for good are neither run again nor acknowledged", async () => {
  const store = new FailingStore();
  let paid = 0;
  const pay = tool("pay", () => (++paid === 2 && (store.appendError = FULL), paid), { effects: money });
  const session = testRuntime({ store, tools: [pay] }).runtime.session("s");
  await expect(session.execute(PAY, KEY)).rejects.toMatchObject(LOST);
  await expect(session.execute(PAY, KEY)).rejects.toMatchObject(LOST);
  expect(paid).toBe(2);
});

test("I11 F0.12 a batch submitted again runs the calls that a full store kept from starting, and never those that ran", async () => {
  const store = new FailingStore();
  const { runtime, paid, pay } = shop({ store });
  const session = runtime.session("s");
  await session.addMessage({ role: "user", content: "buy" });
  store.durableError = FULL;
  await expect(session.execute(PAY, KEY)).rejects.toMatchObject({ code: "store_failed", outcome: "not_started" });
  const { length } = session;
  await expect(session.execute(PAY, KEY)).rejects.toMatchObject({ code: "store_failed", outcome: "not_started" });
  expect([paid(), session.length]).toEqual([0, length]); // asked again, a full store is given no more to write
  store.durableError = undefined;
  const answers = await Promise.all(Array.from({ length: 100 }, () => session.execute(PAY, KEY)));
  expect(answers[0]?.map(({ id, output }) => [id, output])).toEqual([
    ["p1", { sum: 5, paid: 1 }],
    [undefined, { sum: 6, paid: 2 }],
  ]);
  expect([new Set(answers.map((answer) => JSON.stringify(answer))).size, paid()]).toEqual([1, 2]);
  await expect(session.execute(PAY.slice(1), KEY)).rejects.toMatchObject({ code: "conflict" });
  expect([await (await restarted(store, [pay])).execute(PAY, KEY), paid()]).toEqual([answers[0], 2]);
});

test("I11 when the store was full from a batch's second call on, a repetition runs the second alone, also after a restart", async () => {
  for (const restarts of [false, true]) {
    const store = new FailingStore();
    let set = 0;
    const label = tool("label", () => ((store.durableError = FULL), ++set), { effects: { writes: ["label"], idempotent: true } });
    const { runtime, paid, pay } = shop({ store, tools: [label] });
    const session = runtime.session("s");
    await session.addMessage({ role: "user", content: "buy" });
    const calls = [{ name: "nothing" }, { name: "label" }, { name: "pay", input: { sum: 5 } }];
    await expect(session.execute(calls, KEY)).rejects.toMatchObject(LOST);
    expect([set, paid()]).toEqual([1, 0]);
    store.durableError = undefined;
    await session.addMessage({ role: "user", content: "still there?" });
    const asked = restarts ? await restarted(store, [pay, label]) : session;
    const answer = await asked.execute(calls, KEY);
    expect(answer.map(({ name, output, error }) => [name, output ?? error?.code])).toEqual([
      ["nothing", "not_found"],
      ["default::label", 1],
      ["default::pay", { sum: 5, paid: 1 }],
    ]);
    expect([await asked.execute(calls, KEY), set, paid()]).toEqual([answer, 1, 1]);
  }
});

test("I11 a repetition that fails as a whole rolls back the calls that it ran, and may be repeated", async () => {
  const store = new FailingStore();
  let isBroken = true;
  const send = tool("send", () => (isBroken ? Promise.reject(new Error("the line is dead")) : "sent"), { effects: { writes: ["line"] } });
  let set = 0;
  const label = tool("label", () => ((store.durableError = set++ === 0 ? FULL : undefined), set), {
    effects: { writes: ["label"], idempotent: true },
  });
  const session = testRuntime({ store, tools: [send, label] }).runtime.session("s");
  await session.addMessage({ role: "user", content: "send" });
  const calls = [{ name: "label" }, { name: "send" }];
  await expect(session.execute(calls, KEY)).rejects.toMatchObject(LOST);
  store.durableError = undefined;
  await expect(session.execute(calls, { ...KEY, onError: "throw" })).rejects.toMatchObject({ name: "ToolExecutionError" });
  isBroken = false;
  expect((await session.execute(calls, KEY)).map(({ output }) => output)).toEqual([1, "sent"]);
  expect(set).toBe(1);
});

test.each([
  ["its call", "the result said so", 1],
  ["its call", "it threw", 2],
  ["a call in its own session", "the result said so", 1],
  ["a call in its own session", "it threw", 2],
])(
  "I11 after a crash, a composite tool's handler sees the same failures as before, where a full store refused %s and %s",
  async (whose, _how, failures) => {
    const store = new FailingStore();
    const paid: unknown[] = [];
    const orders = (isStuck: boolean): readonly Tool[] => [
      tool("pay", ({ by }) => (paid.push(by), by), { effects: money }),
      {
        name: "order",
        description: "Pays by card, else in cash.",
        inputSchema: { type: "object" },
        composite: true,
        async execute(_input, context) {
          const own = whose === "its call" ? undefined : await sessionWithin(context);
          const pay = (by: string): Promise<ToolResult> => {
            const call = { name: "pay", input: { by } };
            return own === undefined ? context.execute(call) : own.execute(call, { idempotencyKey: by });
          };
          await store.logs.get("s")?.whenDurable();
          let left = isStuck ? failures : 0;
          store.passHold = async () => void (store.durableError = left-- > 0 ? FULL : undefined);
          const card = await pay("card").catch(() => undefined);
          if (card?.status === "ok") return card.output;
          const cash = await pay("cash");
          return isStuck ? new Promise(() => {}) : cash.output;
        },
      },
    ];
    const session = testRuntime({ store, tools: orders(true) }).runtime.session("s");
    await session.addMessage({ role: "user", content: "buy" });
    void session.execute({ name: "order" }, KEY);
    await settle();
    const resumed = await restarted(store, orders(false));
    expect([paid, (await resumed.execute({ name: "order" }, KEY)).output]).toEqual([["cash"], "cash"]);
  },
);

test.each([
  ["call_tool", { name: "catalog::call_tool", input: { name: "pay", input: { sum: 5 } } }],
  ["a chain", { name: "order", input: { sum: 5 } }],
  ["a chain whose first step has run", { name: "label_and_order", input: { sum: 5 } }],
])("I11 a repetition of %s runs calls that a full store kept from starting, unless a part of it has run", async (kind, call) => {
  for (const failures of [1, 2, 9]) {
    const store = new FailingStore();
    let labels = 0;
    let left = 0;
    const fill = (): void => void (left = failures);
    const label = tool("label", () => (fill(), { label: ++labels }), { effects: { writes: ["label"], idempotent: true } });
    const chainOf = (name: string, ...steps: readonly string[]) =>
      createChain(steps.map((step) => ({ tool: step }))).toTool({ name, description: "Orders." });
    const tools = [label, chainOf("order", "pay"), chainOf("label_and_order", "label", "pay")];
    const { runtime, paid } = shop({ store, tools, toolsets: [findToolsToolset({ callTool: true })] });
    const session = runtime.session();
    await session.addMessage({ role: "user", content: "buy" });
    store.passHold = async () => void (store.durableError = left-- > 0 ? FULL : undefined);
    if (call.name !== "label_and_order") fill();
    const first: unknown = await session.execute(call, KEY).catch((thrown: unknown) => thrown);
    expect([first, paid()]).toEqual([expect.not.objectContaining({ status: "ok" }), 0]);
    left = 0;
    const again = await session.execute(call, KEY);
    const hasRun = kind === "a chain whose first step has run";
    expect([again.status, labels, paid()]).toEqual(hasRun ? ["error", 1, 0] : ["ok", 0, 1]);
    expect(await session.execute(call, KEY)).toEqual(again);
  }
});

test.each(["a chain", "call_tool"])("I11 a handler that had an effect and then calls the handler of %s is not run again", async (part) => {
  const store = new FailingStore();
  let acted = 0;
  let isFull = false;
  const chain = createChain([{ tool: "pay" }]).toTool({ name: "order", description: "Orders." });
  const [, callTool = expect.fail()] = (findToolsToolset({ callTool: true }) as { readonly tools: readonly Tool[] }).tools;
  const acts: Tool = {
    ...chain,
    name: "acts",
    execute: async (input: never, context) => {
      acted++;
      isFull = true;
      const found: unknown = { name: "pay", input };
      return part === "a chain" ? chain.execute?.(input, context) : callTool.execute?.(found as never, context);
    },
  };
  const { runtime } = shop({ store, tools: [acts] });
  const session = runtime.session();
  await session.addMessage({ role: "user", content: "buy" });
  store.passHold = async () => void (store.durableError = isFull ? FULL : undefined);
  await session.execute({ name: "acts", input: { sum: 5 } }, KEY).catch(() => {});
  isFull = false;
  const again = await session.execute({ name: "acts", input: { sum: 5 } }, KEY);
  expect([acted, again.status, again.attempts]).toEqual([1, "error", 1]);
});

test("I11 an interrupted batch is answered, after a restart, with what is known of each of its calls", async () => {
  const store = new FailingStore();
  const calls = [{ name: "fast" }, { name: "pay" }, { name: "read" }];
  const never = (): Promise<never> => new Promise(() => {});
  const tools = (body: () => unknown): readonly Tool[] => [
    tool("fast", () => "fast"),
    tool("pay", body, { effects: money }),
    tool("read", body, { effects: { reads: [] } }),
  ];
  const session = testRuntime({ store, tools: tools(never) }).runtime.session("s");
  void session.execute(calls, KEY);
  await settle();
  await session.eventLog?.whenDurable();
  const { callIds } = session.log.find((event) => event.type === "batch-start") ?? { callIds: [] };
  const resumed = await restarted(
    store,
    tools(() => "again"),
  );
  const answer = await resumed.execute(calls, KEY);
  expect(answer.map((result) => [result.callId, result.output ?? result.error?.code])).toEqual([
    [callIds[0], "fast"],
    [callIds[1], "outcome_unknown"],
    [callIds[2], "again"],
  ]);
  expect(resumed.history.length).toBe(3);
});

test("I11 a batch is recorded as a whole or not at all: a crash before that leaves nothing, and the key is free", async () => {
  const store = new FailingStore();
  const { runtime, paid, pay } = shop({ store });
  const session = runtime.session("s");
  await session.addMessage({ role: "user", content: "buy" });
  store.hold();
  void session.execute(PAY, KEY);
  await settle();
  const resumed = await restarted(store, [pay]);
  expect([resumed.history, paid()]).toEqual([[], 0]);
  expect((await resumed.execute(PAY, KEY)).map((result) => result.status)).toEqual(["ok", "ok"]);
  expect(paid()).toBe(2);
});

test("I11 a batch that was rolled back may be submitted again, before and after a restart", async () => {
  const store = new FailingStore();
  let fails = true;
  const flaky = tool("flaky", () => (fails ? Promise.reject(new Error("no")) : "yes"), {
    effects: { writes: ["money"], idempotent: true },
  });
  const { runtime, paid, pay } = shop({ store, tools: [flaky] });
  const session = runtime.session("s");
  const calls = [...PAY, { name: "flaky" }];
  const options = { ...KEY, onError: "throw" } as const;
  await expect(session.execute(calls, options)).rejects.toMatchObject({ name: "ToolExecutionError" });
  await expect(session.execute(calls, options)).rejects.toMatchObject({ name: "ToolExecutionError" });
  fails = false;
  const resumed = await restarted(store, [pay, flaky]);
  const answer = await resumed.execute(calls, options);
  expect([answer.map((result) => result.status), paid()]).toEqual([["ok", "ok", "ok"], 6]);
  expect(await resumed.execute(calls, options)).toEqual(answer);
});

test("I11 keys belong to their session: a fork has its own, and a restored session keeps its keys under its own id only", async () => {
  const store = new FailingStore();
  const { runtime, paid, pay } = shop({ store });
  const session = runtime.session("s");
  const first = await session.execute(PAY, KEY);
  const [branch, quiet] = [session.fork({ id: "b" }), session.fork({ id: "quiet" })];
  await quiet.addMessage({ role: "user", content: "nothing bought" });
  expect([(await branch.execute(PAY, KEY))[0]?.output, paid()]).toEqual([{ sum: 5, paid: 3 }, 4]);
  const snapshot = await session.snapshot();
  const crashed = store.crash();
  const after = testRuntime({ store: crashed, tools: [pay] }).runtime;
  const [again, forked] = [await after.resume("s"), await after.resume("b")];
  expect([await again.execute(PAY, KEY), (await forked.execute(PAY, KEY))[0]?.output, paid()]).toEqual([first, { sum: 5, paid: 3 }, 4]);
  expect((await (await after.resume("quiet")).execute(PAY, KEY))[0]?.output).toEqual({ sum: 5, paid: 5 });
  const other = testRuntime({ store: new FailingStore(), tools: [pay] }).runtime;
  const [same, different] = [other.session("s", { from: snapshot }), other.session("t", { from: snapshot })];
  expect([await same.execute(PAY, KEY), (await different.execute(PAY, KEY))[0]?.output]).toEqual([first, { sum: 5, paid: 7 }]);
});

test("I11 a recording cut off anywhere in a batch answers its key with what is known, and runs none of its calls again", async () => {
  const { runtime, paid, pay } = shop({ store: new FailingStore() });
  const session = runtime.session("s");
  await session.execute(PAY, KEY);
  const snapshot = await session.snapshot();
  const { events } = snapshot;
  const batch = events.findIndex(({ type }) => type === "batch-start") + 1;
  for (let length = batch; length <= events.length; length++) {
    const store = new FailingStore();
    await importRecording(store, writeRecording(events.slice(0, length), { sessionId: "s", exportedAt: 5 }));
    const answer = await (await restarted(store, [pay])).execute(PAY, KEY);
    const ended = events.slice(0, length).filter(({ type }) => type === "call-end").length;
    const [known, unknown] = ["ok", "outcome_unknown"];
    expect(answer.map(({ id, status, error }) => [id, error?.code ?? status])).toEqual([
      ["p1", ended > 0 ? known : unknown],
      [undefined, ended > 1 ? known : unknown],
    ]);
  }
  const cut = testRuntime({ tools: [pay] }).runtime.session("s", { from: { ...snapshot, events: events.slice(0, batch) } });
  expect((await cut.execute(PAY, KEY)).map(({ error }) => error?.code)).toEqual(["outcome_unknown", "outcome_unknown"]);
  expect(paid()).toBe(2);
});

test("I11 where the results of a key cannot be read, the error does not claim that its calls did not start", async () => {
  const { runtime, paid } = shop({ store: new FailingStore(), keepEvents: 4 });
  const session = runtime.session("s");
  const first = await session.execute(PAY, KEY);
  const log = session.eventLog ?? expect.fail("no log");
  const { read } = log;
  log.read = () => Promise.reject(new ToolError("store_failed", "The disk cannot be read."));
  await expect(session.execute(PAY, KEY)).rejects.toMatchObject({ code: "store_failed", outcome: "unknown" });
  log.read = read;
  expect([await session.execute(PAY, KEY), paid()]).toEqual([first, 2]);
  session.markLost(new ToolError("conflict", "The session is claimed by another process."));
  await expect(session.execute(PAY, KEY)).rejects.toMatchObject({ code: "conflict", outcome: "unknown" });
  await expect(session.execute(PAY, { idempotencyKey: "new" })).rejects.toMatchObject({ code: "conflict", outcome: "not_started" });
  expect(paid()).toBe(2);
});

test("I11 the results of a key are found however much was recorded since", async () => {
  const store = new FailingStore();
  const { runtime, paid } = shop({ store, keepEvents: 4 });
  const session = runtime.session("s");
  const first = await session.execute(PAY, KEY);
  for (let round = 0; round < 20; round++) await session.addMessage({ role: "user", content: "…" });
  expect(session.firstKept).toBeGreaterThan(8);
  expect([await session.execute(PAY, KEY), paid()]).toEqual([first, 2]);
});

test("I10 a batch that waits for its turn is not affected by changes to the caller's array", async () => {
  const going = gate();
  const { runtime } = shop({ tools: [tool("wait", () => going.promise)] });
  const session = runtime.session();
  const waiting = session.execute({ name: "wait" });
  const calls = [...PAY];
  const submitted = session.execute(calls, KEY);
  calls.length = 1;
  going.open();
  await waiting;
  expect((await submitted).length).toBe(2);
  expect(await session.execute(PAY, KEY)).toEqual(await submitted);
});
