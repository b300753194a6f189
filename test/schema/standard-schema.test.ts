import type { StandardSchemaV1 } from "@standard-schema/spec";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ToolError } from "../../src/core/error.ts";
import { compileSchema } from "../../src/schema/compile-schema.ts";
import { fromStandardSchema, withStandardSchema } from "../../src/schema/standard-schema.ts";
import { isStandardSchema } from "../../src/schema/library-schema.ts";

const valibotSchema = v.object({ n: v.pipe(v.string(), v.transform(Number)), o: v.optional(v.string(), "x") });

describe("importing a library's schema", () => {
  test("without JSON Schema support it is rejected, with a hint", () => {
    expect(() => fromStandardSchema(valibotSchema)).toThrowError(
      expect.objectContaining({
        code: "invalid_schema",
        message: expect.stringContaining('"valibot"'),
        hint: expect.stringContaining("toStandardJsonSchema(schema) from @valibot/to-json-schema"),
      }),
    );
    const other = { "~standard": { version: 1 as const, vendor: "other", validate: (value: unknown) => ({ value }) } };
    expect(() => fromStandardSchema(other)).toThrowError(
      expect.objectContaining({ code: "invalid_schema", hint: expect.stringContaining("JSON Schema") }),
    );
  });

  test("a type that JSON lacks is rejected, with the library's reason", () => {
    expect(() => fromStandardSchema(z.object({ when: z.date() }))).toThrowError(
      expect.objectContaining({ code: "invalid_schema", message: expect.stringMatching(/zod.*input.*Date/u) }),
    );
    expect(() => fromStandardSchema(z.object({ n: z.string().transform(Number) }), "output")).toThrowError(ToolError);
  });

  test("zod gives the JSON Schema of its input, and parse gives the transformed values", () => {
    const { jsonSchema, parse } = fromStandardSchema(z.object({ n: z.string().transform(Number), d: z.number().default(1) }));
    expect(jsonSchema).toMatchObject({
      type: "object",
      properties: { n: { type: "string" }, d: { type: "number", default: 1 } },
      required: ["n"],
    });
    expect(parse({ n: "5" })).toEqual({ value: { n: 5, d: 1 } });
  });

  test("arktype is supported, whose schemas are functions", () => {
    const { jsonSchema, parse } = fromStandardSchema(type({ name: "string", "age?": "number" }));
    expect(jsonSchema).toMatchObject({
      type: "object",
      properties: { name: { type: "string" }, age: { type: "number" } },
      required: ["name"],
    });
    expect(parse({ name: "a" })).toEqual({ value: { name: "a" } });
    expect(parse({ name: 1 })).toEqual({ issues: [expect.stringMatching(/^\$\.name: .*string/u)] });
  });

  test("valibot is supported through its JSON Schema package", () => {
    const { jsonSchema, parse } = fromStandardSchema(toStandardJsonSchema(v.object({ n: v.number(), o: v.optional(v.string(), "x") })));
    expect(jsonSchema).toMatchObject({
      type: "object",
      properties: { n: { type: "number" }, o: { type: "string", default: "x" } },
      required: ["n"],
    });
    expect(parse({ n: 1 })).toEqual({ value: { n: 1, o: "x" } });
  });

  test("issues are lines with $ paths", () => {
    const { parse } = fromStandardSchema(z.object({ list: z.array(z.object({ "a b": z.int() })) }));
    expect(parse({ list: [{ "a b": "x" }] })).toEqual({ issues: [expect.stringMatching(/^\$\.list\[0\]\["a b"\]: ./u)] });
    expect(parse(null)).toEqual({ issues: [expect.stringMatching(/^\$: ./u)] });
  });

  test("asynchronous validation is awaited, and a throw or rejection becomes an issue", async () => {
    const later = fromStandardSchema(z.object({ n: z.number().refine(async (n) => n > 1, "too small") }));
    await expect(later.parse({ n: 2 })).resolves.toEqual({ value: { n: 2 } });
    await expect(later.parse({ n: 0 })).resolves.toEqual({ issues: ["$.n: too small"] });
    const broken = (validate: () => never | Promise<never>) => ({
      "~standard": { version: 1 as const, vendor: "x", validate, jsonSchema: { input: () => ({}), output: () => ({}) } },
    });
    expect(
      fromStandardSchema(
        broken(() => {
          throw new Error("boom");
        }),
      ).parse({}),
    ).toEqual({ issues: ["$: boom"] });
    await expect(fromStandardSchema(broken(() => Promise.reject(new Error("later boom")))).parse({})).resolves.toEqual({
      issues: ["$: later boom"],
    });
  });

  test("a thenable that is not a Promise is awaited, and an invalid validation result becomes an issue", async () => {
    const answering = (answer: unknown): StandardSchemaV1 => {
      const standard = { version: 1, vendor: "x", validate: () => answer, jsonSchema: { input: () => ({}), output: () => ({}) } };
      return { "~standard": standard } as StandardSchemaV1;
    };
    const thenable = { then: (resolve: (result: unknown) => void) => resolve({ issues: [{ message: "no" }] }) };
    await expect(fromStandardSchema(answering(thenable)).parse({})).resolves.toEqual({ issues: ["$: no"] });
    expect(fromStandardSchema(answering(null)).parse({})).toEqual({ issues: [expect.stringMatching(/^\$: ./u)] });
    await expect(fromStandardSchema(answering(Promise.resolve(null))).parse({})).resolves.toEqual({
      issues: [expect.stringMatching(/^\$: ./u)],
    });
  });

  test("isStandardSchema is false for values that are not a Standard Schema", () => {
    const strangers = [undefined, null, 5, "x", {}, { type: "object" }, { "~standard": 1 }, { "~standard": { version: 1 } }];
    expect(strangers.map(isStandardSchema)).toEqual(strangers.map(() => false));
    expect([z.string(), type("string"), v.string()].map(isStandardSchema)).toEqual([true, true, true]);
  });
});

/** What the MCP SDK, AI SDK, OpenAI Agents and Mastra do with a schema they are handed, by the Standard Schema specification. */
function asFramework(schema: unknown): { readonly jsonSchema: Record<string, unknown>; readonly validate: (value: unknown) => unknown } {
  if (!isStandardSchema(schema)) throw new Error("not a Standard Schema");
  const standard = schema["~standard"];
  if (!("jsonSchema" in standard)) throw new Error("no JSON Schema");
  const converter = standard.jsonSchema as { input(options: { target: string }): Record<string, unknown> };
  return { jsonSchema: { type: "object", ...converter.input({ target: "draft-2020-12" }) }, validate: (value) => standard.validate(value) };
}

describe("exporting our schemas", () => {
  const schema = {
    type: "object",
    properties: { n: { type: "integer" }, unit: { type: "string", default: "cm" } },
    required: ["n"],
    additionalProperties: false,
  };
  const facade = withStandardSchema(compileSchema(schema), { repair: { dropUnknownKeys: true } });

  test("they serialize, spread and clone as plain JSON Schema, and are frozen", () => {
    expect(JSON.stringify(facade)).toBe(JSON.stringify(schema));
    expect({ ...facade }).toEqual(schema);
    expect(structuredClone(facade)).toEqual(schema);
    expect(Object.isFrozen(facade) && Object.isFrozen(facade["~standard"])).toBe(true);
    expect({ version: facade["~standard"].version, vendor: facade["~standard"].vendor }).toEqual({ version: 1, vendor: "haft" });
  });

  test("a framework gets the JSON Schema, and validates with our repairs", () => {
    const framework = asFramework(facade);
    expect(framework.jsonSchema).toEqual(schema);
    expect(framework.validate({ n: "5", extra: 1 })).toEqual({ value: { n: 5, unit: "cm" } });
    expect(framework.validate({ n: "x" })).toEqual({ issues: [{ message: "expected type integer, got string", path: ["n"] }] });
    expect(framework.validate(null)).toEqual({ issues: [{ message: "expected type object, got null", path: [] }] });
    expect(framework.validate({ n: 1n })).toEqual({ issues: [{ message: expect.stringContaining("bigint") }] });
  });

  test("each returned JSON Schema is a fresh copy, and an unsupported target throws", () => {
    const { jsonSchema } = facade["~standard"];
    const first = jsonSchema.input({ target: "draft-07" });
    first["type"] = "changed";
    expect(jsonSchema.output({ target: "draft-2020-12" })).toEqual(schema);
    expect(() => jsonSchema.input({ target: "openapi-3.0" })).toThrowError(expect.objectContaining({ code: "invalid_argument" }));
  });

  test("without repairs, a value of any type is checked strictly", () => {
    const list = withStandardSchema(compileSchema({ type: "array", items: { properties: { "a/b~c": { type: "integer" } } } }));
    expect(list["~standard"].validate([{ "a/b~c": 1 }])).toEqual({ value: [{ "a/b~c": 1 }] });
    expect(list["~standard"].validate([{ "a/b~c": "1" }])).toEqual({
      issues: [{ message: "expected type integer, got string", path: ["0", "a/b~c"] }],
    });
  });

  test("true and false are exported as objects", () => {
    expect([withStandardSchema(compileSchema(true)), withStandardSchema(compileSchema(false))]).toEqual([{}, { not: {} }]);
  });

  test("an exported schema can be imported again", () => {
    const { jsonSchema, parse } = fromStandardSchema(facade);
    expect(jsonSchema).toEqual(schema);
    expect(parse({ n: "5" })).toEqual({ value: { n: 5, unit: "cm" } });
  });
});
