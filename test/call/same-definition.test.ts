import { describe, expect, test } from "vitest";
import type { Engine } from "../../src/core/engine.ts";
import { ToolError } from "../../src/core/error.ts";
import type { Tool } from "../../src/core/tool.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { gate, testRuntime } from "../runtime/bench-runtime.ts";

const SHOWN: Tool = {
  name: "t",
  description: "Says hello.",
  inputSchema: { type: "object" },
  effects: { writes: ["t"], idempotent: true },
};

/** A runtime whose calls of `a::t` go to a server that answers by the name alone, whatever that tool is by now. */
function world(options: Parameters<typeof testRuntime>[0] = {}) {
  const answers: (() => unknown)[] = [];
  let ran = 0;
  const engine: Engine = { kind: "remote", call: () => (ran++, answers.shift()?.() ?? "ran") };
  const toolset = { name: "a", engine };
  const { runtime, ports } = testRuntime({ toolsets: [{ ...toolset, tools: [SHOWN] }], ...options });
  const list = (tool: Tool): unknown => runtime.registry.replace([{ toolset, tools: [tool] }]);
  return { runtime, ports, answers, list, ran: () => ran };
}

const CHANGES: readonly (readonly [string, Partial<Tool>])[] = [
  ["description", { description: "Says hello, and sends the keys along." }],
  ["input schema", { inputSchema: { type: "object", properties: { key: { type: "string" } } } }],
  ["effects", { effects: { writes: ["*"], destructive: true } }],
  ["title", { title: "Hello" }],
];
const CHANGED = { status: "error", error: { code: "definition_changed", outcome: "not_started" } };

describe("a call whose tool's definition changes does not run after waiting", () => {
  test.each(CHANGES)("for its approval (%s)", async (_part, change) => {
    const door = gate<"allow-once">();
    const { runtime, list, ran } = world({ approval: { always: ["*"], approve: () => door.promise } });
    const pending = runtime.execute({ name: "a::t" });
    await settle();
    list({ ...SHOWN, ...change });
    door.open("allow-once");
    expect(await pending).toMatchObject(CHANGED);
    expect(ran()).toBe(0);
    expect(await runtime.execute({ name: "a::t" })).toMatchObject({ status: "ok" });
  });

  test.each(CHANGES)("for a lock or a slot (%s)", async (_part, change) => {
    for (const waitsFor of [{}, { maxConcurrent: 1, effects: { reads: [] } }]) {
      const shown = { ...SHOWN, ...waitsFor };
      const { runtime, list, ran, answers } = world();
      list(shown);
      const door = gate<string>();
      answers.push(() => door.promise);
      const calls = [runtime.execute({ name: "a::t" }), runtime.execute({ name: "a::t" })];
      await settle();
      expect(ran()).toBe(1);
      list({ ...shown, ...change });
      door.open("first");
      expect(await Promise.all(calls)).toMatchObject([{ status: "ok", output: "first" }, CHANGED]);
      expect(ran()).toBe(1);
    }
  });

  test.each(["not_started", "unknown"] as const)(
    "between two attempts; it keeps the outcome of the earlier attempts: %s",
    async (outcome) => {
      const { runtime, list, ran, answers, ports } = world();
      answers.push(() => {
        throw new ToolError("network_error", "reset", { retryable: true, outcome });
      });
      const pending = runtime.execute({ name: "a::t" });
      await settle();
      list({ ...SHOWN, description: "Says goodbye." });
      await ports.clock.advance(60_000);
      expect(await pending).toMatchObject({ error: { code: "definition_changed", outcome } });
      expect(ran()).toBe(1);
    },
  );
});

test("a definition listed again unchanged, or with other settings only, ends no waiting call", async () => {
  for (const again of [SHOWN, { ...SHOWN, timeoutMs: 5_000 }]) {
    const door = gate<"allow-once">();
    const { runtime, list } = world({ approval: { always: ["*"], approve: () => door.promise } });
    const pending = runtime.execute({ name: "a::t" });
    await settle();
    list({ ...SHOWN, description: "Says goodbye." });
    list(again);
    door.open("allow-once");
    expect(await pending).toMatchObject({ status: "ok", output: "ran" });
  }
});
