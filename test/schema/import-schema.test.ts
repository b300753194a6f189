import { describe, expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { importSchema } from "../../src/schema/import-schema.ts";

describe("importSchema", () => {
  test.each<[unknown, string]>([
    ["{}", 'not "{}"'],
    [5, "not 5"],
    [[], "not []"],
  ])("throws for %j, which is not a schema", (raw, words) => {
    expect(() => importSchema(raw)).toThrowError(
      expect.objectContaining({ code: "invalid_schema", message: expect.stringContaining(words) }),
    );
  });

  test("throws for values that are not JSON, and for too deep nesting", () => {
    expect(() => importSchema({ default: 1n })).toThrowError(ToolError);
    let deep: unknown = {};
    for (let level = 0; level < 10_000; level++) deep = { items: deep };
    expect(() => importSchema(deep)).toThrowError(expect.objectContaining({ code: "invalid_schema" }));
  });

  test.each<[string, string]>([
    ["dict", "object"],
    ["Dict", "object"],
    ["HashMap", "object"],
    ["Hashtable", "object"],
    ["float", "number"],
    ["double", "number"],
    ["Float", "number"],
    ["tuple", "array"],
    ["Array", "array"],
    ["ArrayList", "array"],
    ["list", "array"],
    ["Queue", "array"],
    ["Stack", "array"],
    ["long", "integer"],
    ["short", "integer"],
    ["byte", "integer"],
    ["Bigint", "integer"],
    ["int", "integer"],
    ["String", "string"],
    ["char", "string"],
    ["str", "string"],
    ["Boolean", "boolean"],
    ["bool", "boolean"],
  ])("maps the type %s to %s", (word, type) => {
    expect(importSchema({ type: word })).toEqual({ schema: { type }, notes: [`$.type: "${word}" → "${type}"`] });
  });

  test.each(["any", "Any", ""])("removes the type %j, which allows any value", (word) => {
    expect(importSchema({ type: word, description: "x" })).toEqual({
      schema: { description: "x" },
      notes: [`$.type: "${word}" → any type`],
    });
  });

  test("maps types at every place of a schema, each with its path", () => {
    const raw = {
      type: "dict",
      properties: { a: { type: "list", items: { type: "float" } }, b: { anyOf: [{ type: "str" }, { type: ["bool", "None"] }] } },
      additionalProperties: { type: "any" },
      $defs: { "x y": { not: { type: "dict" }, prefixItems: [{ type: "int" }] } },
    };
    const before = structuredClone(raw);
    expect(importSchema(raw)).toEqual({
      schema: {
        type: "object",
        properties: { a: { type: "array", items: { type: "number" } }, b: { anyOf: [{ type: "string" }, { type: ["boolean", "null"] }] } },
        additionalProperties: {},
        $defs: { "x y": { not: { type: "object" }, prefixItems: [{ type: "integer" }] } },
      },
      notes: [
        '$.type: "dict" → "object"',
        '$.properties.a.type: "list" → "array"',
        '$.properties.a.items.type: "float" → "number"',
        '$.properties.b.anyOf[0].type: "str" → "string"',
        '$.properties.b.anyOf[1].type: ["bool","None"] → ["boolean","null"]',
        '$.additionalProperties.type: "any" → any type',
        '$.$defs["x y"].not.type: "dict" → "object"',
        '$.$defs["x y"].prefixItems[0].type: "int" → "integer"',
      ],
    });
    expect(raw).toEqual(before);
  });

  test("removes duplicates from a union of types, and removes a union with any", () => {
    expect(importSchema({ type: ["int", "long", "null"] }).schema).toEqual({ type: ["integer", "null"] });
    expect(importSchema({ type: ["int", "any"] }).schema).toEqual({});
  });

  test("leaves values alone that only look like types", () => {
    const schema = {
      properties: { type: { enum: ["dict"], default: "float", const: { type: "dict" } }, dict: { description: "float" } },
      required: ["type"],
      examples: [{ type: "dict" }],
    };
    expect(importSchema(schema)).toEqual({ schema, notes: [] });
  });

  test("keeps an unknown type for the compiler to reject, and returns a plain schema frozen and equal", () => {
    expect(importSchema({ type: "strnig" })).toEqual({ schema: { type: "strnig" }, notes: [] });
    const { schema } = importSchema({ type: "object", properties: { a: {} } });
    expect(Object.isFrozen(schema) && typeof schema === "object" && Object.isFrozen(schema["properties"])).toBe(true);
  });

  test("gives a tool without parameters an object schema, and accepts true and false", () => {
    expect(importSchema(undefined)).toEqual({ schema: { type: "object" }, notes: [] });
    expect(importSchema(null).schema).toEqual({ type: "object" });
    expect([importSchema(true).schema, importSchema(false).schema]).toEqual([true, false]);
  });
});
