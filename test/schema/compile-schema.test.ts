import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { canonicalJson } from "../../src/core/base/canonical-json.ts";
import type { JsonValue } from "../../src/core/base/json.ts";
import { compileSchema } from "../../src/schema/compile-schema.ts";
import { inCI } from "../ci.ts";

function lines(schema: unknown, value: unknown): readonly string[] {
  return compileSchema(schema)
    .problems(value)
    .map(({ path, message }) => `${path}: ${message}`);
}

function refusal(schema: unknown): { readonly code: string; readonly message: string; readonly details: readonly string[] } {
  try {
    compileSchema(schema);
  } catch (error: unknown) {
    if (error instanceof ToolError) return { code: error.code, message: error.message, details: error.details };
    throw error;
  }
  throw new Error(`accepted ${JSON.stringify(schema)}`);
}

describe("problem messages", () => {
  test("F2.3 five problems give five lines, in the documented order", () => {
    const schema = {
      type: "object",
      required: ["a", "b"],
      properties: {
        b: { type: "string", minLength: 3, enum: ["abc", "abd"] },
        c: { type: "array", maxItems: 1, items: { type: "integer" } },
      },
      additionalProperties: false,
    };
    expect(lines(schema, { z: 1, b: "x", c: [1, "2"], y: 2 })).toEqual([
      "$.a: required field missing",
      '$.b: expected one of "abc", "abd", got "x"',
      "$.b: expected at least 3 characters, got 1",
      "$.c: expected at most 1 item, got 2",
      "$.c[1]: expected type integer, got string",
      '$.y: unexpected field; known fields: "b", "c"',
      '$.z: unexpected field; known fields: "b", "c"',
    ]);
  });

  test("F2.3 the two lines of the reference example are reproduced verbatim", () => {
    const schema = { required: ["a"], properties: { c: { items: { type: "integer" } } } };
    expect(lines(schema, { c: [1, "x"] })).toEqual(["$.a: required field missing", "$.c[1]: expected type integer, got string"]);
  });

  test("F2.3 a problem has its path, its JSON pointer and its keyword", () => {
    const schema = { properties: { "a/b": { items: { required: ["c~"] } } } };
    expect(compileSchema(schema).problems({ "a/b": [{}] })).toEqual([
      { path: '$["a/b"][0]["c~"]', pointer: "/a~1b/0/c~0", keyword: "required", message: "required field missing" },
    ]);
  });

  test("F2.3 after a wrong type, no further problems of that value are reported", () => {
    expect(lines({ type: "string", minLength: 5, enum: ["x"] }, 5)).toEqual(["$: expected type string, got integer"]);
  });

  test.each([
    [{ type: "integer" }, 1.5, "expected type integer, got number"],
    [{ type: "number" }, true, "expected type number, got boolean"],
    [{ type: "string" }, null, "expected type string, got null"],
    [{ type: "object" }, [], "expected type object, got array"],
    [{ type: "array" }, {}, "expected type array, got object"],
    [{ type: ["string", "null"] }, 1, "expected type string or null, got integer"],
    [{ type: ["integer", "number"] }, "1", "expected type integer or number, got string"],
    [{ const: { a: 1 } }, { a: 2 }, 'expected {"a":1}, got {"a":2}'],
    [{ maxLength: 2 }, "abc", "expected at most 2 characters, got 3"],
    [{ pattern: "^a$" }, "b", 'expected a string that matches ^a$, got "b"'],
    [{ minimum: 5 }, 3, "expected at least 5, got 3"],
    [{ maximum: 5 }, 7, "expected at most 5, got 7"],
    [{ exclusiveMinimum: 5 }, 5, "expected more than 5, got 5"],
    [{ exclusiveMaximum: 5 }, 5, "expected less than 5, got 5"],
    [{ multipleOf: 5 }, 7, "expected a multiple of 5, got 7"],
    [{ minItems: 2 }, [1], "expected at least 2 items, got 1"],
    [{ uniqueItems: true }, [1, 2, 1], "expected items that all differ, but item 2 repeats an earlier one"],
    [{ contains: { const: 1 } }, [2], "expected at least 1 matching item, got 0"],
    [{ minProperties: 1 }, {}, "expected at least 1 field, got 0"],
    [{ not: { type: "string" } }, "x", "fits a schema that it must not fit"],
    [{ oneOf: [{ minimum: 1 }, { minimum: 2 }] }, 3, "expected to fit exactly one of 2 alternatives, but fits 2 (number 1, 2)"],
    [
      { anyOf: [{ type: "string" }, { type: "null" }] },
      1,
      "fits none of 2 alternatives (1: expected type string, got integer; 2: expected type null, got integer)",
    ],
    [false, 1, "nothing is allowed here"],
  ])("F2.3 %j reports for %j: %s", (schema, value, message) => {
    expect(lines(schema, value)).toEqual([`$: ${message}`]);
  });

  test("a problem in the alternative that was evidently meant is reported as that alternative's own", () => {
    const schema = { properties: { to: { anyOf: [{ type: "object", required: ["id"] }, { type: "null" }] } } };
    expect(lines(schema, { to: {} })).toEqual(["$.to.id: required field missing"]);
    const kinds = ["cat", "dog"].map((kind) => ({
      properties: { kind: { const: kind }, age: { type: "integer" } },
      required: ["kind", "age"],
    }));
    expect(lines({ oneOf: kinds }, { kind: "dog", age: "3" })).toEqual(["$.age: expected type integer, got string"]);
  });

  test("if no alternative was evidently meant, the reasons name the fields, discriminators first", () => {
    const alternative = (k: string, field: string): object => ({ properties: { k: { const: k } }, required: ["k", field] });
    const union = { oneOf: [alternative("a", "x"), alternative("b", "y")] };
    const reasons = (one: string, two: string): string => `fits none of 2 alternatives (1: ${one}; 2: ${two})`;
    const wrong = reasons('k: expected "a", got "c"', 'k: expected "b", got "c"');
    expect(lines(union, { k: "c" })).toEqual([`$: ${wrong}`]);
    expect(lines({ items: { properties: { act: union } } }, [{ act: { k: "c" } }])).toEqual([`$[0].act: ${wrong}`]);
    expect(lines(union, {})).toEqual([`$: ${reasons("k: required field missing", "k: required field missing")}`]);
    const lists = { anyOf: [{ items: { type: "string" } }, { items: { type: "null" } }] };
    expect(lines(lists, [1])).toEqual([`$: ${reasons("[0]: expected type string, got integer", "[0]: expected type null, got integer")}`]);
  });

  test("values in messages are cut to 80 characters, paths to 200", () => {
    const [problem] = compileSchema({ additionalProperties: { const: 1 } }).problems({ ["k".repeat(5000)]: "x".repeat(5000) });
    expect(problem?.message).toBe(`expected 1, got "${"x".repeat(78)}…`);
    expect(problem?.path.length).toBe(200);
    expect(problem?.pointer.length).toBe(5001);
  });
});

describe("accepted and rejected values", () => {
  test.each([
    [{ type: "string" }, "x", 1],
    [{ required: ["a"] }, { a: 1 }, {}],
    [{ properties: { a: { type: "null" } } }, { a: null }, { a: 1 }],
    [{ items: { type: "null" } }, [null], [1]],
    [{ enum: [1, "a"] }, "a", "b"],
    [{ minimum: 1 }, 1, 0],
    [{ maximum: 1 }, 1, 2],
    [{ minLength: 2 }, "ab", "a"],
    [{ maxLength: 2 }, "ab", "abc"],
    [{ minItems: 1 }, [1], []],
    [{ maxItems: 1 }, [1], [1, 2]],
    [{ additionalProperties: false }, {}, { a: 1 }],
  ])("F2.2 %j accepts %j and rejects %j", (schema, good, bad) => {
    const validator = compileSchema(schema);
    expect([validator.check(good), validator.check(bad)]).toEqual([true, false]);
  });

  test("F2.2 the empty schema and true accept everything", () => {
    for (const schema of [{}, true]) expect(compileSchema(schema).problems({ anything: [1] })).toEqual([]);
  });

  test("F2.4 a union of types accepts each of them", () => {
    const validator = compileSchema({ type: ["string", "null"] });
    expect([null, "x", 1].map((value) => validator.check(value))).toEqual([true, true, false]);
  });

  test("F2.5 true is not an integer, 1.0 is an integer, and 1 does not equal true", () => {
    const integer = compileSchema({ type: "integer" });
    expect([integer.check(true), integer.check(JSON.parse("1.0")), compileSchema({ enum: [1] }).check(true)]).toEqual([false, true, false]);
  });

  test("F2.5 lengths count code points, not UTF-16 units", () => {
    const two = compileSchema({ minLength: 2, maxLength: 2 });
    expect(["😀😀", "😀", "😀😀😀", "a😀"].map((text) => two.check(text))).toEqual([true, false, false, true]);
  });

  test("F2.5 pattern, const, oneOf, $ref and a schema under additionalProperties are enforced", () => {
    const schema = {
      $defs: { id: { pattern: "^i" } },
      properties: { id: { $ref: "#/$defs/id" }, kind: { const: "k" }, one: { oneOf: [{ type: "string" }, { type: "null" }] } },
      additionalProperties: { type: "number" },
    };
    expect(lines(schema, { id: "x", kind: "l", one: 1, other: "1" }).map((line) => line.split(":")[0])).toEqual([
      "$.id",
      "$.kind",
      "$.one",
      "$.other",
    ]);
  });

  test("format is not enforced by default", () => {
    expect(compileSchema({ format: "email" }).check("nobody")).toBe(true);
  });

  test("draft-07: items as an array, additionalItems and dependencies work, and $ref hides its siblings", () => {
    const $schema = "http://json-schema.org/draft-07/schema#";
    const tuple = compileSchema({ $schema, items: [{ type: "string" }], additionalItems: false, dependencies: { a: ["b"] } });
    expect([tuple.check(["x"]), tuple.check(["x", 1]), tuple.check([1]), tuple.check({ a: 1 })]).toEqual([true, false, false, false]);
    expect(compileSchema({ $schema, definitions: { any: true }, $ref: "#/definitions/any", type: "string" }).check(1)).toBe(true);
  });

  test("multipleOf is exact for decimal fractions", () => {
    const validator = compileSchema({ multipleOf: 0.01 });
    expect([0.07, 19.99, 1e300, 0.075].map((value) => validator.check(value))).toEqual([true, true, true, false]);
  });
});

describe("values that are not JSON", () => {
  const strange: readonly unknown[] = [
    undefined,
    NaN,
    10n,
    Symbol("s"),
    () => 1,
    new Date(0),
    new Map(),
    new Proxy({}, { get: throwIt, ownKeys: throwIt }),
  ];

  function throwIt(): never {
    throw new Error("hostile");
  }

  test("F2.2 fail a type check, and never make check or problems throw", () => {
    const validator = compileSchema({ type: ["string", "array"], uniqueItems: true });
    for (const value of strange) expect([validator.check(value), validator.problems(value).length]).toEqual([false, 1]);
    const open = compileSchema({ properties: { a: {} }, required: ["a"], additionalProperties: { enum: [{ b: 1 }] }, uniqueItems: true });
    for (const value of strange) expect(() => [open.check([value, value]), open.problems({ a: value, b: value })]).not.toThrow();
  });

  test("a getter that throws is reported as a problem", () => {
    const value = {
      get a(): never {
        return throwIt();
      },
    };
    const validator = compileSchema({ properties: { a: { type: "string" } } });
    expect([validator.check(value), validator.problems(value)]).toEqual([
      false,
      [{ path: "$", pointer: "", keyword: "limit", message: "the value cannot be read" }],
    ]);
  });

  test("a field with the value undefined counts as absent", () => {
    expect(
      lines({ required: ["a"], properties: { b: { type: "string" } }, additionalProperties: false }, { a: undefined, b: undefined }),
    ).toEqual(["$.a: required field missing"]);
  });
});

describe("rejected schemas", () => {
  test.each([
    [
      { $schema: "http://json-schema.org/draft-04/schema#" },
      "#/$schema",
      'the dialect "http://json-schema.org/draft-04/schema#" is not supported',
    ],
    [{ items: [{}] }, "#/items", "items must be one schema, not an array of them"],
    [{ $ref: "#/$defs/none" }, "#/$ref", '"#/$defs/none" does not point to anything'],
    [{ properties: { a: 5 } }, "#/properties/a", "a schema must be an object or a boolean, not 5"],
    [{ minLength: -1 }, "#/minLength", "minLength must be an integer of at least 0, not -1"],
    [{ multipleOf: 0 }, "#/multipleOf", "multipleOf must be more than 0, not 0"],
    [{ anyOf: [] }, "#/anyOf", "anyOf must be an array of at least one schema, not []"],
    [{ $defs: { "a/b": { enum: "x" } } }, "#/$defs/a~1b/enum", 'enum must be an array of values, not "x"'],
    [{ $id: "http://x.y/#a" }, "#/$id", '$id must not have a fragment, but "http://x.y/#a" has one'],
    [{ properties: { a: { $anchor: "x" }, b: { $anchor: "x" } } }, "#/properties/b/$anchor", 'the anchor "x" is used twice'],
    [null, "#", "a schema must be an object or a boolean, not null"],
  ])("%j, at %s", (schema, pointer, problem) => {
    expect(refusal(schema)).toEqual({
      code: "invalid_schema",
      message: `The schema cannot be used: at ${pointer}, ${problem}.`,
      details: [`${pointer}: ${problem}`],
    });
  });
});

test("check() and problems() agree, and problems() respects its maximum, for generated schemas and values", () => {
  const key = fc.constantFrom("a", "b", "c", "__proto__", "toString");
  const value = fc.letrec<{ any: unknown }>((tie) => ({
    any: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom(null, true, 0, 1, 1.5, "", "a", "bb"),
      fc.array(tie("any"), { maxLength: 3 }),
      fc.dictionary(key, tie("any"), { maxKeys: 3 }),
    ),
  })).any;
  const schema = fc.letrec<{ any: unknown }>((tie) => ({
    any: fc.oneof(
      { depthSize: "small" },
      fc.boolean(),
      fc.record(
        {
          type: fc.constantFrom("object", "array", "string", "integer", ["null", "object"]),
          enum: fc.array(value, { minLength: 1, maxLength: 3 }),
          minLength: fc.nat(2),
          required: fc.array(key, { maxLength: 2 }),
          properties: fc.dictionary(key, tie("any"), { maxKeys: 3 }),
          additionalProperties: tie("any"),
          patternProperties: fc.dictionary(fc.constantFrom("^a", "o"), tie("any"), { maxKeys: 2 }),
          items: tie("any"),
          contains: tie("any"),
          uniqueItems: fc.boolean(),
          allOf: fc.array(tie("any"), { minLength: 1, maxLength: 2 }),
          anyOf: fc.array(tie("any"), { minLength: 1, maxLength: 3 }),
          oneOf: fc.array(tie("any"), { minLength: 1, maxLength: 3 }),
          not: tie("any"),
          if: tie("any"),
          then: tie("any"),
          unevaluatedProperties: tie("any"),
          unevaluatedItems: tie("any"),
        },
        { requiredKeys: [] },
      ),
    ),
  })).any;
  fc.assert(
    fc.property(schema, value, (anySchema, anyValue) => {
      const validator = compileSchema(anySchema);
      const count = validator.problems(anyValue).length;
      expect(count === 0).toBe(validator.check(anyValue));
      expect(validator.problems(anyValue, 1).length).toBe(Math.min(count, 1));
    }),
    { numRuns: inCI ? 500 : 40 },
  );
});

test("uniqueItems, enum and const compare values as canonical JSON", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 3 }), (left, right) => {
      const isEqual = canonicalJson(left as JsonValue) === canonicalJson(right as JsonValue); // fast-check's type for JSON is unknown
      expect(compileSchema({ uniqueItems: true }).check([left, right])).toBe(!isEqual);
      expect(compileSchema({ const: left }).check(right)).toBe(isEqual);
      expect(compileSchema({ enum: [left] }).check(structuredClone(left))).toBe(true);
    }),
  );
});
