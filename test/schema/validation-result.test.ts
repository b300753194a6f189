import { describe, expect, test } from "vitest";
import { validateInput, validateOutput, ValidationResult } from "../../src/schema/validation-result.ts";

describe("ValidationResult", () => {
  test("F2.1 merge refuses what is no result, and says so", () => {
    const { errors, valid } = new ValidationResult(["$.a: one"]);
    for (const given of [null, undefined, 5, {}, { valid, errors }])
      expect(() => new ValidationResult().merge(given as never)).toThrow(/merge\(\) takes a ValidationResult, not /u);
  });

  test.each([Number.NaN, Infinity, -Infinity])("F2.3 %s is not called a number where a number is expected", (value) => {
    expect(validateInput({ n: value }, { properties: { n: { type: "number" } } }).errors).toEqual([
      `$.n: expected type number, got ${value}`,
    ]);
  });

  test("F2.1 merge returns a new result with the errors of both, in order, and mutates neither", () => {
    const good = new ValidationResult();
    const bad = new ValidationResult(["$.a: one"]);
    const worse = new ValidationResult(["$.b: two", "$.c: three"], "output");
    expect(good.merge(bad).merge(worse).toJSON()).toEqual({ valid: false, errors: ["$.a: one", "$.b: two", "$.c: three"] });
    expect(good.merge(good).toJSON()).toEqual({ valid: true, errors: [] });
    expect([good.toJSON(), bad.toJSON(), worse.toJSON()]).toEqual([
      { valid: true, errors: [] },
      { valid: false, errors: ["$.a: one"] },
      { valid: false, errors: ["$.b: two", "$.c: three"] },
    ]);
  });

  test("F2.1 it serializes to valid and errors only, and its errors are immutable", () => {
    const errors = ["$.a: one"];
    const result = new ValidationResult(errors);
    errors.push("two");
    expect(JSON.stringify(result)).toBe('{"valid":false,"errors":["$.a: one"]}');
    expect(Object.isFrozen(result.errors)).toBe(true);
  });
});

describe("validateInput", () => {
  test.each<[string, unknown, unknown, unknown]>([
    ["type", { type: "string" }, "a", 1],
    ["required", { required: ["a"] }, { a: 1 }, {}],
    ["properties", { properties: { a: { type: "null" } } }, { a: null }, { a: 1 }],
    ["items", { items: { type: "integer" } }, [1], ["a"]],
    ["enum", { enum: [1, "a"] }, "a", "b"],
    ["minimum", { minimum: 2 }, 2, 1],
    ["maximum", { maximum: 2 }, 2, 3],
    ["minLength", { minLength: 2 }, "ab", "a"],
    ["maxLength", { maxLength: 1 }, "😀", "ab"],
    ["minItems", { minItems: 1 }, [1], []],
    ["maxItems", { maxItems: 1 }, [1], [1, 2]],
    ["additionalProperties", { additionalProperties: false }, {}, { a: 1 }],
    ["pattern", { pattern: "^a" }, "ab", "b"],
    ["const", { const: 1 }, 1, true],
    ["oneOf", { oneOf: [{ type: "integer" }, { type: "string" }] }, 1, null],
    ["$ref", { $ref: "#/$defs/a", $defs: { a: { type: "integer" } } }, 1.0, 1.5],
    ["a union of types", { type: ["string", "null"] }, null, 1],
  ])("F2.2 F2.4 F2.5 %s accepts valid and rejects invalid data", (_keyword, schema, good, bad) => {
    expect(validateInput(good, schema).toJSON()).toEqual({ valid: true, errors: [] });
    expect(validateInput(bad, schema)).toMatchObject({ valid: false, errors: [expect.stringMatching(/^\$.*: ./u)] });
  });

  test("F2.2 the empty schema accepts everything", () => {
    for (const data of [undefined, null, 1, "a", [], {}]) expect(validateInput(data, {}).valid).toBe(true);
  });

  test("F2.2 nothing is coerced, and no default is applied", () => {
    expect(validateInput({ a: "5" }, { properties: { a: { type: "integer" } } }).errors).toEqual([
      "$.a: expected type integer, got string",
    ]);
    expect(validateInput({}, { properties: { a: { default: 1 } }, required: ["a"] }).errors).toEqual(["$.a: required field missing"]);
  });

  test("F2.3 all problems are listed, with paths from $, in the documented order", () => {
    const schema = {
      type: "object",
      required: ["a"],
      properties: { b: { type: "string", minLength: 3 }, c: { type: "array", maxItems: 1, items: { type: "integer" } } },
      additionalProperties: false,
    };
    expect(validateInput({ z: 1, c: [1, "x"], b: "x", "e f": 1 }, schema).errors.map((error) => error.split(":")[0])).toEqual([
      "$.a",
      "$.b",
      "$.c",
      "$.c[1]",
      '$["e f"]',
      "$.z",
    ]);
  });

  test("F2.3 500 problems are all listed", () => {
    expect(
      validateInput(
        Array.from({ length: 500 }, () => "x"),
        { items: { type: "integer" } },
      ).errors,
    ).toHaveLength(500);
  });

  test.each<[string, unknown]>([
    ["no schema", undefined],
    ["null", null],
    ["a number", 5],
    ["an unknown type", { type: "strnig" }],
    ["a reference to nowhere", { $ref: "#/nowhere" }],
    ["a broken pattern", { pattern: "(" }],
  ])("F2.2 an unusable schema is reported as an error and does not throw: %s", (_what, schema) => {
    expect(validateInput({}, schema)).toMatchObject({ valid: false, errors: [expect.stringMatching(/^input schema: ./u)] });
    expect(validateOutput({}, schema)).toMatchObject({ valid: false, errors: [expect.stringMatching(/^output schema: ./u)] });
  });

  test("F2.2 data that throws when read is reported as an error and does not throw", () => {
    const trap = new Proxy(
      {},
      {
        get: () => {
          throw new Error("no");
        },
        ownKeys: () => {
          throw new Error("no");
        },
        has: () => {
          throw new Error("no");
        },
      },
    );
    expect(validateInput(trap, { properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false }).valid).toBe(false);
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level++) deep = [deep];
    expect(validateInput(deep, { $ref: "#/$defs/a", $defs: { a: { items: { $ref: "#/$defs/a" } } } }).valid).toBe(false);
  });
});

test("F2.6 validateOutput makes the same checks, and its messages name the output", () => {
  const schema = { type: "object", required: ["a"] };
  const output = validateOutput({}, schema);
  expect(output.toJSON()).toEqual(validateInput({}, schema).toJSON());
  expect([output.subject, String(output)]).toEqual(["output", "The output is invalid:\n- $.a: required field missing"]);
  expect([validateInput({}, schema).subject, String(validateInput({ a: 1 }, schema))]).toEqual(["input", "The input is valid."]);
});
