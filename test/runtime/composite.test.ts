/** Tools that only make other calls: chains, delegates, programs. */
import { describe, expect, test } from "vitest";
import { ToolOutput } from "../../src/core/content.ts";
import type { ToolContext } from "../../src/core/context.ts";
import type { Effects } from "../../src/core/resources/effects.ts";
import { ToolError } from "../../src/core/error.ts";
import type { Hook } from "../../src/core/hook.ts";
import type { JsonObject } from "../../src/core/base/json.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createChain } from "../../src/compose/chain/chain.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool } from "./bench-runtime.ts";
import { FailingStore } from "./session/failing-store.ts";

const MONEY: Effects = { writes: ["money"], external: true };

function composite(name: string, execute: (input: JsonObject, context: ToolContext) => unknown, more: Partial<Tool> = {}): Tool {
  return { name, description: name, inputSchema: { type: "object" }, composite: true, execute, ...more };
}

const chainOf = (...names: readonly string[]): Tool =>
  createChain(names.map((name) => ({ tool: name, outputKey: name }))).toTool({ name: "all", description: "Does it all" });

describe("a composite tool", () => {
  test("makes its calls in the session of its own call, recorded as nested calls", async () => {
    const { runtime, events } = testRuntime({
      tools: [tool("pay", () => ({ paid: 1 }), { effects: MONEY }), tool("mail", () => "sent"), chainOf("pay", "mail")],
    });
    const session = runtime.session("s");
    const result = await session.execute({ name: "all", input: { to: "Ann" } });
    expect(result).toMatchObject({ status: "ok", output: { pay: { paid: 1 }, mail: "sent" } });
    const starts = events.flatMap((event) => (event.type === "call-start" ? [[event.call.name, event.parentCallId]] : []));
    expect(starts).toEqual([
      ["all", undefined],
      ["pay", result.callId],
      ["mail", result.callId],
    ]);
    expect(session.history.map(({ call }) => call.name)).toEqual(["all", "pay", "mail"]);
  });

  test("records its calls under the right parent when one message calls it several times", async () => {
    const { runtime, events } = testRuntime({ tools: [tool("look", () => 1), chainOf("look")] });
    const results = await runtime.session("s").turn(async (turn) => {
      const round = turn.round();
      for (let count = 0; count < 2; count++) round.add({ name: "all", input: {} });
      return await round.end({ content: "", finish: "calls", usage: { inputTokens: 1, outputTokens: 1 } });
    });
    const parents = events.flatMap((event) => (event.type === "call-start" ? [event.parentCallId] : []));
    expect(parents).toEqual([undefined, undefined, ...results.map(({ callId }) => callId)]);
  });

  test("hides its nested calls from models and shows its answer; nested calls of an ordinary handler are shown", async () => {
    const asks = tool("asks", (_input, { execute }) => execute({ name: "look" }).then(({ output }) => output));
    const { runtime } = testRuntime({ tools: [tool("look", () => 1), chainOf("look"), asks] });
    const session = runtime.session("s");
    await session.execute([{ name: "all" }, { name: "asks" }]);
    const shown = session.messages().map((message) => (message.role === "call" ? message.call.name : message.role));
    expect(shown).toEqual(["all", "asks", "result", "result", "look", "result"]);
    const copy = runtime.session("copy", { from: await session.snapshot() });
    expect(copy.messages()).toEqual(session.messages());
  });

  test("needs no approval while it is only simulated, unless its calls may have real effects", async () => {
    const asked: unknown[] = [];
    const { runtime } = testRuntime({
      tools: [tool("look", () => 1), chainOf("look")],
      approval: { always: ["default::all"], approve: ({ simulated }) => (asked.push(simulated), "allow-once") },
    });
    const session = runtime.session();
    for (const options of [{}, { allowSideEffects: true } as const]) {
      const { results } = await session.simulate({ name: "all" }, options);
      expect(results[0]?.status).toBe("ok");
    }
    expect(asked).toEqual([true]);
  });

  test("holds neither locks nor slots, so that its calls can use them", async () => {
    const pay = tool("pay", () => "paid", { effects: MONEY });
    const { runtime } = testRuntime({ toolsets: [{ name: "shop", maxConcurrent: 1, tools: [pay, chainOf("pay")] }], maxConcurrent: 1 });
    const results = await runtime.session().execute([{ name: "all" }, { name: "all" }]);
    expect(results.map(({ status }) => status)).toEqual(["ok", "ok"]);
  });

  test("is simulated with its calls: writes do not run, and the diff lists them as pretended", async () => {
    let paid = 0;
    const stands = { kind: "stub", origin: "stub", call: () => Promise.resolve("would pay") } as const;
    const { runtime } = testRuntime({ tools: [tool("pay", () => ++paid, { effects: MONEY }), chainOf("pay")], standIn: stands });
    const session = runtime.session();
    const { results, diff } = await session.simulate({ name: "all" });
    expect(results).toMatchObject([{ status: "ok", output: { pay: "would pay" } }]);
    expect(diff.pretended).toHaveLength(1);
    expect(paid).toBe(0);
  });

  test("gives its calls the rights of its caller, and asks about each that needs approval", async () => {
    const asked: string[] = [];
    const { runtime } = testRuntime({
      tools: [tool("pay", () => "paid", { effects: { ...MONEY, destructive: true } }), tool("look", () => 1), chainOf("look", "pay")],
      approval: { approve: ({ toolName }) => (asked.push(toolName), "deny") },
    });
    const session = runtime.session();
    const denied = await session.execute({ name: "all" });
    expect(asked).toEqual(["default::pay"]);
    expect(denied).toMatchObject({
      status: "error",
      error: {
        code: "execution_failed",
        details: ["Step 0: default::look ended with the status ok.", "Step 1: default::pay ended with the status error."],
      },
    });
    const narrow = await session.execute({ name: "all" }, { allow: { deny: ["default::look"] } });
    expect(narrow).toMatchObject({ status: "error", error: { message: expect.stringContaining("look") } });
    const alone = await runtime.execute({ name: "all" }, { allow: { deny: ["default::look"] } });
    expect(alone).toMatchObject({ status: "error", error: { message: expect.stringContaining("look") } });
  });

  test("cancels its running nested call when it is cancelled, and starts no other", async () => {
    const begun: string[] = [];
    const cancel = new AbortController();
    const slow = tool("slow", async (_input, { signal }) => {
      begun.push("slow");
      cancel.abort();
      await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    });
    const { runtime } = testRuntime({ tools: [slow, tool("next", () => begun.push("next")), chainOf("slow", "next")] });
    const result = await runtime.session().execute({ name: "all" }, { signal: cancel.signal });
    expect(result.status).toBe("cancelled");
    await settle();
    expect(begun).toEqual(["slow"]);
  });

  test("allows nested calls three levels deep, and no deeper", async () => {
    const { runtime } = testRuntime({
      tools: [
        composite("down", async (_input, { execute }) => {
          const { output, error } = await execute({ name: "down" });
          return error === undefined ? [output ?? null] : error.message;
        }),
      ],
    });
    for (const target of [runtime, runtime.session()]) {
      const { output } = await target.execute({ name: "down" });
      expect(output).toEqual([["default::down was not run: it is called inside 3 composite tools, and that is the limit."]]);
    }
  });

  test("makes no more calls after its own call has ended", async () => {
    let late: Promise<unknown> | undefined;
    const { runtime } = testRuntime({
      tools: [
        tool("look", () => 1),
        composite("leaks", (_input, { execute }) => {
          late = new Promise((resolve) => setTimeout(resolve, 5)).then(() => execute({ name: "look" }));
          return "over";
        }),
      ],
    });
    await runtime.session().execute({ name: "leaks" });
    await expect(late).rejects.toMatchObject({ code: "invalid_argument" });
  });

  test("receives whole results even where a model gets truncated ones, in a session and outside", async () => {
    const { runtime } = testRuntime({
      tools: [
        tool("long", () => ({ text: "x".repeat(9_000), last: "word" }), { maxResultBytes: 100 }),
        composite("asks", async (_input, { execute }) => ((await execute({ name: "long" })).output as { last: string }).last),
      ],
    });
    expect(await runtime.session().execute({ name: "asks" })).toMatchObject({ output: "word" });
    expect(await runtime.execute({ name: "asks" })).toMatchObject({ output: "word" });
  });

  test("passes whole answers on outside of a session if it is a chain", async () => {
    const used: unknown[] = [];
    const { runtime } = testRuntime({
      tools: [
        tool("long", () => "x".repeat(9_000), { maxResultBytes: 100 }),
        tool("use", (input) => (used.push(input), 1)),
        createChain([
          { tool: "long", outputKey: "text" },
          { tool: "use", outputKey: "used" },
        ]).toTool({ name: "all", description: "All" }),
      ],
    });
    expect(await runtime.execute({ name: "all" })).toMatchObject({ status: "ok" });
    expect(used).toEqual([{ text: "x".repeat(9_000) }]);
  });

  test("reports an unknown outcome if it is a chain of a chain in which a write ran", async () => {
    const { runtime } = testRuntime({
      tools: [
        tool("pay", () => 1, { effects: MONEY }),
        tool("fail", () => {
          throw new ToolError("execution_failed", "No.", { outcome: "failed" });
        }),
        createChain([{ tool: "pay", outputKey: "paid" }, { tool: "fail" }]).toTool({ name: "inner", description: "Inner" }),
        createChain([{ tool: "inner" }]).toTool({ name: "outer", description: "Outer" }),
        createChain([{ tool: "fail" }]).toTool({ name: "nothing", description: "Nothing" }),
      ],
    });
    for (const [name, outcome] of [
      ["outer", "unknown"],
      ["nothing", "failed"],
    ] as const)
      expect(await runtime.session().execute({ name })).toMatchObject({ error: { code: "execution_failed", outcome } });
  });

  test.each([
    ["no session", 1],
    ["a session", 3],
    ["a session that keeps no history", 1],
  ])("in %s is attempted %i times at most, and pays once", async (where, attempts) => {
    let paid = 0;
    const { runtime, ports } = testRuntime({
      tools: [
        tool("pay", () => ++paid, { effects: MONEY }),
        composite(
          "buys",
          async (_input, { execute }) => {
            await execute({ name: "pay" });
            throw new ToolError("network_error", "The line is dead.", { retryable: true });
          },
          { maxAttempts: 3 },
        ),
      ],
    });
    const target = where === "no session" ? runtime : runtime.session("s");
    const ends = target.execute({ name: "buys" }, where.endsWith("history") ? { recordHistory: false } : {});
    expect(await ports.clock.run(ends)).toMatchObject({ status: "error", attempts });
    expect(paid).toBe(1);
  });

  test.each([
    ["fails", 0, () => Promise.reject(new ToolError("network_error", "reset", { retryable: true }))],
    ["is cut off with it", 100, () => new Promise(() => {})],
  ])("is not retried where a nested call %s, since it would get the recorded result again", async (_, timeoutMs, part) => {
    let runs = 0;
    const { runtime, ports } = testRuntime({
      tools: [
        tool("part", part, { maxAttempts: 2 }),
        composite(
          "all",
          async (_input, { execute }) => {
            runs++;
            const [result] = await execute([{ name: "part" }]);
            throw new ToolError("network_error", result?.error?.message ?? "It was answered.", { retryable: true });
          },
          { maxAttempts: 4, timeoutMs },
        ),
      ],
    });
    const ends = runtime.session("s").execute({ name: "all" });
    expect(await ports.clock.run(ends)).toMatchObject({ status: "error", attempts: 1 });
    expect(runs).toBe(1);
  });

  test("starts only when the model's message ends: a voided message has paid nothing", async () => {
    let paid = 0;
    const { runtime } = testRuntime({ tools: [tool("pay", () => ++paid, { effects: MONEY }), chainOf("pay")] });
    const ends = await runtime.session().turn(async (turn) => {
      const voided = turn.round();
      voided.add({ name: "all", input: {} });
      await settle();
      await voided.void("the model began anew");
      expect(paid).toBe(0);
      const said = turn.round();
      said.add({ name: "all", input: {} });
      return await said.end({ content: "", finish: "calls", usage: { inputTokens: 1, outputTokens: 1 } });
    });
    expect(ends).toMatchObject([{ status: "ok", output: { pay: 1 } }]);
  });

  test("may not declare effects, as its calls declare them", () => {
    expect(() => testRuntime({ tools: [composite("x", () => 1, { effects: { writes: ["a"] } })] })).toThrow(/composite/u);
  });

  test.each(["an option that there is not", "a call that is none"])(
    "that makes its call with %s gets an error that names it",
    async (kind) => {
      const { runtime } = testRuntime({
        tools: [
          composite("wrong", async (_input, { execute }) => {
            const result = await (kind === "a call that is none"
              ? execute(3 as never)
              : execute({ name: "wrong" }, { sginal: 1 } as never));
            return result.error ?? "fine";
          }),
        ],
      });
      const result = await runtime.session().execute({ name: "wrong" });
      expect(JSON.stringify(result)).toMatch(kind === "a call that is none" ? /invalid_call/u : /sginal/u);
    },
  );
});

describe("a composite tool after a crash", () => {
  async function crashIn(
    background: boolean,
  ): Promise<{ store: FailingStore; log: string[]; tools: (stuck: boolean) => readonly Tool[]; id: string }> {
    const log: string[] = [];
    const tools = (stuck: boolean): readonly Tool[] => [
      tool("book", () => (log.push("book"), { booking: log.length }), { effects: MONEY }),
      tool("look", () => (log.push("look"), stuck ? new Promise(() => {}) : { seen: true }), { effects: { reads: ["x"] } }),
      tool("mail", () => (log.push("mail"), { sent: true }), { effects: MONEY }),
      createChain([{ tool: "book" }, { tool: "look" }, { tool: "mail", inputMapping: { id: "booking" } }]).toTool({
        name: "trip",
        description: "Trip",
      }),
    ];
    const store = new FailingStore();
    const session = testRuntime({ store, tools: tools(true) }).runtime.session("s");
    await session.addMessage({ role: "user", content: "go" });
    const call = { name: "trip" };
    const id = background ? (await session.submit(call)).id : "";
    if (!background) void session.execute(call, { idempotencyKey: "k" }).catch(() => {});
    await settle();
    await store.logs.get("s")?.whenDurable();
    return { store: store.crash(), log, tools, id };
  }

  test.each([false, true])("continues after the calls that had ended, as a background job: %s", async (background) => {
    const { store, log, tools, id } = await crashIn(background);
    expect(log).toEqual(["book", "look"]);
    let ids = 0;
    const { runtime, events } = testRuntime({ store, tools: tools(false), ports: { ids: { next: (prefix) => `${prefix}_late${++ids}` } } });
    const session = await runtime.resume("s");
    if (background) await runtime.jobs.wait(id);
    expect(log).toEqual(["book", "look", "look", "mail"]);
    const ended = session.history.map(({ call, result }) => [call.name, result?.status]);
    expect(ended).toEqual([
      ["trip", "ok"],
      ["book", "ok"],
      ["look", "ok"],
      ["mail", "ok"],
    ]);
    expect(session.history[0]?.result?.output).toEqual({ booking: 1, seen: true, sent: true });
    expect(events.filter(({ type }) => type === "call-end")).toHaveLength(3);
    if (!background) {
      const [again] = await session.execute([{ name: "trip" }], { idempotencyKey: "k" });
      expect(again).toMatchObject({ status: "ok", output: { sent: true } });
      expect(log).toHaveLength(4);
    }
  });

  test.each(["a tool", "a tool in the background", "run by a program"])("continues with whole answers, as %s", async (kind) => {
    const used: unknown[] = [];
    const chain = createChain([{ tool: "long" }, { tool: "look" }, { tool: "use", inputMapping: { word: "last" } }]);
    const start = (store: FailingStore, process: number): ReturnType<typeof testRuntime> => {
      let ids = 0;
      return testRuntime({
        store,
        ports: { ids: { next: (prefix) => `${prefix}_${process}_${++ids}` } },
        tools: [
          tool("long", () => ({ text: "x".repeat(9_000), last: "word" }), { maxResultBytes: 100, effects: MONEY }),
          tool("look", () => (process === 0 ? new Promise(() => {}) : {}), { effects: { reads: ["x"] } }),
          tool("use", (input) => (used.push(input), "used"), { effects: MONEY }),
          chain.toTool({ name: "all", description: "Does it all" }),
        ],
      });
    };
    const before = new FailingStore();
    const session = start(before, 0).runtime.session("s");
    await session.addMessage({ role: "user", content: "go" });
    if (kind === "run by a program") void chain.run(session, {}, { idempotencyKey: "k" });
    else void session.execute({ name: "all" }, { background: kind !== "a tool" });
    await settle();
    await before.logs.get("s")?.whenDurable();
    const resumed = await start(before.crash(), 1).runtime.resume("s");
    if (kind === "run by a program") await chain.run(resumed, {}, { idempotencyKey: "k" });
    await settle();
    expect(used).toEqual([{ word: "word" }]);
  });
});

test("a snapshot can be taken while a nested call of a cancelled background job still runs", async () => {
  const hold = gate();
  const outer = tool("outer", (): unknown => session.execute({ name: "slow" }), { mode: "background", timeoutMs: 0 });
  const { runtime } = testRuntime({ tools: [tool("slow", () => hold.promise), outer] });
  const session = runtime.session("s");
  const job = await session.submit({ name: "outer" });
  await settle();
  runtime.jobs.cancel(job.id, "Enough.");
  await runtime.jobs.wait(job.id);
  const copy = runtime.session("copy", { from: await session.snapshot() });
  expect(copy.history.map(({ call, result }) => [call.name, result?.status])).toEqual([
    ["outer", "cancelled"],
    ["slow", undefined],
  ]);
  hold.open();
});

test("hooks cannot change the report of a delegate, even if they fail, and can change other metadata", async () => {
  const delegate = { calls: 2 };
  const hooked = { delegate: { calls: 0 }, hooked: true };
  const answer = (): ToolOutput => new ToolOutput({ output: 1, metadata: { delegate, more: true } });
  const metadataWith = async (afterCall: NonNullable<Hook["afterCall"]>): Promise<unknown> => {
    const hooks = [{ name: "hook", onFailure: "stop", afterCall }] as const;
    const { runtime } = testRuntime({ hooks, tools: [composite("agent", answer), tool("plain", answer)] });
    return (await runtime.execute([{ name: "agent" }, { name: "plain" }])).map(({ metadata }) => metadata);
  };
  expect(await metadataWith((result) => ({ ...result, metadata: hooked }))).toEqual([{ ...hooked, delegate }, hooked]);
  expect(await metadataWith(() => Promise.reject(new Error("The hook is down.")))).toEqual([{ delegate }, undefined]);
});
