import { expect, test } from "vitest";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";

test("A23 a default that breaks its own schema is logged with the first call of its tool, once", async () => {
  const tool = defineTool({
    name: "list",
    description: "Lists days.",
    inputSchema: { type: "object", properties: { limit: { type: "integer", default: "ten" } } },
    execute: (input) => input,
  });
  const ports = fakePorts();
  const runtime = createRuntime({ toolsets: [{ name: "days", tools: [tool] }], ports });
  expect(runtime.registry.require("days::list").warnings).toHaveLength(1);
  const results = await runtime.execute([1, 2].map((id) => ({ id: String(id), name: "days::list", input: {} })));
  expect(results.map(({ output }) => output)).toEqual([{}, {}]);
  expect(ports.log.lines.filter(({ message }) => message.includes("default"))).toEqual([
    {
      level: "warn",
      fields: {},
      message:
        'The input schema of "days::list" has a mistake: $.limit: the default "ten" does not fit its own schema and is never applied.',
    },
  ]);
  await runtime.close();
});
