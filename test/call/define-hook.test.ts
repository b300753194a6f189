import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { defineHook } from "../../src/call/define-hook.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";

const schema = z.object({ item: z.string(), count: z.number().optional() });
const book = defineTool({
  name: "book",
  description: "Books.",
  inputSchema: schema,
  effects: { reads: [], writes: [] },
  execute: (input) => input,
});
const other = defineTool({ name: "other", description: "Other.", execute: () => "other" });

test("a hook of a tool receives only that tool's calls, with inputs of its schema", async () => {
  const seen: unknown[] = [];
  const hook = defineHook({
    tool: book,
    name: "limit",
    beforeCall(call) {
      expectTypeOf(call.input).toEqualTypeOf<{ item: string; count?: number | undefined }>();
      seen.push(call.input);
      return (call.input.count ?? 1) > 5 ? { veto: "At most 5." } : undefined;
    },
    afterCall: (result) => ({ ...result, output: { seen: result.output ?? null } }),
  });
  const runtime = createRuntime({ tools: [book, other], hooks: [hook] });
  const results = await runtime.execute([
    { name: "book", input: { item: "bolt", count: "3" } },
    { name: "default::book", input: { item: "nut", count: 9 } },
    { name: "other", input: { item: 5 } },
    { name: "book", input: { item: 5 } },
  ]);
  expect(seen).toEqual([
    { item: "bolt", count: 3 },
    { item: "nut", count: 9 },
  ]);
  expect(results.map(({ output, error }) => error?.message ?? output)).toEqual([
    { seen: { item: "bolt", count: 3 } },
    "At most 5.",
    "other",
    "The input of default::book does not fit its schema.",
  ]);
  // @ts-expect-error a misspelt property does not compile
  defineHook({ tool: book, name: "x", beforeCall: ({ input }) => (input.itme === "" ? undefined : undefined) });
});

test("a hook cannot be bypassed by validate: false", async () => {
  const hook = defineHook({ tool: book, name: "judge", beforeCall: () => ({ veto: "No." }) });
  const runtime = createRuntime({ tools: [book], hooks: [hook] });
  const result = await runtime.execute({ name: "book", input: { item: 5 } }, { validate: false });
  expect(result.error?.code).toBe("vetoed");
});

test.each<[object, string]>([
  [{ name: "x", beforeCall() {} }, "defineHook() needs the tool that the hook is for"],
  [{ name: "x", tool: book }, 'The hook "x" has neither beforeCall nor afterCall.'],
])("%j is rejected", (options, message) => {
  expect(() => Reflect.apply(defineHook, undefined, [options])).toThrow(message);
});

test("a hook cannot be bypassed by another name of its tool", async () => {
  const hook = defineHook({ tool: book, toolset: "a", name: "judge", beforeCall: () => ({ veto: "No." }) });
  const runtime = createRuntime({ toolsets: [{ name: "a", tools: [book] }], hooks: [hook] });
  for (const name of ["a::book", "book", "a:book", "a__book"])
    expect([name, (await runtime.execute({ name, input: { item: "x" } })).error?.code]).toEqual([name, "vetoed"]);
});

test("a hook of one overload does not affect the calls and results of the others", async () => {
  const effects = { reads: [], writes: [] };
  const make = (key: string) =>
    defineTool({ name: "find", description: `By ${key}.`, inputSchema: z.object({ [key]: z.string() }), effects, execute: () => key });
  const [byId, byName] = [make("id"), make("name")];
  const seen: unknown[] = [];
  const hook = defineHook({
    tool: byId,
    toolset: "people",
    name: "judge",
    beforeCall: ({ input }) => void seen.push(input),
    afterCall: (result) => ({ ...result, output: "seen" }),
  });
  const runtime = createRuntime({ toolsets: [{ name: "people", tools: [byId, byName], overloads: true }], hooks: [hook] });
  const inputs = [{ id: "1" }, { name: "ann" }, { id: 1 }];
  const results = await runtime.execute(inputs.map((input) => ({ name: "people::find", input })));
  expect(results.map(({ output }) => output)).toEqual(["seen", "name", undefined]);
  expect(seen).toEqual([{ id: "1" }]);
  expect(results[2]?.error?.code).toBe("vetoed");
  await runtime.close();
});

test("a hook cannot be bypassed where its tool has overloads and none has exactly its schema", async () => {
  const hook = defineHook({ tool: book, toolset: "a", name: "judge", beforeCall: () => ({ veto: "No." }) });
  const described = { ...book, inputSchema: { ...(book.inputSchema as object), minProperties: 1 } } as unknown as typeof book;
  const other = defineTool({ name: "book", description: "", inputSchema: z.object({ mail: z.string() }), execute: () => "mail" });
  const runtime = createRuntime({ toolsets: [{ name: "a", tools: [described, other], overloads: true }], hooks: [hook] });
  expect((await runtime.execute({ name: "a::book", input: { item: "x" } })).error?.code).toBe("vetoed");
  await runtime.close();
});
