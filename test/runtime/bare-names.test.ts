import type { Engine } from "../../src/core/engine.ts";
import { expect, test } from "vitest";
import { infoToolset } from "../../src/toolsets/info.ts";
import type { RuntimeOptions } from "../../src/runtime/runtime.ts";
import { testRuntime, tool } from "./bench-runtime.ts";

test("rules name tools of the toolset default by bare names, and an unknown name logs a warning", async () => {
  const lines: string[] = [];
  const { runtime } = testRuntime({
    tools: [tool("read", () => "text"), tool("drop", () => "gone", { effects: { writes: [], destructive: true } })],
    permission: { deny: ["read", "reed"] },
    approval: { never: ["drop"] },
    ports: { log: { debug: () => undefined, warn: (message) => void lines.push(message) } },
  });
  const results = await runtime.execute([{ name: "read" }, { name: "drop" }]);
  expect(results.map(({ status, error }) => error?.code ?? status)).toEqual(["permission_denied", "ok"]);
  expect(lines).toContain(
    'permission.deny has "reed", and the toolset "default" has no tool of that name. Write "toolset::reed", or "*::reed" for every toolset.',
  );
});

test("infoToolset works with the runtime that it is passed to, without options", async () => {
  const { runtime } = testRuntime({
    tools: [tool("read", () => "text", { documentation: "Reads slowly." })],
    toolsets: [infoToolset()],
  });
  const result = await runtime.execute({ name: "info", input: { name: "read" } });
  expect(String(result.output)).toContain("Reads slowly.");
  expect(() => infoToolset({ override: {} } as object)).toThrow('infoToolset() has no option "override".');
});

test("a tool without handler and engine logs a warning when the runtime is created", () => {
  const linesOf = (options: RuntimeOptions): readonly string[] => {
    const lines: string[] = [];
    testRuntime({ ...options, ports: { log: { debug: () => undefined, warn: (message) => void lines.push(message) } } });
    return lines;
  };
  const { execute: _, ...idea } = tool("idea", () => 1);
  const toolsets = [{ name: "later", tools: [idea] }];
  const warned = [
    "Nothing runs default::idea, later::idea: give each an execute function, or its toolset an engine. Its calls end with not_executable.",
  ];
  expect(linesOf({ tools: [idea, tool("real", () => 1)], toolsets })).toEqual(warned);
  const example: Engine = { kind: "test", call: () => Promise.resolve(1) };
  const onlySimulates = { engines: { example }, simulation: ["example"] } as const;
  expect(linesOf({ tools: [idea, tool("real", () => 1)], toolsets, answers: { ...onlySimulates, rules: [] } })).toEqual(warned);
  const rules = [{ tools: "*", from: "example" }] as const;
  expect(linesOf({ tools: [idea, tool("real", () => 1)], toolsets, answers: { engines: { example }, rules } })).toEqual([]);
  expect(linesOf({ tools: [idea], toolsets })).toEqual([]);
  expect(linesOf({ tools: [idea, tool("real", () => 1)], standIn: example })).toEqual([]);
  expect(
    linesOf({
      tools: [
        { ...idea, providerExecuted: true },
        { ...idea, name: "off", enabled: false },
      ],
    }),
  ).toEqual([]);
});
