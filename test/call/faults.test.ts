/** What each fault does to a call, whoever answers it. */
import { describe, expect, test } from "vitest";
import type { Engine } from "../../src/core/engine.ts";
import { ToolOutput } from "../../src/core/content.ts";
import { FAULT_TYPES, type FaultRule } from "../../src/core/answers/fault.ts";
import { RemoteJob } from "../../src/core/jobs/remote-job.ts";
import { NoAnswer } from "../../src/core/answers/no-answer.ts";
import type { Tool } from "../../src/core/tool.ts";
import { lmEngine } from "../../src/engine/lm.ts";
import { searchEngine } from "../../src/engine/search.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import type { RuntimeOptions } from "../../src/runtime/runtime.ts";
import { gate, testRuntime, tool, type TestRuntime } from "../runtime/bench-runtime.ts";
import { FailingStore } from "../runtime/session/failing-store.ts";

/** A tool that counts how often it ran. */
function counted(more: Partial<Tool> = {}): { readonly ran: () => number; readonly tool: Tool } {
  let runs = 0;
  return {
    ran: () => runs,
    tool: tool("order", () => (runs++, { id: 12, items: ["a", "b", "c", "d"] }), { effects: { writes: ["orders"] }, ...more }),
  };
}

function runtimeOf(
  rule: Partial<FaultRule> & { readonly type: string },
  tools: readonly Tool[],
  options: RuntimeOptions = {},
): TestRuntime {
  return testRuntime({ tools, faults: { rules: [{ probability: 1, ...rule }] }, ...options });
}

/** What stands in for the world: its answers are nobody's. */
function simulator(answer: () => unknown = () => ({ id: 1 })): { readonly asked: () => number; readonly engine: Engine } {
  let asked = 0;
  return { asked: () => asked, engine: { kind: "lm", origin: "simulated", call: () => (asked++, answer()) } };
}

const DECLARED: Tool = { name: "look", description: "Looks.", inputSchema: { type: "object" }, effects: { reads: ["x"] } };

describe("F0.47 faults of a stand-in engine", () => {
  async function one(type: string, more: Partial<FaultRule> = {}) {
    const { asked, engine } = simulator();
    const { runtime } = testRuntime({
      toolsets: [{ name: "shop", tools: [DECLARED], engine, faults: { rules: [{ type, probability: 1, retryable: false, ...more }] } }],
    });
    await runtime.open();
    const result = await runtime.execute({ name: "look" });
    return { asked: asked(), result };
  }

  test("F0.47 network_error fails at once without asking the engine", async () => {
    const { asked, result } = await one("network_error", { message: "Connection timed out" });
    expect(asked).toBe(0);
    expect(result).toMatchObject({ status: "error", fault: "network_error", attempts: 1, origin: "simulated", fidelity: "unchecked" });
    expect(result.error).toEqual({ code: "network_error", message: "Connection timed out", retryable: false, outcome: "not_started" });
  });

  test("F0.46 F0.47 schema_violation fails with invalid_output without asking the engine", async () => {
    const { asked, result } = await one("schema_violation");
    expect(asked).toBe(0);
    expect(result).toMatchObject({
      status: "error",
      fault: "schema_violation",
      error: { code: "invalid_output", message: "The answer does not fit the output schema of the tool." },
    });
  });

  test("F0.47 unparseable_result succeeds with garbled text without asking the engine", async () => {
    const { asked, result } = await one("unparseable_result");
    expect(asked).toBe(0);
    expect(result).toMatchObject({
      status: "ok",
      fault: "unparseable_result",
      output: "<garbled: Tool execution failed>",
      fidelity: "unchecked",
    });
    expect(result.error).toBeUndefined();
  });

  test("F0.47 empty_result and crash_before_commit do not ask the engine; crash_after_commit and partial_result do", async () => {
    const empty = await one("empty_result");
    expect([empty.asked, empty.result.output, empty.result.status]).toEqual([0, [], "ok"]);
    expect((await one("crash_before_commit")).asked).toBe(0);
    expect((await one("crash_after_commit")).asked).toBe(1);
    const part = await one("partial_result");
    expect([part.asked, part.result.output, part.result.fault]).toEqual([1, {}, "partial_result"]);
  });

  test("F0.47 faults of a stand-in do not open the circuit: every call gets its own fault", async () => {
    const { engine } = simulator();
    const faults = { rules: [{ type: "network_error", probability: 1, retryable: false }] };
    const { runtime } = testRuntime({ toolsets: [{ name: "shop", tools: [DECLARED], engine, faults }] });
    await runtime.open();
    for (let n = 0; n < 50; n++) expect((await runtime.execute({ name: "look", input: { n } })).error?.code).toBe("network_error");
  });

  test("F0.47 an unknown tool is not_found whatever faults are planned", async () => {
    const { runtime } = runtimeOf({ type: "network_error" }, []);
    const result = await runtime.execute({ name: "nowhere" });
    expect([result.error?.code, result.fault]).toEqual(["not_found", undefined]);
  });
});

describe("H09 faults of a real tool", () => {
  test("H09 network_error does not run the handler and is as retryable as a real network error", async () => {
    const { ran, tool: order } = counted();
    const { runtime, ports } = runtimeOf({ type: "network_error", attempts: 1 }, [order]);
    const pending = runtime.execute({ name: "order" });
    await ports.clock.advance(10_000);
    const result = await pending;
    expect(result).toMatchObject({ status: "ok", attempts: 2, fault: "network_error", origin: "live", output: { id: 12 } });
    expect(ran()).toBe(1);
  });

  test("H09 a fault of every attempt is the result of the call; with retryable: false the first attempt is the last", async () => {
    const { ran, tool: order } = counted();
    const all = runtimeOf({ type: "network_error" }, [order]);
    const pending = all.runtime.execute({ name: "order" });
    await all.ports.clock.advance(60_000);
    expect(await pending).toMatchObject({ status: "error", attempts: 4, fault: "network_error" });
    const once = await runtimeOf({ type: "network_error", retryable: false }, [order]).runtime.execute({ name: "order" });
    expect([once.attempts, once.status]).toEqual([1, "error"]);
    expect(ran()).toBe(0);
  });

  test("H09 rate_limited sets retryAfterMs, and the retry waits that long", async () => {
    const { tool: order } = counted();
    const { runtime, ports, trace } = runtimeOf({ type: "rate_limited", attempts: 1, retryAfterMs: 7_000 }, [order]);
    const pending = runtime.execute({ name: "order" });
    await ports.clock.advance(6_999);
    expect(trace()).toEqual(["call-start", "call-attempt", "call-retry"]);
    await ports.clock.advance(1);
    expect(await pending).toMatchObject({ status: "ok", attempts: 2, durationMs: 7_000, fault: "rate_limited" });
    const { runtime: plain } = runtimeOf({ type: "rate_limited", retryable: false }, [order]);
    expect((await plain.execute({ name: "order" })).error).toMatchObject({
      code: "rate_limited",
      retryAfterMs: 1_000,
      outcome: "not_started",
    });
  });

  test("H09 latency waits on the clock, then returns the real answer", async () => {
    const { ran, tool: order } = counted();
    const { runtime, ports } = runtimeOf({ type: "latency", delayMs: 500 }, [order]);
    const pending = runtime.execute({ name: "order" });
    await ports.clock.advance(499);
    expect(ran()).toBe(0);
    await ports.clock.advance(1);
    expect(await pending).toMatchObject({ status: "ok", durationMs: 500, fault: "latency", output: { id: 12 } });
    expect(ports.clock.pending).toBe(0);
  });

  test("H09 latency longer than the timeout is a timeout, and the handler does not run afterwards", async () => {
    const { ran, tool: order } = counted({ timeoutMs: 100 });
    const { runtime, ports } = runtimeOf({ type: "latency", delayMs: 500 }, [order]);
    const pending = runtime.execute({ name: "order" });
    await ports.clock.advance(10_000);
    expect(await pending).toMatchObject({ status: "error", error: { code: "timeout" }, fault: "latency" });
    expect([ran(), ports.clock.pending, runtime.counters.orphans]).toEqual([0, 0, 0]);
  });

  test("H09 a call that is cancelled during latency or timeout ends at once", async () => {
    const { ran, tool: order } = counted();
    for (const type of ["latency", "timeout"]) {
      const { runtime, ports } = runtimeOf({ type }, [order]);
      const controller = new AbortController();
      const pending = runtime.execute({ name: "order" }, { signal: controller.signal });
      await ports.clock.advance(1);
      controller.abort();
      expect(await pending).toMatchObject({ status: "cancelled", fault: type });
      await ports.clock.advance(60_000);
      expect([ran(), ports.clock.pending]).toEqual([0, 0]);
    }
  });

  test("H09 timeout ends at the tool's timeout, does not run the handler and holds no lock", async () => {
    const { ran, tool: order } = counted({ timeoutMs: 100 });
    const { runtime, ports } = runtimeOf({ type: "timeout", tools: "*::order" }, [
      order,
      tool("after", () => "done", { effects: { writes: ["orders"] } }),
    ]);
    const pending = runtime.execute({ name: "order" });
    await ports.clock.advance(99);
    const waiting = runtime.execute({ name: "after" });
    await ports.clock.advance(1);
    expect(await pending).toMatchObject({
      status: "error",
      error: { code: "timeout", outcome: "unknown" },
      fault: "timeout",
      durationMs: 100,
    });
    expect((await waiting).output).toBe("done");
    expect([ran(), runtime.counters.orphans]).toEqual([0, 0]);
  });

  test("H09 timeout on a tool without a timeout ends at once, with the message of its rule", async () => {
    const { ran, tool: order } = counted({ timeoutMs: 0, deadlineMs: 0 });
    const { runtime } = runtimeOf({ type: "timeout", message: "Gone." }, [order]);
    expect(await runtime.execute({ name: "order" })).toMatchObject({ status: "error", error: { code: "timeout", message: "Gone." } });
    expect(ran()).toBe(0);
  });

  test("H09 timeout on a read is retried unless its rule says otherwise", async () => {
    const { tool: order } = counted({ timeoutMs: 100, effects: { reads: ["orders"] } });
    for (const [retryable, attempts] of [
      [undefined, 4],
      [false, 1],
    ] as const) {
      const { runtime, ports } = runtimeOf({ type: "timeout", message: "Gone.", ...(retryable === undefined ? {} : { retryable }) }, [
        order,
      ]);
      const pending = runtime.execute({ name: "order" });
      await ports.clock.advance(60_000);
      expect(await pending).toMatchObject({ attempts, error: { code: "timeout", message: "Gone." } });
    }
  });

  test("H09 unparseable_result garbles the output after the handler ran, and the output is not validated", async () => {
    const { ran, tool: order } = counted({ outputSchema: { type: "object" } });
    const { runtime } = runtimeOf({ type: "unparseable_result" }, [order]);
    const result = await runtime.execute({ name: "order" });
    expect([result.status, result.fault, ran()]).toEqual(["ok", "unparseable_result", 1]);
    expect(result.output).toMatch(/^<garbled: \{.*>$/u);
  });

  test("H09 empty_result is the emptiest value of the output schema's type, and is not validated", async () => {
    for (const [outputSchema, empty] of [
      [{ type: "object", required: ["id"] }, {}],
      [{ type: "string", minLength: 1 }, ""],
      [undefined, []],
    ] as const) {
      const { ran, tool: order } = counted(outputSchema === undefined ? {} : { outputSchema });
      const result = await runtimeOf({ type: "empty_result" }, [order]).runtime.execute({ name: "order" });
      expect([result.status, result.output, result.fault, ran()]).toEqual(["ok", empty, "empty_result", 1]);
    }
  });

  test("H09 schema_violation fails after the handler ran, and is not retried", async () => {
    const { ran, tool: order } = counted({ effects: { reads: ["orders"] } });
    const { runtime } = runtimeOf({ type: "schema_violation", message: "No such field." }, [order]);
    expect(await runtime.execute({ name: "order" })).toMatchObject({
      status: "error",
      attempts: 1,
      error: { code: "invalid_output", message: "No such field.", retryable: false },
    });
    expect(ran()).toBe(1);
  });

  test("H09 partial_result returns half of the output, with status partial where the schema requires more", async () => {
    const { tool: order } = counted();
    const free = await runtimeOf({ type: "partial_result" }, [order]).runtime.execute({ name: "order" });
    expect([free.status, free.output]).toEqual(["ok", { id: 12 }]);
    const strict = { ...order, outputSchema: { type: "object", required: ["id", "items"] } };
    const partial = await runtimeOf({ type: "partial_result" }, [strict]).runtime.execute({ name: "order" });
    expect([partial.status, partial.output, partial.error?.code, partial.fault]).toEqual([
      "partial",
      { id: 12 },
      "invalid_output",
      "partial_result",
    ]);
  });

  test("H09 partial_result halves content that only the model sees", async () => {
    const parts = (...texts: string[]): Tool =>
      tool("say", () => new ToolOutput({ content: texts.map((text) => ({ type: "text" as const, text })) }));
    const results = await Promise.all(
      [parts("abcd"), parts("a", "b", "c")].map((one) => runtimeOf({ type: "partial_result" }, [one]).runtime.execute({ name: "say" })),
    );
    expect(results.map(({ content }) => content)).toEqual([[{ type: "text", text: "ab" }], [{ type: "text", text: "a" }]]);
  });

  test.each(["unparseable_result", "empty_result", "partial_result", "schema_violation", "crash_after_commit"])(
    "H09 %s leaves an error thrown by the tool unchanged and is not recorded as the fault",
    async (type) => {
      for (const fail of [
        () => Promise.reject(new Error("sold out")),
        () => {
          throw new Error("sold out");
        },
      ]) {
        const { runtime } = runtimeOf({ type }, [tool("order", fail, { effects: { writes: ["orders"] } })]);
        const result = await runtime.execute({ name: "order" });
        expect([result.error?.message, result.fault]).toEqual(["sold out", undefined]);
      }
    },
  );

  test("H09 an output that cannot be recorded is rejected under partial_result and unparseable_result too", async () => {
    for (const type of ["partial_result", "unparseable_result"]) {
      const { runtime } = runtimeOf({ type }, [tool("order", () => ({ big: 1n }))]);
      expect((await runtime.execute({ name: "order" })).error?.code).toBe("not_json");
    }
  });

  test("H09 planned failures of a real tool do not open its circuit", async () => {
    const { tool: order } = counted();
    const { runtime } = runtimeOf({ type: "network_error", retryable: false }, [order]);
    for (let n = 0; n < 5; n++) await runtime.execute({ name: "order" });
    expect(await runtime.execute({ name: "order" })).toMatchObject({ error: { code: "network_error" } });
  });
});

describe("H09 crash faults and the ledger", () => {
  test.each([
    ["crash_before_commit", 0],
    ["crash_after_commit", 1],
  ])("H09 a write that meets %s runs %d times, is not repeated, and its outcome is unknown", async (type, runs) => {
    const { ran, tool: order } = counted();
    const store = new FailingStore();
    const { runtime } = runtimeOf({ type }, [order], { store });
    const session = runtime.session("s");
    const result = await session.execute({ name: "order" }, {});
    expect(result).toMatchObject({ status: "error", attempts: 1, fault: type });
    expect(result.error).toMatchObject({
      code: "network_error",
      outcome: "unknown",
      message: "The connection was lost before an answer came.",
    });
    expect(ran()).toBe(runs);
    expect(store.disk.types("s")).toEqual(["session-start", "call-start", "call-intent", "call-end"]);
    const resumed = await runtimeOf({ type }, [order], { store: store.crash() }).runtime.resume("s");
    expect(resumed.history.map((entry) => [entry.result?.status, entry.result?.fault])).toEqual([["error", type]]);
    expect(ran()).toBe(runs);
  });

  test.each(["crash_before_commit", "crash_after_commit"])(
    "H09 an idempotent write that meets %s once is retried with the same idempotency key",
    async (type) => {
      const keys: string[] = [];
      const put = tool("put", (_, { idempotencyKey }) => keys.push(idempotencyKey), { effects: { writes: ["x"], idempotent: true } });
      const { runtime, ports } = runtimeOf({ type, attempts: 1 }, [put]);
      const pending = runtime.execute({ name: "put" });
      await ports.clock.advance(10_000);
      expect(await pending).toMatchObject({ status: "ok", attempts: 2, fault: type });
      expect(keys.length).toBe(type === "crash_before_commit" ? 1 : 2);
      expect(new Set(keys).size).toBe(1);
    },
  );

  test.each([
    ["crash_before_commit", false],
    ["crash_after_commit", true],
  ])("H09 after %s and the end of the process, reconcile finds whether the write happened: %s", async (type, happened) => {
    const store = new FailingStore();
    const ledger = new Set<string>();
    const ended = gate();
    const order = tool("order", (_, { idempotencyKey }) => (ledger.add(idempotencyKey), "ordered"), {
      effects: {
        writes: ["orders"],
        reconcile: ({ idempotencyKey }) => ({ happened: ledger.has(idempotencyKey), output: "ordered before" }),
      },
    });
    // The process ends before the result is written.
    const hook = { name: "end", afterCall: () => ended.promise };
    void runtimeOf({ type }, [order], { store, hooks: [hook] })
      .runtime.session("s")
      .execute({ name: "order" });
    await testRuntime().ports.clock.advance(1);
    expect(ledger.size).toBe(happened ? 1 : 0);
    const resumed = await testRuntime({ tools: [order], store: store.crash() }).runtime.resume("s");
    expect(resumed.history.map(({ result }) => result?.output)).toEqual([happened ? "ordered before" : "ordered"]);
    expect(ledger.size).toBe(1);
    ended.open();
  });
});

describe("H09 faults and other features of the runtime", () => {
  test.each(["unparseable_result", "empty_result", "partial_result"])("H09 an answer changed by %s is never cached", async (type) => {
    const { ran, tool: order } = counted({ effects: { reads: ["orders"] }, cache: { scope: "runtime" } });
    const { runtime } = runtimeOf({ type, probability: 0.5 }, [order]);
    const results = [];
    for (let n = 0; n < 30; n++) results.push(await runtime.execute({ name: "order" }));
    const clean = results.findIndex(({ fault }) => fault === undefined);
    expect(clean).toBeGreaterThan(0);
    expect(results.slice(0, clean).every(({ fault, origin }) => fault === type && origin === "live")).toBe(true);
    expect(
      results
        .slice(clean + 1)
        .every(({ fault, origin, output }) => fault === undefined && origin === "cache" && (output as { id: number }).id === 12),
    ).toBe(true);
    expect(ran()).toBe(clean + 1);
  });

  test("H09 equal calls that wait for a call with a fault run on their own", async () => {
    const { tool: order } = counted({ effects: { reads: ["orders"] }, cache: { scope: "runtime" } });
    const { runtime } = runtimeOf({ type: "empty_result" }, [order]);
    const results = await runtime.execute([{ name: "order" }, { name: "order" }, { name: "order" }]);
    expect(results.map(({ fault, origin }) => [fault, origin])).toEqual(Array.from({ length: 3 }, () => ["empty_result", "live"]));
  });

  test("F0.47 a simulation applies faults to its stand-in and to live reads", async () => {
    const { ran, tool: order } = counted();
    const { asked, engine } = simulator();
    const { runtime } = runtimeOf(
      { type: "network_error", retryable: false },
      [order, tool("look", () => 1, { effects: { reads: ["x"] } })],
      { standIn: engine },
    );
    const { results } = await runtime.simulate([{ name: "order" }, { name: "look" }]);
    expect(results.map(({ fault, status }) => [fault, status])).toEqual([
      ["network_error", "error"],
      ["network_error", "error"],
    ]);
    expect([asked(), ran()]).toEqual([0, 0]);
  });

  test("H09 rules of the runtime and of the toolset both apply", async () => {
    const { tool: order } = counted();
    const { runtime } = testRuntime({
      toolsets: [
        { name: "a", tools: [order], faults: { rules: [{ type: "empty_result", probability: 1 }] } },
        { name: "b", tools: [order] },
      ],
      faults: { rules: [{ type: "schema_violation", probability: 1 }] },
      circuit: false,
    });
    await runtime.open();
    const types = new Set<string | undefined>();
    for (let n = 0; n < 40; n++) types.add((await runtime.execute({ name: "a::order", input: { n } })).fault);
    expect(types).toEqual(new Set(["empty_result", "schema_violation"]));
    expect((await runtime.execute({ name: "b::order" })).fault).toBe("schema_violation");
  });

  test("H09 a toolset or a runtime with an invalid fault plan is rejected", () => {
    const faults = { rules: [{ type: "timeout", probability: 2 }] };
    expect(() => testRuntime({ faults })).toThrow("probability of rules[0] of the runtime is 2; it takes a number from 0 to 1.");
    const { runtime } = testRuntime();
    expect(() => runtime.registry.addToolset({ name: "mail", faults })).toThrow('probability of rules[0] of toolset "mail" is 2');
  });

  test("H09 a fault is stored with its result and is still there after a resume", async () => {
    const store = new FailingStore();
    const { runtime } = runtimeOf({ type: "empty_result" }, [counted().tool], { store });
    await runtime.session("s").execute({ name: "order" });
    const { runtime: next } = testRuntime({ store: store.crash() });
    expect((await next.resume("s")).history[0]?.result).toMatchObject({ fault: "empty_result", status: "ok", output: [] });
  });
});

describe("F0.50 faults of a search engine", () => {
  async function search(type: string, more: Partial<FaultRule> = {}) {
    const engine = searchEngine({ documents: [{ id: "1", text: "cats and dogs" }] });
    const { runtime } = testRuntime({ toolsets: [{ name: "docs", engine, faults: { rules: [{ type, probability: 1, ...more }] } }] });
    await runtime.open();
    return runtime.execute({ name: "docs::search", input: { query: "cats" } });
  }

  test("F0.50 empty_result returns no hits and is not an error", async () => {
    expect(await search("empty_result")).toMatchObject({ status: "ok", output: [], fault: "empty_result" });
  });

  test("F0.50 index_not_found and custom fault types fail with their name", async () => {
    expect(await search("index_not_found")).toMatchObject({
      status: "error",
      error: { code: "not_found", message: "Simulated error: index_not_found" },
    });
    expect(await search("quota_used_up")).toMatchObject({
      status: "error",
      attempts: 1,
      fault: "quota_used_up",
      error: { code: "execution_failed", message: "Simulated error: quota_used_up" },
    });
    expect((await search("index_not_found", { message: "No index." })).error?.message).toBe("No index.");
  });
});

describe("F0.47 faults of an lm engine", () => {
  test.each([
    ["network_error", "error", undefined],
    ["schema_violation", "error", undefined],
    ["unparseable_result", "ok", "<garbled: Tool execution failed>"],
  ])("F0.47 %s does not ask the model, and is part of the history in the model's next request", async (type, status, output) => {
    const model = scriptedModel(() => ({ text: '{"seen": true}' }));
    const faults = { rules: [{ type, probability: 1, retryable: false, tools: "shop::look" }] };
    const { runtime } = testRuntime({
      toolsets: [{ name: "shop", tools: [DECLARED, { ...DECLARED, name: "again" }], engine: lmEngine({ model }), faults }],
    });
    await runtime.open();
    const session = runtime.session("s");
    const result = await session.execute({ name: "look", input: { n: 1 } });
    expect([result.status, result.output, result.fault, model.requests.length]).toEqual([status, output, type, 0]);
    expect(await session.execute({ name: "again", input: {} })).toMatchObject({ status: "ok", output: { seen: true } });
    expect(JSON.stringify(model.requests)).toContain(status === "ok" ? "<garbled: " : String(result.error?.message));
  });
});

describe("H09 no call hangs", () => {
  const answers: Readonly<Record<string, () => unknown>> = {
    "a value": () => ({ id: 1 }),
    "a promise": async () => Promise.resolve({ id: 1 }),
    "a job": () => new RemoteJob({ id: "1", result: Promise.resolve({ id: 1 }) }),
    "nothing ever": () => new Promise(() => {}),
    "an error": () => Promise.reject(new Error("broken")),
  };
  const cases = FAULT_TYPES.flatMap((type) => Object.keys(answers).map((answer) => [type, answer] as const));

  test.each(cases)(
    "H09 a call that meets %s on an engine that returns %s ends, and leaves no timer or running call",
    async (type, answer) => {
      const engine: Engine = { kind: "foreign", call: () => answers[answer]?.() };
      const slow: Tool = { ...DECLARED, effects: { writes: ["x"] }, timeoutMs: 2_000 };
      const { runtime, ports } = testRuntime({
        toolsets: [{ name: "far", tools: [slow], engine, faults: { rules: [{ type, probability: 1 }] } }],
      });
      await runtime.open();
      const pending = runtime.execute([{ name: "look" }, { name: "look" }]);
      await ports.clock.advance(200_000);
      const results = await pending;
      const isOk = ["latency", "unparseable_result", "empty_result", "partial_result"].includes(type) && !/nothing|error/u.test(answer);
      expect(results.map(({ status }) => status === "ok")).toEqual([isOk, isOk]);
      expect([ports.clock.pending, runtime.running.length]).toEqual([0, 0]);
      if (type === "latency" && isOk) expect(results[0]?.output).toEqual({ id: 1 });
    },
  );
});

describe("H09 faults and the fallback chain", () => {
  const stub = (answer: () => unknown): Engine => ({ kind: "stub", origin: "stub", call: answer });

  test("H09 a fault applies whichever source answers the call", async () => {
    const { ran, tool: order } = counted();
    let asked = 0;
    const answers = { rules: [{ tools: "*", from: ["stub"] as const }], engines: { stub: stub(() => (asked++, { id: 1, name: "x" })) } };
    for (const [type, output, times] of [
      ["unparseable_result", "<garbled: Tool execution failed>", 0],
      ["partial_result", { id: 1 }, 1],
    ] as const) {
      const { runtime } = runtimeOf({ type }, [order], { answers });
      expect(await runtime.execute({ name: "order" })).toMatchObject({
        origin: "stub",
        answeredBy: "stub",
        output,
        fault: type,
        fidelity: "unchecked",
      });
      expect(asked).toBe(times);
    }
    expect(ran()).toBe(0);
  });

  test("H09 an engine without an answer passes the call on, and the fault applies to the next source's answer", async () => {
    const nothing: Engine = {
      kind: "replay",
      origin: "replay",
      call: () => {
        throw new NoAnswer("not_found", "Nothing was recorded.");
      },
    };
    const answers = { rules: [{ tools: "*", from: ["replay", "stub"] as const }], engines: { replay: nothing, stub: stub(() => [1, 2]) } };
    const { runtime } = runtimeOf({ type: "partial_result" }, [counted().tool], { answers });
    expect(await runtime.execute({ name: "order" })).toMatchObject({ origin: "stub", output: [1], fault: "partial_result" });
  });
});
