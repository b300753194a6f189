import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../src/registry/define-tool.ts";

/** Compiled, not called: what is tested here is that the types of ordinary handlers hold. */
const about = { name: "report", description: "Writes a report." };

test("without an output schema a handler may return any value, or a promise of any value", () => {
  const tools = [
    defineTool({
      ...about,
      inputSchema: { type: "object", properties: { year: { type: "integer" } }, required: ["year"] },
      execute: ({ year }) => new Promise((resolve) => setImmediate(resolve, { year })),
    }),
    defineTool({ ...about, execute: () => undefined }),
    defineTool({ ...about, async execute() {} }),
  ];
  expect(tools.map((tool) => tool.outputSchema)).toEqual([undefined, undefined, undefined]);
});

test("a literal in a handler keeps its exact type, so that it fits an enum", () => {
  const status = { type: "object", properties: { status: { enum: ["open", "done"] } }, required: ["status"] } as const;
  const tools = [
    defineTool({
      ...about,
      outputSchema: status,
      async execute() {
        return { status: "done" };
      },
    }),
    defineTool({
      ...about,
      outputSchema: z.object({ status: z.enum(["open", "done"]), list: z.array(z.tuple([z.number()])) }),
      execute: () => ({ status: "open", list: [[1]] }),
    }),
    defineTool({ ...about, outputSchema: z.json(), execute: () => ({ list: ["a", { b: null }] }) }),
    // @ts-expect-error "closed" is not among the words of the schema
    defineTool({ ...about, outputSchema: status, execute: () => ({ status: "closed" }) }),
  ];
  expect(tools).toHaveLength(4);
});
