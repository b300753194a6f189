import { type } from "arktype";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { external, pure, readOnly } from "../../src/core/resources/effects.ts";
import type { JsonObject } from "../../src/core/base/json.ts";
import type { Tool } from "../../src/core/tool.ts";
import { type DefinedTool, defineTool } from "../../src/registry/define-tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";

const base = { name: "take", description: "Takes from the stock.", execute: () => null };

test("the input type of effects and validate follows from a JSON Schema literal", () => {
  const tool = defineTool({
    ...base,
    inputSchema: {
      type: "object",
      properties: { item: { type: "string" }, count: { type: "integer", default: 1 }, note: { type: "string" } },
      required: ["item"],
    },
    effects: {
      reads: ({ item }) => `stock:${item}`,
      writes: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ readonly item: string; readonly count: number; readonly note?: string }>();
        return [`stock:${input.item}`];
      },
      undo({ input }) {
        expectTypeOf(input.count).toEqualTypeOf<number>();
      },
      reconcile({ input }) {
        expectTypeOf(input.note).toEqualTypeOf<string | undefined>();
        return undefined;
      },
    },
    validate: ({ count }) => (count > 9 ? ["At most 9."] : []),
  });
  expectTypeOf(tool).toExtend<Tool>();
  const item = { type: "object", properties: { item: { type: "string" } } } as const;
  // @ts-expect-error a misspelt property does not compile
  defineTool({ ...base, inputSchema: item, effects: { writes: ({ itme }) => [itme] } });
  // @ts-expect-error nor does one in the tool's own rules
  defineTool({ ...base, inputSchema: item, validate: ({ itme }) => [itme] });
});

test("with zod, valibot and arktype it is the JSON that is sent, before any transform", () => {
  defineTool({
    ...base,
    inputSchema: z.object({ item: z.string().transform((text) => text.length), tags: z.array(z.string()).optional() }),
    effects: { writes: ({ item, tags = [] }) => [`stock:${item satisfies string}`, ...tags] },
    validate: (input) => (expectTypeOf(input.item).toEqualTypeOf<string>(), []),
  });
  defineTool({
    ...base,
    inputSchema: toStandardJsonSchema(v.object({ item: v.string() })),
    effects: { writes: ({ item }) => (expectTypeOf(item).toEqualTypeOf<string>(), [item]) },
    validate: ({ item }) => [item],
  });
  defineTool({
    ...base,
    inputSchema: type({ item: "string" }),
    effects: { writes: ({ item }) => (expectTypeOf(item).toEqualTypeOf<string>(), [item]) },
    validate: ({ item }) => [item],
  });
  // @ts-expect-error a misspelt property does not compile
  defineTool({ ...base, inputSchema: z.object({ item: z.string() }), effects: { writes: ({ itme }) => [itme] } });
  // @ts-expect-error a misspelt property does not compile
  defineTool({ ...base, inputSchema: toStandardJsonSchema(v.object({ item: v.string() })), validate: ({ itme }) => [itme] });
  // @ts-expect-error a misspelt property does not compile
  defineTool({ ...base, inputSchema: type({ item: "string" }), effects: { reads: ({ itme }) => [itme] } });
});

test("without a schema it is any JSON object, and presets fit every tool", () => {
  defineTool({ ...base, effects: { writes: (input) => (expectTypeOf(input).toEqualTypeOf<JsonObject>(), []) } });
  for (const effects of [pure, external, readOnly("stock:")]) defineTool({ ...base, inputSchema: z.object({ item: z.string() }), effects });
});

test("an array or a record of DefinedTool holds tools of any schemas", () => {
  const inputSchema = z.object({ item: z.string().transform((text) => text.length) });
  const take = defineTool({ ...base, inputSchema, execute: ({ item }) => item + 1 });
  const list = defineTool({
    ...base,
    name: "list",
    inputSchema: { type: "object", properties: { page: { type: "integer" } }, required: ["page"] },
  });
  const tools: readonly DefinedTool[] = [take, list, defineTool(base)];
  const byName: Readonly<Record<string, DefinedTool>> = { take, list };
  expectTypeOf(take.execute).exclude(undefined).parameter(0).toEqualTypeOf<{ item: number }>();
  expect(() => createRuntime({ tools: Object.values(byName) })).not.toThrow();
  expect(tools).toHaveLength(3);
});

describe("key templates", () => {
  const properties = {
    item: { type: "string" },
    order: { type: "object", properties: { id: { type: "integer" } } },
    paths: { type: "array" },
  };
  const inputSchema = { type: "object", properties } as const;
  test.each<[string | readonly string[], string, string]>([
    ["stock:{itme}", 'effects.writes of tool "take" names "{itme}", and the input has no property "itme".', 'Did you mean "{item}"?'],
    [
      ["a:", "o:{order.idd}"],
      'effects.writes of tool "take" names "{order.idd}", and the input has no property "order.idd".',
      'Did you mean "{order.id}"?',
    ],
    [
      "stock:{toString}",
      'effects.writes of tool "take" names "{toString}", and the input has no property "toString".',
      "It has item, order, paths.",
    ],
    [
      "stock:{item",
      'effects.writes of tool "take": The resource key "stock:{item" cannot be read: "{" has no matching brace.',
      "Write the name of a property",
    ],
  ])("%j is rejected by defineTool and by createRuntime", (writes, message, hint) => {
    const expected = expect.objectContaining({ code: "invalid_argument", message, hint: expect.stringContaining(hint) });
    expect(() => defineTool({ ...base, inputSchema, effects: { writes } })).toThrowError(expected);
    expect(() => createRuntime({ tools: [{ ...base, inputSchema, effects: { writes } }] })).toThrowError(expected);
  });

  test.each([{}, true, { type: "object" }, { ...inputSchema, additionalProperties: true }, { ...inputSchema, allOf: [{}] }])(
    "any name is accepted where the schema may allow other properties, as in %j",
    (schema) => {
      expect(() => createRuntime({ tools: [{ ...base, inputSchema: schema, effects: { writes: "stock:{else}" } }] })).not.toThrow();
    },
  );
});
