/** Tools with schemas of zod, arktype and valibot: what the libraries write as JSON Schema, and what they are given. */
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { memoryStore } from "../../src/store/memory-store.ts";
import { deepFreeze } from "../../src/core/base/frozen.ts";
import { pure } from "../../src/core/effects.ts";
import { StructuredOutput } from "../../src/compose/structured-output.ts";
import { defineTool, type SchemaSource } from "../../src/registry/define-tool.ts";
import { fromStandardSchema } from "../../src/schema/standard-schema.ts";
import { testRuntime } from "../runtime/bench-runtime.ts";

const valibot = (entries: v.ObjectEntries) => toStandardJsonSchema(v.object(entries));

describe("patterns that take more than linear time", () => {
  const SCHEMAS: readonly (readonly [name: string, schema: SchemaSource, right: string, wrong: string])[] = [
    ["zod iso.duration", z.object({ a: z.iso.duration() }), "P3D", "3 days"],
    ["zod back-reference", z.object({ a: z.string().regex(/^(.)\1$/u) }), "xx", "xy"],
    ["arktype string.numeric", type({ a: "string.numeric" }), "1.5", "x"],
    ["arktype string.date.iso", type({ a: "string.date.iso" }), "2026-01-31", "yesterday"],
    ["arktype string.ip", type({ a: "string.ip" }), "127.0.0.1", "home"],
    ["valibot domain", valibot({ a: v.pipe(v.string(), v.domain()) }), "example.com", "-"],
    ["valibot emoji", valibot({ a: v.pipe(v.string(), v.emoji()) }), "😀", "x"],
  ];

  test.each(SCHEMAS)("are left to the library: %s", async (_, inputSchema, right, wrong) => {
    const { runtime } = testRuntime({
      tools: [
        defineTool({ name: "a", description: "A.", effects: pure, inputSchema, outputSchema: inputSchema, execute: (input) => input }),
      ],
    });
    const outcomes = [right, wrong].map(async (a) => {
      const { output, error } = await runtime.execute({ name: "a", input: { a } });
      return error?.code ?? output;
    });
    expect(await Promise.all(outcomes)).toEqual([{ a: right }, "invalid_input"]);
    expect(await new StructuredOutput(inputSchema).read(JSON.stringify({ a: right }))).toEqual({ value: { a: right } });
  });

  test("are left out where they are keywords, and nothing else is", () => {
    const slow = String.raw`^(.)\1$`;
    const schema = {
      type: "object",
      properties: {
        pattern: { type: "string", pattern: slow, minLength: 2 },
        default: { anyOf: [{ type: "string", pattern: slow }, { type: "null" }] },
        plain: { type: "string", pattern: "^a+$" },
        values: { const: { pattern: slow }, default: { pattern: slow }, enum: [{ pattern: slow }], examples: [{ pattern: slow }] },
      },
      propertyNames: { pattern: slow },
      $defs: { part: { items: { pattern: slow } } },
    };
    const write = (): Record<string, unknown> => schema;
    const standard = {
      version: 1 as const,
      vendor: "x",
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: write, output: write },
    };
    expect(fromStandardSchema({ "~standard": standard }).jsonSchema).toEqual({
      ...schema,
      properties: {
        ...schema.properties,
        pattern: { type: "string", minLength: 2 },
        default: { anyOf: [{ type: "string" }, { type: "null" }] },
      },
      propertyNames: {},
      $defs: { part: { items: {} } },
    });
  });
});

test("a text that is no date, address or UUID of zod is answered with what is expected, not with a pattern", async () => {
  const inputSchema = z.object({ day: z.iso.date(), mail: z.email(), id: z.uuid() });
  const { runtime } = testRuntime({ tools: [defineTool({ name: "a", description: "A.", effects: pure, inputSchema, execute: () => 1 })] });
  expect((await runtime.execute({ name: "a", input: { day: "today", mail: "x", id: "x" } })).error?.details).toEqual([
    '$.day: expected a date such as 2026-01-31, got "today"',
    '$.mail: expected an email address such as ada@example.com, got "x"',
    '$.id: expected a UUID such as 123e4567-e89b-12d3-a456-426614174000, got "x"',
  ]);
});

describe("a handler may change its input", () => {
  test.each<readonly [string, SchemaSource]>([
    ["zod", z.object({ l: z.any() })],
    ["arktype", type({ l: type({ at: "number" }).array() })],
    ["valibot", valibot({ l: v.any() })],
  ])("%s, and the input that is recorded stays as it was sent", async (_, inputSchema) => {
    const sort = defineTool({
      name: "sort",
      description: "Sorts.",
      effects: { writes: "a" },
      inputSchema,
      execute: (input) => {
        const { l } = input as { l: { at: number }[] };
        for (const one of l) one.at++;
        return l.sort((one, next) => one.at - next.at).map(({ at }) => at);
      },
    });
    const { runtime } = testRuntime({ tools: [sort], store: memoryStore() });
    const session = runtime.session();
    const input = { l: [{ at: 3 }, { at: 1 }] };
    expect(await session.execute({ name: "sort", input })).toMatchObject({ status: "ok", output: [2, 4] });
    expect([session.history[0]?.call.input, input]).toEqual([{ l: [{ at: 3 }, { at: 1 }] }, { l: [{ at: 3 }, { at: 1 }] }]);
    expect(await runtime.execute({ name: "sort", input: session.history[0]?.call.input ?? {} })).toMatchObject({ output: [2, 4] });
  });

  test("keys that mean something to JavaScript stay keys", async () => {
    const given = deepFreeze(JSON.parse('{ "__proto__": { "x": 1 }, "constructor": [1] }')) as object;
    const { parse } = fromStandardSchema(z.any());
    const parsed = await parse(given);
    expect(JSON.stringify(parsed)).toBe('{"value":{"__proto__":{"x":1},"constructor":[1]}}');
    expect("value" in parsed && Object.isFrozen(parsed.value)).toBe(false);
  });
});
