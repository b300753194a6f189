import { expect, test } from "vitest";
import type { Engine } from "../../src/core/engine.ts";
import { Registry } from "../../src/registry/registry.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { testRuntime, tool } from "./bench-runtime.ts";

function engine(log: string[]): Engine {
  return {
    kind: "test",
    open: async ({ toolset }) => {
      log.push(`open ${toolset}`);
      return [{ name: "brought", description: "", inputSchema: {} }];
    },
    call: ({ tool: { name } }) => Promise.resolve(`${name} answered`),
    close: async () => void log.push("close"),
  };
}

test("a runtime accepts a registry with its own tools, toolsets, settings and rules", async () => {
  const log: string[] = [];
  const registry = new Registry({ defaults: { timeoutMs: 5 }, permission: { deny: ["*::secret"] } });
  registry.register(tool("mine", () => "registered"));
  registry.register(tool("secret", () => "never"));
  registry.addToolset({ name: "server", engine: engine(log) });
  const { runtime } = testRuntime({
    registry,
    tools: [tool("added", () => "added")],
    toolsets: [{ name: "more", tools: [tool("x", () => "x")] }],
  });
  expect(runtime.registry).toBe(registry);
  const before = await runtime.execute({ name: "server::brought" });
  await runtime.open();
  const names = ["mine", "secret", "added", "more::x", "server::brought"];
  const results = await runtime.execute(names.map((name) => ({ name })));
  expect([before, ...results].map(({ output, error }) => output ?? error?.code)).toEqual([
    "unavailable",
    "registered",
    "permission_denied",
    "added",
    "x",
    "brought answered",
  ]);
  expect(registry.require("mine").settings.timeoutMs).toBe(5);
  await runtime.refresh();
  expect((await runtime.execute({ name: "mine" })).output).toBe("registered");
  await runtime.close();
  expect(log).toEqual(["open server", "close"]);
});

test("a registry serves one runtime, and keeps its own settings", () => {
  const registry = new Registry();
  expect(() => createRuntime({ registry, timeoutMs: 5 })).toThrow(
    expect.objectContaining({
      code: "invalid_argument",
      message: 'createRuntime() takes "timeoutMs" or a registry, not both: a registry has its own.',
      hint: "Give it to new Registry({ defaults: { timeoutMs } }).",
    }),
  );
  expect(() => createRuntime({ registry, permission: {} })).toThrow('takes "permission" or a registry');
  expect(() => createRuntime({ registry: {} as Registry })).toThrow('The option "registry" of createRuntime() is not a Registry.');
  registry.register(tool("taken", () => 1));
  expect(() => createRuntime({ registry, tools: [tool("taken", () => 2)] })).toThrow(expect.objectContaining({ code: "duplicate" }));
  createRuntime({ registry });
  expect(() => createRuntime({ registry })).toThrow("This registry serves another runtime.");
});
