import { describe, expect, test } from "vitest";
import { createRuntime } from "../../src/runtime/runtime.ts";
import type { Tool } from "../../src/core/tool.ts";
import { stubEngine } from "../../src/engine/stub.ts";
import type { Clock } from "../../src/core/ports.ts";

/** A clock that only moves when the code under test says that time has passed. */
class Stopwatch implements Clock {
  #now = 0;
  now(): number {
    return this.#now;
  }
  wallTime(): number {
    return this.#now;
  }
  timer(): () => void {
    return () => {};
  }
  pass(ms: number): void {
    this.#now += ms;
  }
}

const CALL = { name: "act", input: {} } as const;

function act(more: Partial<Tool>): Tool {
  return { name: "act", description: "Acts.", inputSchema: { type: "object" }, effects: { reads: [] }, execute: () => 1, ...more };
}

function nested(levels: number): Tool["inputSchema"] {
  let schema: Record<string, unknown> = { type: "object" };
  for (let level = 0; level < levels; level++) schema = { type: "object", properties: { a: schema } };
  return schema;
}

describe("an unusable tool with its own maxConcurrent", () => {
  const tools: readonly (readonly [string, Tool])[] = [
    ["a schema that nests too deep", act({ inputSchema: nested(3_000), maxConcurrent: 2 })],
    ["a reason that its server gave", act({ unusable: "broken by its server", maxConcurrent: 2 })],
  ];

  test.each(tools)("%s ends each call as unavailable, and the runtime closes", async (_, tool) => {
    const engines = { stub: stubEngine([]) };
    const runtime = createRuntime({ tools: [tool], answers: { engines, rules: [{ tools: "*", from: "stub" }] }, onEvent: () => {} });
    const results = [await runtime.execute(CALL), ...(await runtime.execute([CALL])), await runtime.session().execute(CALL)];
    expect(results.map(({ error }) => error?.code)).toEqual(["unavailable", "unavailable", "unavailable"]);
    expect(runtime.running).toEqual([]);
    expect(await runtime.close()).toEqual([]);
  });

  test("reports the reason that its server gave", async () => {
    const runtime = createRuntime({ tools: [act({ unusable: "broken by its server", maxConcurrent: 2 })] });
    expect((await runtime.execute(CALL)).error?.message).toContain("broken by its server");
  });
});

test("the time to resolve effects counts towards the deadline: a write past it does not start", async () => {
  const clock = new Stopwatch();
  let runs = 0;
  const writes = (): readonly string[] => {
    clock.pass(80);
    return ["item"];
  };
  const tool = act({ effects: { writes }, deadlineMs: 50, execute: () => ++runs });
  const result = await createRuntime({ tools: [tool], ports: { clock } }).execute(CALL);
  expect({ runs, code: result.error?.code, outcome: result.error?.outcome }).toEqual({ runs: 0, code: "timeout", outcome: "not_started" });
});

test("time before the handler does not count towards its timeout, and time after it counts towards the duration", async () => {
  const clock = new Stopwatch();
  const pass = (ms: number): void => clock.pass(ms);
  const tool = act({
    timeoutMs: 100,
    validate: () => (pass(120), []),
    execute: () => (pass(20), 1),
    parseOutput: (value) => (pass(30), { value }),
  });
  const result = await createRuntime({ tools: [tool], ports: { clock } }).execute(CALL);
  expect({ status: result.status, durationMs: result.durationMs }).toEqual({ status: "ok", durationMs: 170 });
});

test("a call rejected by oncePerTurn has the origin of the engine that would have answered", async () => {
  const engines = { stub: stubEngine([{ tool: "act", output: 1 }]) };
  const runtime = createRuntime({ tools: [act({ oncePerTurn: true })], answers: { engines, rules: [{ tools: "*", from: "stub" }] } });
  const [, second] = await runtime.execute([CALL, CALL]);
  expect(second).toMatchObject({ status: "error", origin: "stub", error: { code: "limit_exceeded" } });
});

test("a validation error takes precedence over a cancellation at the same moment", async () => {
  const stop = new AbortController();
  const tool = act({ validate: () => (stop.abort(), ["wrong"]) });
  const [result] = await createRuntime({ tools: [tool] }).execute([CALL], { signal: stop.signal });
  expect(result?.error?.code).toBe("invalid_input");
});
