import { expect, test } from "vitest";
import { infoToolset } from "../../src/toolsets/info.ts";
import { testRuntime, tool } from "./bench-runtime.ts";

test("rules name tools of the toolset default without it, and a name that is none is warned of", async () => {
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

test("a toolset of documentation needs nothing but the runtime it is given to", async () => {
  const { runtime } = testRuntime({
    tools: [tool("read", () => "text", { documentation: "Reads slowly." })],
    toolsets: [infoToolset()],
  });
  const result = await runtime.execute({ name: "info", input: { name: "read" } });
  expect(String(result.output)).toContain("Reads slowly.");
  expect(() => infoToolset({ override: {} } as object)).toThrow('infoToolset() has no option "override".');
});
