import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import { ToolOutput } from "../../src/core/content.ts";
import type { ToolContext } from "../../src/core/context.ts";
import { readOnly } from "../../src/core/resources/effects.ts";
import { ToolError } from "../../src/core/error.ts";
import type { JsonObject } from "../../src/core/base/json.ts";
import type { Tool } from "../../src/core/tool.ts";
import { defineTool } from "../../src/registry/define-tool.ts";

function refusal(fields: Record<string, unknown>): Pick<ToolError, "code" | "message"> {
  const definition = { name: "add", description: "Adds.", inputSchema: { type: "object" }, ...fields };
  try {
    Reflect.apply(defineTool, undefined, [definition]);
  } catch (error: unknown) {
    if (error instanceof ToolError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error("accepted");
}

describe("defineTool reports mistakes at once", () => {
  test.each([[{ a: z.string() }], [{ a: v.string() }], [{ a: type("string") }], [{ type: "object", properties: { a: z.string() } }]])(
    "properties that are schemas of a library are rejected: %#",
    (inputSchema) => {
      expect(refusal({ inputSchema })).toMatchObject({
        code: "invalid_schema",
        message: expect.stringContaining('"a" is a schema of a library') as unknown,
      });
      expect(refusal({ outputSchema: inputSchema })).toMatchObject({ code: "invalid_schema" });
    },
  );

  test("the schema of another tool may be used as a property", () => {
    const part = defineTool({ name: "p", description: "", inputSchema: z.object({ n: z.number() }), execute: () => 1 }).inputSchema;
    expect(() =>
      defineTool({ name: "q", description: "", inputSchema: { type: "object", properties: { part } }, execute: () => 1 }),
    ).not.toThrow();
  });

  test("JSON Schema written by a library may be used as a property", () => {
    const part = z.toJSONSchema(z.object({ n: z.number() }));
    const { inputSchema } = defineTool({
      name: "q",
      description: "",
      inputSchema: { type: "object", properties: { part } },
      execute: () => 1,
    });
    expect(inputSchema).toMatchObject({ properties: { part: { properties: { n: { type: "number" } } } } });
  });

  test.each([Object, 5n, Symbol("x")])("a type that is not a string is named: %#", (word) => {
    expect(refusal({ inputSchema: { type: word } }).message).toContain("type is ");
  });

  test.each<[string, unknown, string]>([
    ["timeoutMs", Infinity, "Infinity"],
    ["timeoutMs", -1, "-1"],
    ["timeoutMs", Number.NaN, "NaN"],
    ["timeoutMs", "5", '"5"'],
    ["deadlineMs", -0.5, "-0.5"],
    ["maxAttempts", 0, "0"],
    ["maxAttempts", 1.5, "1.5"],
    ["maxAttempts", Infinity, "Infinity"],
    ["maxConcurrent", 0, "0"],
    ["maxResultBytes", 0.5, "0.5"],
    ["title", 5, "5"],
    ["description", 5, "5"],
    ["description", undefined, "missing"],
    ["tags", "a", '"a"'],
    ["tags", [1], "an array"],
    ["requires", {}, "an object"],
    ["category", "SAFE", '"SAFE"'],
    ["unknownKeys", true, "true"],
    ["enabled", "yes", '"yes"'],
    ["execute", "run", '"run"'],
    ["supersedes", true, "true"],
    ["metadata", [], "an array"],
    ["effects", "pure", '"pure"'],
  ])("B02 F4.1 %s = %s", (field, value, shown) => {
    expect(refusal({ [field]: value })).toEqual({
      code: "invalid_argument",
      message: expect.stringContaining(`${field} of tool "add" is ${shown}; it must be `),
    });
  });

  test.each<[string, unknown]>([
    ["reads", 5],
    ["writes", [1]],
    ["idempotent", 1],
    ["destructive", "yes"],
    ["undo", {}],
    ["reconcile", "ask"],
  ])("F4.1 effects.%s = %j", (field, value) => {
    expect(refusal({ effects: { [field]: value } })).toEqual({
      code: "invalid_argument",
      message: expect.stringContaining(`effects.${field} of tool "add" is `),
    });
  });

  test("F4.1 an unknown field is rejected and the known fields are listed", () => {
    expect(() => Reflect.apply(defineTool, undefined, [{ name: "add", description: "Adds.", handler() {} }])).toThrowError(
      expect.objectContaining({
        code: "invalid_argument",
        message: 'Tool "add" has an unknown field "handler".',
        hint: expect.stringContaining("execute"),
      }),
    );
    expect(refusal({ effects: { read: [] } }).message).toBe('Tool "add" has an unknown field "effects.read".');
    expect(refusal({ parseInput() {} }).message).toBe('Tool "add" has an unknown field "parseInput".');
  });

  test.each([
    undefined,
    null,
    5,
    "add",
    [],
    new (class Add {
      readonly name = "add";
      readonly description = "Adds.";
      execute(): void {}
    })(),
  ])("F4.1 %j is not a tool definition", (definition) => {
    expect(() => Reflect.apply(defineTool, undefined, [definition])).toThrowError(expect.objectContaining({ code: "invalid_argument" }));
  });

  test.each(["", 5, "a\u0000", "x".repeat(257), undefined])("F4.1 %j is not a valid name", (name) => {
    expect(refusal({ name }).code).toBe("invalid_argument");
  });

  test.each([{ type: "string" }, { type: ["array", "null"] }, z.string(), type("number")])(
    "an input schema that is not an object is rejected: %j",
    (inputSchema) => {
      expect(refusal({ inputSchema })).toEqual({
        code: "invalid_schema",
        message: expect.stringMatching(/^The input schema of tool "add": type is .*; the input of a tool must be an object\.$/u),
      });
    },
  );

  test("F4.1 an unusable schema is reported with the tool and whether it is input or output", () => {
    expect(refusal({ inputSchema: { type: "strnig" } })).toEqual({
      code: "invalid_schema",
      message: expect.stringMatching(/^The input schema of tool "add": .*type/u),
    });
    expect(refusal({ outputSchema: { $ref: "#/nowhere" } })).toEqual({
      code: "invalid_schema",
      message: expect.stringMatching(/^The output schema of tool "add": /u),
    });
    expect(refusal({ inputSchema: v.object({}) })).toEqual({ code: "invalid_schema", message: expect.stringContaining("valibot") });
    expect(refusal({ inputSchema: z.object({ d: z.date() }) }).code).toBe("invalid_schema");
    expect(refusal({ inputSchema: "object" }).code).toBe("invalid_argument");
    expect(refusal({ inputSchema: { default: 1n } }).code).toBe("invalid_schema");
  });
});

describe("a tool is frozen and complete", () => {
  test("F2.7 omitted fields stay absent, and a tool without a schema takes any object", () => {
    const tool = defineTool({ name: "now", description: "Tells the time." });
    expect(tool).toEqual({ name: "now", description: "Tells the time.", inputSchema: { type: "object" } });
    expect(Object.isFrozen(tool)).toBe(true);
  });

  test("F2.7 F2.8 it serializes to JSON without its handlers", () => {
    const tool = defineTool({
      name: "add",
      description: "Adds.",
      inputSchema: z.object({ a: z.number() }),
      tags: ["math"],
      timeoutMs: 0,
      execute: () => 1,
    });
    expect(JSON.parse(JSON.stringify(tool))).toEqual({
      name: "add",
      description: "Adds.",
      tags: ["math"],
      timeoutMs: 0,
      inputSchema: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        properties: { a: { type: "number" } },
        required: ["a"],
      },
    });
  });

  test("changing the definition afterwards has no effect", () => {
    const effects = { reads: ["clock"], writes: [], idempotent: true };
    const tags = ["time"];
    const schema = { type: "object", properties: { a: { type: "string" } } };
    const tool = defineTool({ name: "t", description: "", inputSchema: schema, effects, tags });
    schema.properties.a.type = "integer";
    effects.idempotent = false;
    effects.reads.push("file");
    tags.push("space");
    expect([tool.tags, tool.inputSchema, tool.effects]).toEqual([
      ["time"],
      { type: "object", properties: { a: { type: "string" } } },
      { reads: ["clock"], writes: [], idempotent: true },
    ]);
  });

  test("a category sets its defaults unless the field is given", () => {
    const base = { name: "t", description: "" };
    expect(defineTool({ ...base, category: "DANGEROUS" })).toMatchObject({ oncePerTurn: true });
    expect(defineTool({ ...base, category: "DANGEROUS", oncePerTurn: false })).toMatchObject({ oncePerTurn: false });
    expect(defineTool({ ...base, category: "TERMINAL" })).toMatchObject({ endsTurn: true });
    expect(defineTool({ ...base, category: "SAFE_CHAIN" })).toEqual({ ...base, category: "SAFE_CHAIN", inputSchema: { type: "object" } });
  });

  test("its schemas are Standard Schemas: inputs are repaired as in a call, outputs only validated", () => {
    const schema = { type: "object", properties: { n: { type: "integer" } }, additionalProperties: false } as const;
    const read = defineTool({ name: "r", description: "", inputSchema: schema, outputSchema: { type: "integer" }, effects: readOnly() });
    const write = defineTool({ name: "w", description: "", inputSchema: schema });
    expect(read.inputSchema["~standard"].validate({ n: "5", x: 1 })).toEqual({ value: { n: 5 } });
    expect(write.inputSchema["~standard"].validate({ n: "5", x: 1 })).toMatchObject({ issues: [{ path: ["x"] }] });
    expect(read.outputSchema?.["~standard"].validate("5")).toMatchObject({ issues: [{ path: [] }] });
    expect(read.outputSchema?.["~standard"].validate(5)).toEqual({ value: 5 });
  });

  test("parseInput and parseOutput are set only for a library's schema, not for the schema of another tool", () => {
    const plain = defineTool({ name: "p", description: "", inputSchema: { type: "object" }, outputSchema: { type: "string" } });
    const again = defineTool({ name: "a", description: "", inputSchema: plain.inputSchema });
    const typed = defineTool({
      name: "t",
      description: "",
      inputSchema: z.object({ n: z.string().transform(Number) }),
      outputSchema: z.object({ d: z.string().default("x") }),
    });
    expect([plain.parseInput, plain.parseOutput, again.parseInput, again.parseOutput]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(typed.parseInput?.({ n: "5" })).toEqual({ value: { n: 5 } });
    expect(typed.parseOutput?.({})).toEqual({ value: { d: "x" } });
    expect(typed.outputSchema).toMatchObject({ properties: { d: { type: "string" } }, required: ["d"] });
  });
});

describe("types follow from the schema", () => {
  test("of a JSON Schema literal", () => {
    const tool = defineTool({
      name: "read",
      description: "Reads.",
      inputSchema: {
        type: "object",
        properties: { path: { type: "string" }, limit: { type: "integer" }, unit: { enum: ["a", "b"], default: "a" } },
        required: ["path"],
      },
      outputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      execute(input, context) {
        expectTypeOf(input).toEqualTypeOf<{ readonly path: string; readonly unit: "a" | "b"; readonly limit?: number }>();
        expectTypeOf(context).toEqualTypeOf<ToolContext>();
        return { text: input.path };
      },
    });
    expectTypeOf(tool).toExtend<Tool>();
  });

  test("a library's schema without JSON Schema is a type error, and is rejected with a hint at what would work", () => {
    const given = { name: "look", description: "Looks." };
    const refused = (hint: string): unknown =>
      expect.objectContaining({
        code: "invalid_schema",
        message: expect.stringContaining('The input schema of tool "look"'),
        hint: expect.stringContaining(hint),
      });
    // @ts-expect-error -- zod 3 is Standard Schema, without JSON Schema
    expect(() => defineTool({ ...given, inputSchema: z3.object({ n: z3.number() }) })).toThrowError(refused("npm install zod@4"));
    // @ts-expect-error -- as is plain valibot
    expect(() => defineTool({ ...given, inputSchema: v.object({ n: v.number() }) })).toThrowError(refused("@valibot/to-json-schema"));
  });

  test("of zod, arktype and valibot, after parsing", () => {
    defineTool({
      name: "z",
      description: "",
      inputSchema: z.object({ n: z.string().transform(Number) }),
      execute: (input) => expectTypeOf(input).toEqualTypeOf<{ n: number }>(),
    });
    defineTool({
      name: "a",
      description: "",
      inputSchema: type({ name: "string" }),
      execute: (input) => expectTypeOf(input).toEqualTypeOf<{ name: string }>(),
    });
    const valibot = toStandardJsonSchema(v.object({ n: v.optional(v.number(), 1) }));
    defineTool({
      name: "v",
      description: "",
      inputSchema: valibot,
      execute: (input) => expectTypeOf(input).toEqualTypeOf<{ n: number }>(),
    });
  });

  test("without a literal the input is a JSON object, and the return type is checked against the output schema", () => {
    const schema: { readonly [keyword: string]: unknown } = { type: "object" };
    defineTool({ name: "d", description: "", inputSchema: schema, execute: (input) => expectTypeOf(input).toEqualTypeOf<JsonObject>() });
    defineTool({ name: "n", description: "", execute: (input) => expectTypeOf(input).toEqualTypeOf<JsonObject>() });
    defineTool({ name: "o", description: "", outputSchema: z.object({ n: z.number() }), execute: async () => ({ n: 1 }) });
    defineTool({
      name: "c",
      description: "",
      outputSchema: { type: "string" },
      execute: () => new ToolOutput({ output: "x", content: [] }),
    });
    // @ts-expect-error the schema says string
    defineTool({ name: "w", description: "", outputSchema: { type: "string" }, execute: () => 5 });
  });

  test("and the input schema exposes the JSON input type to other frameworks", () => {
    const tool = defineTool({ name: "z", description: "", inputSchema: z.object({ n: z.string().transform(Number) }) });
    expectTypeOf<NonNullable<(typeof tool.inputSchema)["~standard"]["types"]>["input"]>().toEqualTypeOf<{ n: string }>();
  });
});
