import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { ToolOutput } from "../../src/core/content.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { outputOf } from "../../src/registry/output-of.ts";
import { toolFunction } from "../../src/registry/tool-function.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";

const outputSchema = { type: "object", properties: { left: { type: "integer" }, note: { type: "string" } }, required: ["left"] } as const;
const take = defineTool({
  name: "take",
  description: "Takes one.",
  inputSchema: { type: "object", properties: { left: { type: "integer" } } },
  outputSchema,
  execute: ({ left }) => ({ left: left ?? 0 }),
});

test("the output has the type of the tool's schema, in a toolset and in a session too", async () => {
  const runtime = createRuntime({ tools: [take], toolsets: [{ name: "shop", tools: [take] }] });
  await runtime.open();
  const results = await runtime.execute([{ name: "default::take", input: { left: 3 } }]);
  const outputs = results.map((result) => outputOf(take, result));
  expectTypeOf(outputs).toEqualTypeOf<({ readonly left: number; readonly note?: string } | undefined)[]>();
  const kept = await runtime.session().execute({ name: "shop::take", input: { left: 2 } });
  expect([...outputs, outputOf(take, kept)]).toEqual([{ left: 3 }, { left: 2 }]);
});

test("with a library's schema it has the type after transforms, and a toolFunction has the type of its tool", async () => {
  const count = defineTool({
    name: "count",
    description: "Counts.",
    outputSchema: z.object({ n: z.string().transform(Number).pipe(z.number()) }),
    execute: () => ({ n: "5" }),
  });
  const add = toolFunction(
    { name: "add", description: "Adds.", inputSchema: { type: "object" }, outputSchema: { type: "integer" } },
    () => 5,
  );
  const runtime = createRuntime({ tools: [count, add.tool] });
  const counted = outputOf(count, await runtime.execute({ name: "count" }));
  expectTypeOf(counted).toEqualTypeOf<{ n: number } | undefined>();
  const added = outputOf(add.tool, await runtime.execute({ name: "add" }));
  expectTypeOf(added).toEqualTypeOf<number | undefined>();
  expect([counted, added]).toEqual([{ n: 5 }, 5]);
});

test("without an output schema it is returned unchanged with type unknown", async () => {
  const plain = defineTool({ name: "plain", description: "Plain.", execute: () => null });
  const output = outputOf(plain, await createRuntime({ tools: [plain] }).execute({ name: "plain" }));
  expectTypeOf(output).toBeUnknown();
  expect(output).toBe(null);
});

test("a result without an output of that type returns undefined", async () => {
  const other = defineTool({ name: "other", description: "Other.", execute: () => ({ left: 1 }) });
  // @ts-expect-error an output that does not fit, as a handler without types may return it
  const breaks = defineTool({ ...take, name: "breaks", execute: () => ({ left: "three" }) });
  const draws = defineTool({ ...take, name: "draws", execute: () => new ToolOutput({ content: [{ type: "text", text: "3" }] }) });
  const long = defineTool({ ...take, name: "long", maxResultBytes: 100, execute: () => ({ left: 1, note: "x".repeat(1_000) }) });
  const fails = defineTool({ ...take, name: "fails", execute: () => new ToolOutput({ output: { left: 1 }, exitCode: 2 }) });
  const changed = defineTool({ ...take, name: "changed" });
  const runtime = createRuntime({
    tools: [take, other, breaks, draws, long, fails, changed],
    hooks: [{ name: "hide", afterCall: (result) => (result.name === "default::changed" ? { ...result, output: "hidden" } : undefined) }],
  });
  const names = ["take", "other", "breaks", "draws", "long", "fails", "changed"];
  const results = await runtime.execute(names.map((name) => ({ name, input: { left: 3 } })));
  expect(results.map(({ status }) => status)).toEqual(["ok", "ok", "partial", "partial", "ok", "error", "ok"]);
  expect(results.map((result) => outputOf(take, result))).toEqual([{ left: 3 }, ...names.slice(1).map(() => undefined)]);
  const own = [breaks, draws, long, fails, changed].flatMap((tool) => results.map((result) => outputOf(tool, result)));
  expect(own).toEqual(own.map(() => undefined));
});

test("a tool that was not made by defineTool is rejected", async () => {
  const result = await createRuntime({ tools: [take] }).execute({ name: "take" });
  for (const tool of [{}, { name: "take", outputSchema }])
    expect(() => Reflect.apply(outputOf, undefined, [tool, result])).toThrowError(expect.objectContaining({ code: "invalid_argument" }));
});
