/** What callers, listeners and handlers may do around a call, and what must come of it. */
import { expect, test } from "vitest";
import type { ToolCall } from "../../src/core/call.ts";
import type { ToolContext } from "../../src/core/context.ts";
import type { UndoContext } from "../../src/core/resources/effects.ts";
import type { Engine } from "../../src/core/engine.ts";
import { ToolError } from "../../src/core/error.ts";
import type { JsonSchema } from "../../src/core/tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { ToolExecutionError } from "../../src/call/tool-execution-error.ts";
import { fakePorts, settle } from "../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool } from "./bench-runtime.ts";
import { collectUnhandledRejections } from "../unhandled-rejections.ts";

const never = (): Promise<never> => new Promise(() => {});
const fail = (): never => {
  throw new Error("bug");
};
const writes = { effects: { writes: ["x"] }, maxAttempts: 1 } as const;

test("F4.28 calls that are proxies, have throwing getters, or change while the batch runs are each answered", async () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const calls: unknown[] = [
    { name: "t" },
    0,
    {
      get name() {
        throw new Error("no");
      },
    },
    new Proxy({}, { get: fail, has: fail, getPrototypeOf: fail, ownKeys: fail }),
  ];
  calls[5] = { id: "named", input: {} }; // and none at 4
  Object.defineProperty(calls, 1, {
    get: fail,
  });
  const { runtime, events } = testRuntime({ tools: [tool("t", () => calls.push({ name: "t" }) && "ran")] });
  const results = await runtime.execute(calls as ToolCall[]);
  expect(results.map((result) => result.error?.code ?? result.output)).toEqual([
    "ran",
    "invalid_call",
    "invalid_call",
    "invalid_call",
    "invalid_call",
    "invalid_call",
  ]);
  expect(results[5]?.id).toBe("named");
  expect((await runtime.execute(proxy as ToolCall)).error?.code).toBe("invalid_call");
  expect(events.filter((event) => event.type === "call-end").length).toBe(7);
});

test("invalid options are rejected before any call starts", async () => {
  const { runtime, events } = testRuntime({ tools: [tool("t", () => "ran")] });
  for (const options of [null, 5, { signal: {} }, { signal: null }, { onError: "panic" }]) {
    await expect(runtime.execute({ name: "t" }, options as object)).rejects.toMatchObject({ code: "invalid_argument" });
  }
  expect(events).toEqual([]);
});

test("a listener and a log that throw or reject change nothing, and a listener may make calls", async () => {
  const unhandled = collectUnhandledRejections();
  const loud = createRuntime({
    ports: { log: { debug: fail, warn: fail } },
    onEvent: fail,
    tools: [tool("t", (_, context) => (context.log("hm"), "ran"))],
  });
  const late = createRuntime({
    ports: fakePorts(),
    onEvent: () => Promise.reject(new Error("bug")) as unknown as undefined,
    tools: [tool("t", () => "ran")],
  });
  let left = 3;
  const nested = createRuntime({
    ports: fakePorts(),
    tools: [tool("t", () => "ran")],
    onEvent: (event) => {
      if (event.type === "call-end" && left-- > 0) void nested.execute({ name: "t" });
    },
  });
  const results = await Promise.all([loud, late, nested].map((runtime) => runtime.execute({ name: "t" })));
  await settle();
  expect(results.map((result) => result.output)).toEqual(["ran", "ran", "ran"]);
  expect([nested.counters.calls, unhandled]).toEqual([4, []]);
});

test("F4.26 B01 a handler whose call was abandoned, or whose batch was rolled back, can no longer change state", async () => {
  const world = testRuntime({
    tools: [
      tool("late", async (_, { state, signal }) => {
        state.update("k", () => "early");
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        state.update("k", () => "late");
      }),
      tool("boom", () => Promise.reject(new Error("boom"))),
      tool("set", (input, { state }) => state.update("other", () => String(input["to"]))),
    ],
  });
  const session = world.runtime.session();
  const failing = session.execute([{ name: "late" }, { name: "boom" }], { onError: "throw" }).catch((error: unknown) => error);
  const beside = session.execute({ name: "set", input: { to: "kept" } });
  expect([await failing, (await beside).status]).toEqual([expect.any(ToolExecutionError), "ok"]);
  await settle();
  expect(["k", "other"].map((key) => session.state("default", key))).toEqual([undefined, "kept"]);
});

test("a call that succeeds at the moment its batch fails is undone with its whole answer, and the undo is awaited", async () => {
  for (let ticks = 0; ticks < 10; ticks++) {
    const undone: unknown[] = [];
    const undo = async ({ output }: UndoContext): Promise<void> => {
      await settle();
      undone.push(output);
    };
    const later = async (): Promise<string> => {
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
      return "x".repeat(500);
    };
    const effects = { writes: ["a"], undo };
    const { runtime, ports } = testRuntime({ tools: [tool("a", later, { effects, maxResultBytes: 100 }), tool("b", async () => fail())] });
    const thrown: unknown = await runtime.execute([{ name: "a" }, { name: "b" }], { onError: "throw" }).catch((error: unknown) => error);
    const succeeded = thrown instanceof ToolExecutionError && thrown.results[0]?.status === "ok";
    expect(undone).toEqual(succeeded ? ["x".repeat(500)] : []);
    expect(ports.log.lines.filter(({ level }) => level === "warn").map((line) => line.message)).toEqual([
      "A batch was rolled back: default::b: bug",
    ]);
  }
});

test("a call made while the runtime closes is rejected, and does not keep it open", async () => {
  const { runtime, ports } = testRuntime({ tools: [tool("deaf", never, { timeoutMs: 0 })] });
  const running = runtime.execute({ name: "deaf" });
  const closing = runtime.close();
  const late = runtime.execute({ name: "deaf" });
  await ports.clock.advance(0);
  expect([(await running).status, (await late).error?.code, await closing]).toEqual(["cancelled", "unavailable", []]);
  expect(runtime.running).toEqual([]);
});

test("F4.25 onError throw returns results for correctable errors, timeouts and refusals, and throws for the rest", async () => {
  const thrown = new Map<string, boolean>();
  const { runtime, ports } = testRuntime({
    permission: { deny: ["*::denied"] },
    tools: [
      tool("denied", () => 1),
      tool("destroy", () => 1, { effects: { writes: ["x"], destructive: true } }),
      tool("deaf", never, { timeoutMs: 10, maxAttempts: 1 }),
      tool("strict", () => 1, { inputSchema: { type: "object", required: ["a"] } }),
      tool("partial", () => 1, { outputSchema: { type: "string" } }),
      tool("fine", () => 1),
      tool("network", () => Promise.reject(new ToolError("network_error", "gone", { retryable: false }))),
      tool("bug", () => Promise.reject(new TypeError("bug"))),
      tool("map", () => new Map()),
    ],
  });
  for (const name of ["nowhere", "denied", "destroy", "deaf", "strict", "partial", "fine", "network", "bug", "map"]) {
    void runtime.execute({ name }, { onError: "throw" }).then(
      () => thrown.set(name, false),
      (error: unknown) => thrown.set(name, error instanceof ToolExecutionError),
    );
  }
  await ports.clock.advance(10);
  expect(Object.fromEntries(thrown)).toEqual({
    nowhere: false,
    denied: false,
    destroy: false,
    deaf: false,
    strict: false,
    partial: false,
    fine: false,
    network: true,
    bug: true,
    map: true,
  });
});

test("F1.50 permission is checked before the input, the input before the turn's rules, and those before approval", async () => {
  const asked: string[] = [];
  const { runtime } = testRuntime({
    permission: { deny: ["*::denied"] },
    approval: { always: ["*"], approve: ({ toolName }) => (asked.push(toolName), "allow-once") },
    tools: ["denied", "strict", "once"].map((name) =>
      tool(name, () => "ran", { oncePerTurn: true, inputSchema: { type: "object", properties: { n: { type: "integer" } } } }),
    ),
  });
  const calls = [
    { name: "denied", input: { n: "x" } },
    { name: "strict", input: { n: "x" } },
    { name: "strict" },
    { name: "once" },
    { name: "once" },
  ];
  const results = await runtime.execute(calls);
  expect(results.map((result) => result.error?.code ?? result.output)).toEqual([
    "permission_denied",
    "invalid_input",
    "ran",
    "ran",
    "limit_exceeded",
  ]);
  expect(asked).toEqual(["default::strict", "default::once"]);
});

test("H12 an approval given after the call has ended has no effect", async () => {
  const door = gate<"allow-once">();
  let ran = 0;
  const world = testRuntime({
    approval: { always: ["*"], approve: () => door.promise },
    tools: [tool("t", () => ++ran, { deadlineMs: 50 })],
  });
  const pending = world.runtime.execute({ name: "t" });
  await world.ports.clock.advance(50);
  const result = await pending;
  door.open("allow-once");
  await settle();
  expect([result.error?.code, ran, world.events.at(-1)?.type]).toEqual(["approval_denied", 0, "call-end"]);
});

test("C12 removing the tool, disabling the toolset or closing the session during a call still leaves it one result", async () => {
  const door = gate<string>();
  const { runtime, events } = testRuntime({ tools: [tool("t", () => door.promise, { maxResultBytes: 100, ...writes })] });
  const session = runtime.session("s");
  const pending = session.execute([{ name: "t" }, { name: "t" }]);
  await settle();
  runtime.registry.unregister("t");
  runtime.registry.setEnabled("default", false);
  void session.close();
  door.open("x".repeat(500));
  const results = await pending;
  expect(results.map((result) => [result.status, result.truncation?.handle])).toEqual([
    ["ok", undefined],
    ["ok", undefined],
  ]); // nobody could read it
  expect([session.history.length, events.filter((event) => event.type === "call-end").length]).toEqual([2, 2]);
});

test("an empty batch and one of 5,000 calls are answered in order, also sequentially, in linear time", async () => {
  const engine: Engine = { kind: "test", order: "sequential", call: async ({ input }) => input["n"] };
  const runtime = createRuntime({
    tools: [tool("t", async (input) => input["n"])],
    toolsets: [{ name: "lm", engine, tools: [{ name: "say", description: "", inputSchema: {}, effects: { reads: [] } }] }],
  });
  expect(await runtime.execute([])).toEqual([]);
  const numbers = Array.from({ length: 5_000 }, (_, n) => n);
  for (const name of ["t", "say"]) {
    const before = process.cpuUsage();
    const results = await runtime.execute(numbers.map((n) => ({ name, input: { n } })));
    expect(results.map((result) => result.output)).toEqual(numbers);
    expect(process.cpuUsage(before).user).toBeLessThan(3_000_000); // some 50,000 µs; 7,000,000 when each call waits for each earlier one
  }
});

test("a handler may call tools that use other keys or its own, and waits for neither", async () => {
  const call = (name: string) => async (_: unknown, context: ToolContext) =>
    (await world.runtime.execute({ name })).output ?? context.callId;
  const world = testRuntime({
    tools: [
      tool("inner", () => "ran", writes),
      tool("beside", call("inner"), { effects: { writes: ["y"] } }),
      tool("itself", call("inner"), { ...writes, timeoutMs: 100 }),
    ],
  });
  expect((await world.runtime.execute({ name: "beside" })).output).toBe("ran");
  expect((await world.runtime.execute({ name: "itself" })).output).toBe("ran");
  expect([world.runtime.running, world.runtime.counters.orphans, world.ports.clock.pending]).toEqual([[], 0, 0]);
});

test("calls that wait for a slot of their tool do not take a slot of the toolset from other tools", async () => {
  const door = gate();
  const { runtime } = testRuntime({
    toolsets: [{ name: "s", maxConcurrent: 2, tools: [tool("one", () => door.promise, { maxConcurrent: 1 }), tool("other", () => "ran")] }],
  });
  const waiting = runtime.execute([{ name: "one" }, { name: "one" }, { name: "one" }]);
  await settle();
  expect((await runtime.execute({ name: "other" })).output).toBe("ran");
  door.open();
  await waiting;
});

test("recorded values are frozen, and a truncated result of a call without a session has no handle", async () => {
  const { runtime, events } = testRuntime({
    tools: [
      tool("t", () => "x".repeat(500), { maxResultBytes: 100 }),
      tool("fail", () => Promise.reject(new ToolError("not_found", "no", { details: ["a"] }))),
    ],
  });
  const session = runtime.session();
  const [cut, failed] = await session.execute([{ name: "t", input: { deep: { list: [] } } }, { name: "fail" }]);
  const parts = [...session.log, cut, cut?.repairs, cut?.warnings, failed?.error, failed?.error?.details];
  expect(parts.map((part) => Object.isFrozen(part))).toEqual(parts.map(() => true));
  expect(events.filter((event) => event.type === "call-end")).toEqual(session.log.filter((event) => event.type === "call-end"));
  expect(cut?.truncation?.handle).toBe(cut?.callId);
  const bare = await runtime.execute({ name: "t" });
  expect([bare.truncation?.handle, String(bare.output).includes("read_result")]).toEqual([undefined, false]);
});

test("F2.18 without validation a text input is still parsed as JSON, and a value that is not an object is rejected", async () => {
  const { runtime } = testRuntime({
    tools: [tool("t", (input) => input, { inputSchema: { type: "object", required: ["b"] }, validate: () => ["never asked"] })],
  });
  const results = await Promise.all(
    ['{"a":1}', [1], null, { a: "x" }].map((input) => runtime.execute({ name: "t", input }, { validate: false })),
  );
  expect(results.map((result) => result.error?.code ?? result.output)).toEqual([{ a: 1 }, "invalid_input", {}, { a: "x" }]);
});

test("F0.8 the overload is chosen that fits the values after coercion of strings", async () => {
  const find = (key: string) =>
    tool("find", () => key, { inputSchema: { type: "object", properties: { [key]: {} }, required: [key], additionalProperties: false } });
  const { runtime } = testRuntime({ toolsets: [{ name: "geo", overloads: true, tools: [find("city"), find("id")] }] });
  const results = await Promise.all(['{"id":5}', { city: "Oslo" }, "no JSON"].map((input) => runtime.execute({ name: "find", input })));
  expect(results.map((result) => result.error?.code ?? result.output)).toEqual(["id", "city", "invalid_input"]);
});

test("F0.8 run_in_background counts as input when the overload of a call that no model made is chosen and recorded", async () => {
  const city = { type: "string" };
  const find = (inputSchema: JsonSchema) => tool("find", (input) => Object.keys(input), { inputSchema, effects: { reads: [] } });
  const closed = find({ type: "object", properties: { city }, required: ["city"], additionalProperties: false });
  const open = find({ type: "object", properties: { city } });
  const { runtime } = testRuntime({ toolsets: [{ name: "geo", overloads: true, tools: [closed, open] }] });
  const session = runtime.session("s");
  const [flagged, other] = await session.execute([
    { name: "geo::find", input: { city: "Oslo", run_in_background: true } },
    { name: "geo::find", input: { city: "Oslo", day: 1 } },
  ]);
  expect([flagged?.output, other?.output]).toEqual([
    ["city", "run_in_background"],
    ["city", "day"],
  ]);
  const recorded = session.log.flatMap((event) => (event.type === "call-start" ? [event.overload] : []));
  expect(recorded).toEqual([expect.any(String), recorded[0]]);
  await runtime.close();
});
