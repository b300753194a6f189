/** Tools with schemas of zod, arktype and valibot: what the libraries write as JSON Schema, and what they are given. */
import { runInNewContext } from "node:vm";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import { foreignTool } from "../../src/adapters/bridge.ts";
import { validateInput, validateOutput } from "../../src/schema/validation-result.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { deepFreeze } from "../../src/core/base/frozen.ts";
import { pure } from "../../src/core/resources/effects.ts";
import { StructuredOutput } from "../../src/compose/structured-output.ts";
import { defineTool, type SchemaSource } from "../../src/registry/define-tool.ts";
import { fromStandardSchema } from "../../src/schema/standard-schema.ts";
import { testRuntime } from "../runtime/bench-runtime.ts";

const valibot = (entries: v.ObjectEntries) => toStandardJsonSchema(v.object(entries));

describe("patterns that may take more than linear time", () => {
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

  test("are left out only where they are keywords", () => {
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

test("a string that is no date, address or UUID for zod is answered with what is expected, not with a pattern", async () => {
  const inputSchema = z.object({ day: z.iso.date(), mail: z.email(), id: z.uuid() });
  const { runtime } = testRuntime({ tools: [defineTool({ name: "a", description: "A.", effects: pure, inputSchema, execute: () => 1 })] });
  expect((await runtime.execute({ name: "a", input: { day: "today", mail: "x", id: "x" } })).error?.details).toEqual([
    '$.day: expected a date such as 2026-01-31, got "today"',
    '$.mail: expected an email address such as ada@example.com, got "x"',
    '$.id: expected a UUID such as 123e4567-e89b-12d3-a456-426614174000, got "x"',
  ]);
});

test.each<readonly [string, SchemaSource]>([
  ["zod", z.object({ code: z.string().refine((code) => code.startsWith("A"), "an A") })],
  ["arktype", type({ code: type("string").narrow((code, context) => code.startsWith("A") || context.mustBe("an A")) })],
  [
    "valibot",
    valibot({
      code: v.pipe(
        v.string(),
        v.check((code) => code.startsWith("A"), "an A"),
      ),
    }),
  ],
])("a rule that JSON Schema cannot express is checked by the library alone: %s", async (_, inputSchema) => {
  const tool = defineTool({
    name: "a",
    description: "A.",
    effects: pure,
    inputSchema,
    outputSchema: inputSchema,
    execute: (input) => input,
  });
  const { runtime } = testRuntime({ tools: [tool] });
  expect(tool.inputSchema).toMatchObject({ properties: { code: { type: "string" } }, required: ["code"] });
  expect(await runtime.execute({ name: "a", input: { code: "A1" } })).toMatchObject({ status: "ok", output: { code: "A1" } });
  const { error } = await runtime.execute({ name: "a", input: { code: "B1" } });
  expect([error?.code, error?.details?.[0]]).toEqual(["invalid_input", expect.stringContaining("an A")]);
});

test("types and transforms that valibot cannot write as JSON Schema are still refused", () => {
  const define = (schema: SchemaSource, side: string) => () => defineTool({ name: "a", description: "A.", [side]: schema });
  const date = v.pipe(
    v.string(),
    v.transform((text) => new Date(text)),
  );
  expect(define(valibot({ day: v.date() }), "inputSchema")).toThrow("date");
  expect(define(valibot({ day: date }), "outputSchema")).toThrow("transform");
});

test.each([
  ["zod", z.object({ a: z.string() }), "z.toJSONSchema(schema) of zod 4 converts it"],
  ["valibot", v.object({ a: v.string() }), "toJsonSchema(schema) of @valibot/to-json-schema converts it"],
  ["arktype", type({ a: "string" }), "schema.toJsonSchema() converts it"],
])("a schema of %s in a plain tool is refused with the call of this library that converts it", (_, inputSchema, hint) => {
  const plain = { name: "a", description: "A.", inputSchema: inputSchema as never, execute: () => 1 };
  expect(() => testRuntime({ tools: [plain] })).toThrow(expect.objectContaining({ hint: expect.stringContaining(hint) }));
});

describe("a handler may change its input", () => {
  test.each<readonly [string, SchemaSource]>([
    ["zod", z.object({ l: z.any() })],
    ["arktype", type({ l: type({ at: "number" }).array() })],
    ["valibot", valibot({ l: v.any() })],
  ])("%s, and the recorded input stays as it was sent", async (_, inputSchema) => {
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

  test("and keys such as __proto__ stay own keys", async () => {
    const given = deepFreeze(JSON.parse('{ "__proto__": { "x": 1 }, "constructor": [1] }')) as object;
    const { parse } = fromStandardSchema(z.any());
    const parsed = await parse(given);
    expect(JSON.stringify(parsed)).toBe('{"value":{"__proto__":{"x":1},"constructor":[1]}}');
    expect("value" in parsed && Object.isFrozen(parsed.value)).toBe(false);
  });
});

describe("a schema that would allow everything as JSON Schema is rejected wherever a program passes one:", () => {
  /** As those of io-ts, superstruct and runtypes are. */
  class Codec {
    readonly type = "object";
    readonly fields = { city: "string" };
    readonly is = (value: unknown): boolean => typeof value === "object";
    decode(value: unknown): unknown {
      return value;
    }
  }
  const effect = Object.assign((value: unknown) => value, { ast: { _tag: "TypeLiteral" } });
  const object = (city: unknown) => ({ type: "object", properties: { city } });
  const STANDARD: ReadonlySet<string> = new Set(["of zod 4", "of zod 3"]);
  const WRONG: Readonly<Record<string, readonly [schema: unknown, message: string]>> = {
    "of zod 4": [z.object({ city: z.string() }), 'a schema of "zod", not a JSON Schema'],
    "of zod 3": [z3.object({ city: z3.string() }), 'schema of "zod"'],
    "fields of zod 4": [{ city: z.string() }, '"city" is a schema of a library'],
    "zod 3 in JSON Schema": [object(z3.string()), '"city" is a schema of a library'],
    "an instance with functions": [new Codec(), '"is" is a function'],
    "such an instance in JSON Schema": [object(new Codec()), '"city" is a schema of a library'],
    "an instance with methods": [Object.create(Codec.prototype), '"decode" is a function'],
    "a class": [Codec, "a schema must be an object or a boolean, not a function"],
    "of effect": [effect, "a schema must be an object or a boolean, not a function"],
    "constructors as types": [{ city: String }, '"city" is a function'],
    "constructors in JSON Schema": [object(String), '"city" is a schema of a library'],
    "properties alone": [{ city: { type: "string" } }, '"city" looks like a property name'],
    "words alone": [{ city: "string" }, '"city" looks like a property name'],
  };
  const tool = { name: "a", description: "A." };
  const execute = () => ({});
  const PLACES: Readonly<Record<string, (schema: never) => unknown>> = {
    "defineTool, input": (inputSchema) => defineTool({ ...tool, inputSchema, execute }),
    "defineTool, output": (outputSchema) => defineTool({ ...tool, outputSchema }),
    "a plain tool, input": (inputSchema) => testRuntime({ tools: [{ ...tool, inputSchema, execute }] }),
    "a plain tool, output": (outputSchema) => testRuntime({ tools: [{ ...tool, inputSchema: {}, outputSchema, execute }] }),
    "the output of a loop": (schema) => new StructuredOutput(schema),
    "a tool of another framework": (schema) => foreignTool({ name: "a", description: "A.", schema, execute }),
    "validateInput()": (schema) => throwAll(validateInput({}, schema).errors),
    "validateOutput()": (schema) => throwAll(validateOutput({}, schema).errors),
  };
  const throwAll = (errors: readonly string[]): void => {
    if (errors.length > 0) throw new Error(errors.join("\n"));
  };

  test.each(Object.keys(PLACES))("%s", (place) => {
    const found = Object.entries(WRONG).flatMap(([name, [schema, message]]) => {
      try {
        PLACES[place]?.(schema as never);
        return [[name, "accepted"]];
      } catch (thrown: unknown) {
        const text = String(thrown);
        return STANDARD.has(name) || text.toLowerCase().includes(message.toLowerCase()) ? [] : [[name, text]];
      }
    });
    const takesStandard = !/plain|validate/u.test(place);
    expect(found).toEqual(takesStandard ? [["of zod 4", "accepted"]] : []);
  });

  test("with a hint", () => {
    const hintOf = (schema: unknown): unknown => {
      try {
        return defineTool({ ...tool, inputSchema: schema as never });
      } catch (thrown: unknown) {
        return (thrown as { readonly hint?: string }).hint;
      }
    };
    expect(hintOf(effect)).toMatch(/^Wrap it: Schema\.toStandardJSONSchemaV1/u);
    expect(hintOf(z3.object({}))).toMatch(/^Use zod ≥ 4\.2/u);
    expect(hintOf(new Codec())).toMatch(/^Use a library or a version of it that has `~standard\.jsonSchema`, .* or give a JSON Schema\.$/u);
  });

  test("except that an object with toJSON is used as the JSON it returns, in a plain tool too", async () => {
    class Written {
      readonly #schema = { ...object({ type: "string" }), required: ["city"] };
      toJSON(): unknown {
        return this.#schema;
      }
    }
    const schema = new Written() as never;
    expect(validateOutput({}, schema).valid).toBe(false);
    const { runtime } = testRuntime({ tools: [{ ...tool, inputSchema: schema, execute }] });
    expect((await runtime.execute({ name: "a", input: {} })).error?.code).toBe("invalid_input");
    for (const none of [new Date(0), new URL("https://a.example")]) {
      expect([validateInput({}, none).valid, validateOutput({}, none).valid]).toEqual([false, false]);
      for (const plain of [{ inputSchema: none }, { inputSchema: {}, outputSchema: none }])
        expect(() => testRuntime({ tools: [{ ...tool, execute, ...plain } as never] })).toThrow("must be an object or a boolean");
    }
  });

  test("except JSON Schema that a library wrote in another realm", () => {
    const ofZod = z.toJSONSchema(z.object({ city: z.string() }));
    for (const copy of [runInNewContext("({})") as object, Object.create(null) as object]) {
      const schema = Object.defineProperties(copy, Object.getOwnPropertyDescriptors(ofZod));
      expect(validateInput({ city: "Oslo" }, schema).errors).toEqual([]);
      expect(() => testRuntime({ tools: [{ ...tool, inputSchema: schema as never, execute }] })).not.toThrow();
    }
  });

  test("except an object that serializes to a JSON Schema", () => {
    const written = { toJSON: () => object({ type: "string" }), prop: () => written };
    expect(validateInput({ city: 5 }, written).errors).toEqual(["$.city: expected type string, got integer"]);
    for (const schema of [written, z.toJSONSchema(z.object({ city: z.string() })), Object.assign(Object.create(null), object(true))])
      expect(defineTool({ ...tool, inputSchema: schema as never }).inputSchema).toHaveProperty("properties.city");
  });
});
