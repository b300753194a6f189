import { expect, test } from "vitest";
import type { ToolContext } from "../../src/core/context.ts";
import type { Engine } from "../../src/core/engine.ts";
import { toolFromJson } from "../../src/registry/tool-definition.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool } from "./bench-runtime.ts";

test("five parallel read-modify-write edits of one file are all kept, and reads of other keys overlap with them", async () => {
  const files = new Map([
    ["a", ""],
    ["b", "hello"],
  ]);
  let reading = 0;
  let mostReading = 0;
  const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const { runtime } = testRuntime({
    tools: [
      tool(
        "append",
        async (input) => {
          const before = files.get("a") ?? "";
          await pause();
          files.set("a", before + String(input["text"]));
        },
        { effects: { writes: ["file:/a"] } },
      ),
      tool(
        "read",
        async (input) => {
          mostReading = Math.max(mostReading, ++reading);
          await pause();
          reading--;
          return files.get(String(input["path"]));
        },
        { effects: { reads: (input) => [`file:/${String(input["path"])}`] } },
      ),
    ],
  });
  const results = await runtime.execute(
    ["1", "2", "3", "4", "5"].flatMap((text) => [
      { name: "append", input: { text } },
      { name: "read", input: { path: "b" } },
    ]),
  );
  expect(results.every((result) => result.status === "ok")).toBe(true);
  expect(files.get("a")).toBe("12345");
  expect(mostReading).toBe(5);
});

test("F1.16 undeclared tools never overlap, reads do, and the wait is reported in milliseconds", async () => {
  const doors = [gate(), gate()];
  let running = 0;
  let most = 0;
  const unsafe = tool("unsafe", async (input) => {
    most = Math.max(most, ++running);
    await doors[Number(input["door"])]?.promise;
    running--;
  });
  const { effects: _none, ...undeclared } = unsafe;
  const { runtime, ports, events } = testRuntime({ tools: [undeclared] });
  const pending = runtime.execute([
    { name: "unsafe", input: { door: 0 } },
    { name: "unsafe", input: { door: 1 } },
  ]);
  await ports.clock.advance(25);
  doors[0]?.open();
  await settle();
  doors[1]?.open();
  await pending;
  expect(most).toBe(1);
  expect(events.filter((event) => event.type === "call-wait").map((event) => [event.waitMs, event.reason, event.waitedFor])).toEqual([
    [25, "lock", ["call_1"]],
  ]);
  expect(ports.log.lines.filter((line) => line.message.includes("declares no effects")).length).toBe(1);
});

/** One lock for each toolset, and not one for all, deliberately: docs/decisions/0060-one-lock-for-each-toolset.md. */
test("F1.16 undeclared tools of one toolset never overlap; those of two toolsets and concurrency-safe ones do", async () => {
  const running = new Set<string>();
  const met = new Set<string>();
  const named = (name: string, more: object = {}) => ({
    ...toolFromJson({ name, ...more }).tool,
    execute: async () => {
      for (const other of running) met.add([other, name].sort().join("+"));
      running.add(name);
      await settle();
      running.delete(name);
    },
  });
  const { runtime } = testRuntime({
    toolsets: [
      {
        name: "forge",
        tools: [named("hammer"), named("cast"), named("look", { concurrency_safe: true }), named("ask", { concurrency_safe: true })],
      },
      { name: "field", tools: [named("plough")] },
    ],
  });
  await runtime.execute(["forge::hammer", "forge::cast", "forge::look", "forge::ask", "field::plough"].map((name) => ({ name })));
  expect([...met].filter((pair) => !pair.includes("plough"))).toEqual(["ask+look"]);
  expect(met).toContain("hammer+plough");
});

test("F4.19 calls of one message run concurrently, and their results are in call order", async () => {
  const doors = [gate(), gate(), gate()];
  const { runtime } = testRuntime({
    tools: [
      tool("wait", async (input) => {
        await doors[Number(input["n"])]?.promise;
        return input["n"] ?? null;
      }),
    ],
  });
  const pending = runtime.execute([0, 1, 2].map((n) => ({ name: "wait", input: { n } })));
  for (const door of doors.toReversed()) {
    door.open();
    await settle();
  }
  expect((await pending).map((result) => result.output)).toEqual([0, 1, 2]);
});

test("maxConcurrent applies to the runtime, a toolset and a tool", async () => {
  let running = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
  };
  const run = async (options: Parameters<typeof testRuntime>[0], name: string): Promise<number> => {
    most = 0;
    const results = await testRuntime(options).runtime.execute(Array.from({ length: 20 }, () => ({ name })));
    expect(results.every((result) => result.status === "ok")).toBe(true);
    return most;
  };
  expect(await run({ maxConcurrent: 4, tools: [tool("w", work)] }, "w")).toBe(4);
  expect(await run({ toolsets: [{ name: "s", maxConcurrent: 3, tools: [tool("w", work)] }] }, "w")).toBe(3);
  expect(await run({ tools: [tool("w", work, { maxConcurrent: 2 })] }, "w")).toBe(2);
});

test("B18 a session with many calls does not keep another one waiting", async () => {
  let served = 0;
  const { runtime, ports } = testRuntime({
    maxConcurrent: 1,
    tools: [
      tool("w", async () => {
        await new Promise((resolve) => setImmediate(resolve));
        return ++served;
      }),
    ],
  });
  const flood = runtime.session().execute(Array.from({ length: 2_000 }, () => ({ name: "w" })));
  await ports.clock.advance(0);
  const one = await runtime.session().execute({ name: "w" });
  expect(Number(one.output)).toBeLessThan(100);
  await flood;
});

test("a sequential engine starts a call when every earlier call of the batch has settled", async () => {
  const order: string[] = [];
  const door = gate();
  const slow: Engine = {
    kind: "test",
    order: "sequential",
    call: async ({ input }) => {
      order.push(`start ${String(input["n"])}`);
      if (input["n"] === 1) await door.promise;
      order.push(`end ${String(input["n"])}`);
      return null;
    },
  };
  const { runtime } = testRuntime({
    toolsets: [{ name: "lm", engine: slow, tools: [{ name: "say", description: "Says.", inputSchema: {}, effects: { reads: [] } }] }],
    tools: [
      tool("local", async () => {
        order.push("local");
      }),
    ],
  });
  await runtime.open();
  const pending = runtime.execute([{ name: "say", input: { n: 1 } }, { name: "local" }, { name: "say", input: { n: 2 } }]);
  await settle();
  expect(order).toEqual(["start 1", "local"]);
  door.open();
  await pending;
  expect(order).toEqual(["start 1", "local", "end 1", "start 2", "end 2"]);
});

test("F3.23 F3.25 ten safe calls run; a dangerous tool runs once a turn and again in the next", async () => {
  let explosions = 0;
  const { runtime } = testRuntime({
    tools: [tool("look", () => 1, { category: "SAFE_CHAIN" }), tool("explode", () => ++explosions, { category: "DANGEROUS" })],
  });
  const session = runtime.session();
  const looks = await session.execute(Array.from({ length: 10 }, () => ({ name: "look" })));
  expect(looks.every((result) => result.status === "ok")).toBe(true);
  const turn = await session.execute([{ name: "explode" }, { name: "explode" }]);
  const next = await session.execute({ name: "explode" });
  expect([...turn, next].map((result) => result.error?.code ?? result.output)).toEqual([1, "limit_exceeded", 2]);
});

test("F3.25 a call that did not run frees its once-per-turn tool, also when nested, and does not undo another call's turn end", async () => {
  const answers = ["deny", "allow-once", "deny"] as const;
  let asked = 0;
  const approval = { always: ["*::once"], approve: () => answers[asked++] ?? "deny" };
  const codes: unknown[] = [];
  const { runtime } = testRuntime({
    approval,
    tools: [
      tool("once", () => "ran", { oncePerTurn: true }),
      tool("finish", () => "done", { endsTurn: true }),
      tool("twice", async (_, { execute }) => {
        for (let times = 0; times < 2; times++) codes.push((await execute({ name: "once" })).error?.code ?? "ok");
      }),
    ],
  });
  const session = runtime.session();
  await session.execute({ name: "twice" });
  expect(codes).toEqual(["approval_denied", "ok"]);
  await session.turn(async (turn) => {
    const round = turn.round();
    for (const name of ["once", "finish"]) round.add({ name, input: {} });
    const results = await round.end({ content: "", finish: "calls", usage: { inputTokens: 1, outputTokens: 1 } });
    expect([results.map(({ error }) => error?.code), turn.endedBy]).toEqual([["approval_denied", undefined], "default::finish"]);
  });
});

test.each([true, false])(
  "F3.25 a dangerous tool runs once a turn with the calls of handlers, at any depth (in a session: %s)",
  async (inSession) => {
    let launches = 0;
    const codes: unknown[] = [];
    const twice = async (execute: ToolContext["execute"], name: string): Promise<void> => {
      for (let times = 0; times < 2; times++) codes.push((await execute({ name })).error?.code ?? "ok");
    };
    const tools = [
      tool("launch", () => ++launches, { category: "DANGEROUS" }),
      tool("twice", async (_, { execute }) => await twice(execute, "launch")),
      tool("outer", async (_, { execute }) => await twice(execute, "twice")),
    ];
    const { runtime } = testRuntime({ tools });
    const target = inSession ? runtime.session() : runtime;
    await target.execute([{ name: "outer" }]);
    expect(codes).toEqual(["ok", "limit_exceeded", "ok", "limit_exceeded", "limit_exceeded", "ok"]);
    const results = await target.execute([{ name: "launch" }, { name: "twice" }]);
    expect([results[0]?.status, codes.slice(6), launches]).toEqual(["ok", ["limit_exceeded", "limit_exceeded"], 2]);
    await target.execute({ name: "twice" });
    expect([codes.slice(8), launches]).toEqual([["ok", "limit_exceeded"], 3]);
  },
);

test("F3.24 a terminal tool ends the turn: later calls of the message are skipped, each with its result", async () => {
  let ran = 0;
  const { runtime } = testRuntime({ tools: [tool("say", () => "said", { category: "TERMINAL" }), tool("look", () => ++ran)] });
  const results = await runtime.execute([{ name: "look" }, { name: "say" }, { name: "look" }, { name: "nowhere" }]);
  expect(results.map((result) => result.status)).toEqual(["ok", "ok", "skipped", "skipped"]);
  expect(ran).toBe(1);
});

test("F4.25 F4.26 onError throw cancels and awaits the other calls, rolls the session back, and the error has the results", async () => {
  const { runtime, ports } = testRuntime({
    tools: [
      tool("set", (input, context) => {
        context.state.update("k", () => Number(input["n"]));
        return context.state.get("k") ?? null;
      }),
      tool("boom", () => Promise.reject(new Error("boom"))),
      tool("wait", () => new Promise(() => {})),
    ],
  });
  const session = runtime.session();
  await session.execute({ name: "set", input: { n: 1 } });
  const before = session.history;
  const thrown: unknown = await session
    .execute([{ name: "set", input: { n: 2 } }, { name: "boom" }, { name: "wait" }], { onError: "throw" })
    .catch((error: unknown) => error);
  expect(thrown).toMatchObject({ name: "ToolExecutionError", message: "default::boom: boom" });
  expect((thrown as { results: { status: string }[] }).results.map((result) => result.status)).toEqual(["ok", "error", "cancelled"]);
  expect(session.history).toEqual(before);
  expect((await session.execute({ name: "set", input: { n: 3 } }, { recordHistory: false })).output).toBe(3);
  expect(ports.log.lines.some((line) => line.message === "A batch was rolled back: default::boom: boom")).toBe(true);
  const invalid = await session.execute([{ name: "nowhere" }], { onError: "throw" });
  expect(invalid[0]?.error?.code).toBe("not_found");
});

test("F4.25 F4.26 onAlert is called once with the thrown cause, after the rollback and before the batch throws", async () => {
  const thrown = new RangeError("the mill stands still");
  const order: unknown[] = [];
  const { runtime, ports } = testRuntime({
    onAlert: (error) => {
      order.push(["alert", error.result.name, error.cause, session.history.length]);
      throw new Error("nobody listens");
    },
    tools: [
      tool("grind", () => "flour"),
      tool("crush", () => {
        throw thrown;
      }),
    ],
  });
  const session = runtime.session();
  await session.execute({ name: "crush" });
  const failing = session.execute([{ name: "grind" }, { name: "crush" }], { onError: "throw" });
  await failing.catch((error: Error) => order.push(["thrown", error.message, error.cause]));
  expect(order).toEqual([
    ["alert", "default::crush", thrown, 1],
    ["thrown", "default::crush: the mill stands still", thrown],
  ]);
  expect(ports.log.lines.map(({ message }) => message).filter((line) => !line.startsWith("Decision"))).toEqual([
    "onAlert threw: nobody listens",
  ]);
});

test("F4.26 a failed batch undoes calls that succeeded, last first; a failing undo does not stop the others", async () => {
  const undone: unknown[] = [];
  const making = (name: string, fail = false) =>
    tool(name, (input) => input["n"] ?? null, {
      effects: {
        writes: ["w"],
        undo: async ({ input, output }) => {
          if (fail) throw new Error("stuck");
          undone.push([name, input, output]);
        },
      },
    });
  const { runtime, ports } = testRuntime({
    tools: [
      making("one"),
      making("two", true),
      making("three"),
      tool("boom", () => Promise.reject(new Error("boom")), { effects: { writes: ["w"] } }),
    ],
  });
  const calls = [{ name: "one", input: { n: 1 } }, { name: "two", input: { n: 2 } }, { name: "three", input: { n: 3 } }, { name: "boom" }];
  await expect(runtime.session().execute(calls, { onError: "throw" })).rejects.toThrow("boom");
  expect(undone).toEqual([
    ["three", { n: 3 }, 3],
    ["one", { n: 1 }, 1],
  ]);
  expect(ports.log.lines.map((line) => line.message)).toContain("The effects of default::two (call_2) were not undone: stuck");
});

test("a call that ran is undone even if a hook withheld its answer, or if it was cancelled during a hook", async () => {
  for (const isVetoed of [true, false]) {
    const done: string[] = [];
    const effects = { writes: ["a"], undo: () => void done.push("undo pay") };
    const door = gate();
    const { runtime } = testRuntime({
      tools: [
        tool("pay", () => void done.push("pay"), { effects }),
        tool("boom", () => Promise.reject(new Error("boom")), { effects: { writes: ["b"] } }),
      ],
      hooks: [
        {
          name: "judge",
          onFailure: "stop",
          async afterCall({ name }) {
            if (name === "default::pay" && isVetoed) throw new Error("no");
            if (name === "default::pay") await door.promise;
          },
        },
      ],
    });
    await expect(runtime.session().execute([{ name: "pay" }, { name: "boom" }], { onError: "throw" })).rejects.toThrow();
    expect(done).toEqual(["pay", "undo pay"]);
    await runtime.close();
  }
});

test("nested calls are undone in order: after the calls that came later", async () => {
  const done: string[] = [];
  const making = (name: string) =>
    tool(name, () => void done.push(name), { effects: { writes: ["w"], undo: () => void done.push(`undo ${name}`) } });
  const { runtime } = testRuntime({
    tools: [
      making("folder"),
      making("file"),
      tool("prepare", async (_input, { execute }) => void (await execute({ name: "folder" })), { effects: { writes: ["w"] } }),
      tool("boom", () => Promise.reject(new Error("boom")), { effects: { writes: ["w"] } }),
    ],
  });
  const calls = [{ name: "prepare" }, { name: "file" }, { name: "boom" }];
  await expect(runtime.session().execute(calls, { onError: "throw" })).rejects.toThrow("boom");
  expect(done).toEqual(["folder", "file", "undo file", "undo folder"]);
  await runtime.close();
});

test("F3.4 F0.38 the history holds every call with its result, unknown and failed ones too, unless recordHistory is false", async () => {
  const { runtime } = testRuntime({ tools: [tool("echo", (input) => input), tool("fail", () => Promise.reject(new Error("no")))] });
  const session = runtime.session("s1");
  await session.execute([{ name: "echo", input: { a: 1 } }, { name: "fail" }, { name: "nowhere" }]);
  await session.execute({ name: "echo" }, { recordHistory: false });
  expect(session.history.map((entry) => [entry.call.name, entry.result?.status])).toEqual([
    ["echo", "ok"],
    ["fail", "error"],
    ["nowhere", "error"],
  ]);
  expect(() => runtime.session("s1")).toThrow(/is open already/);
  void session.close();
  await session.close();
  await expect(session.execute({ name: "echo" })).rejects.toThrow(/is closed/);
  expect(runtime.session("s1").history).toEqual([]);
});

test("F3.18 counters and the running calls can be read", async () => {
  const door = gate();
  const { runtime } = testRuntime({ tools: [tool("wait", () => door.promise)] });
  const pending = runtime.execute([{ name: "wait" }, { name: "nowhere" }]);
  await settle();
  expect(runtime.running.map((run) => run.name)).toEqual(["default::wait"]);
  door.open();
  await pending;
  expect(runtime.counters).toMatchObject({ calls: 2, attempts: 1, orphans: 0 });
});
