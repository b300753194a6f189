import { describe, expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { ToolOutput } from "../../src/core/content.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";

/** The paths of what could still be changed. */
function unfrozen(value: unknown, path = "$"): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const inside = Object.entries(value).flatMap(([key, item]) => unfrozen(item, `${path}.${key}`));
  return Object.isFrozen(value) ? inside : [path, ...inside];
}

const inputSchema = {
  type: "object",
  properties: { n: { type: "integer" }, list: { type: "array", items: { type: "integer" } }, unit: { default: { of: ["a"] } } },
  additionalProperties: false,
} as const;

const LONG = Array.from({ length: 500 }, (_, index) => ({ index, tags: ["a", "b"] }));
const PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const ANSWERS: Readonly<Record<string, () => unknown>> = {
  "an object": () => ({ a: [{ b: {} }] }),
  "an image": () => ({ shot: PIXEL }),
  "a long list": () => LONG,
  "long text": () => "word ".repeat(10_000),
  "content and metadata": () =>
    new ToolOutput({ content: [{ type: "text", text: "x".repeat(9_000) }], metadata: { a: { b: [1] } }, output: { c: [{}] } }),
  "an error": () => {
    throw new ToolError("execution_failed", "no", { details: ["one"], hint: "two" });
  },
  "no JSON": () => new Map(),
};

function runtimeOf(execute: () => unknown, settings: Partial<Tool> = {}): ReturnType<typeof createRuntime> {
  const tool = {
    name: "t",
    description: "",
    inputSchema,
    effects: { reads: [], writes: [] },
    maxAttempts: 1,
    maxResultBytes: 2_000,
    ...settings,
  };
  return createRuntime({ tools: [{ ...tool, execute }] });
}

describe("F4.29 results and history are deeply frozen for", () => {
  test.each(Object.keys(ANSWERS))("%s", async (kind) => {
    const session = runtimeOf(ANSWERS[kind] ?? (() => null)).session("s");
    const results = await session.execute([
      { id: "1", name: "t", input: { n: "5", list: ["1", 2], extra: 1 } },
      { name: "t", input: '{"n": 1,}' },
      { name: "t", input: { n: "x" } },
      { name: "none" },
    ]);
    expect(results[0]?.repairs.length).toBeGreaterThan(1);
    expect(unfrozen(results)).toEqual(["$"]); // the list is the caller's own
    expect([...session.log].flatMap((entry) => unfrozen(entry))).toEqual([]);
    expect(session.messages().flatMap((message) => unfrozen(message))).toEqual([]);
  });

  test("a round, including the metadata of its results", async () => {
    const session = runtimeOf(() => ({ a: [1] })).session("s");
    const results = await session.turn(async (turn) => {
      const round = turn.round({ metadata: () => ({ advice: { level: ["low"] } }) });
      round.add({ name: "t", input: { n: "5" } });
      return round.end({ content: "", finish: "calls", usage: { inputTokens: 0, outputTokens: 0 } });
    });
    expect(unfrozen(results)).toEqual(["$"]);
    expect([...session.log].flatMap((entry) => unfrozen(entry))).toEqual([]);
  });
});

test("F4.29 all six kinds of messages are deeply frozen, and each has its time in UTC", async () => {
  const ports = fakePorts();
  const mill = { name: "mill", description: "", inputSchema: {}, effects: { reads: [], writes: [] }, execute: () => ({ flour: [1] }) };
  const runtime = createRuntime({ ports, tools: [mill] });
  const session = runtime.session("s");
  const began = ports.clock.wallTime();
  await session.addMessage({ role: "system", content: "You run a mill." });
  await session.addMessage({ role: "document", title: "Grain", content: [{ type: "text", text: "Wheat." }] });
  await ports.clock.advance(1_500);
  await session.addMessage({ role: "user", content: "Grind." });
  await session.addMessage({ role: "assistant", content: [{ type: "text", text: "I grind." }] });
  await ports.clock.advance(500);
  await session.execute({ id: "c1", name: "mill", input: { grain: ["wheat"] } });

  const messages = session.messages();
  const times = messages.map(({ role, at }) => [role, new Date(at).toISOString()]);
  const after = (ms: number): string => new Date(began + ms).toISOString();
  expect(times).toEqual([
    ["system", after(0)],
    ["document", after(0)],
    ["user", after(1_500)],
    ["assistant", after(1_500)],
    ["call", after(2_000)],
    ["result", after(2_000)],
  ]);
  expect(after(0)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/u);
  expect(messages.flatMap((message) => unfrozen(message))).toEqual([]);
  expect(() => Object.assign(messages[1] ?? {}, { title: "Straw" })).toThrow(TypeError);
});
