/** Schemas of strangers and values of models, made to hurt: the attack cases A02 and A10–A22. */
import { describe, expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { type Validator, compileSchema } from "../../src/schema/compile-schema.ts";
import { inProcessorTime } from "../processor-time.ts";

/** A thousand times what any of these takes, on any machine; the attacks would take hours. */
const GENEROUS_MS = 20_000;

function quickly<Result>(act: () => Result): Result {
  return inProcessorTime(GENEROUS_MS, act);
}

function keywords(validator: Validator, value: unknown): readonly string[] {
  return quickly(() => validator.problems(value)).map(({ keyword }) => keyword);
}

function refusal(schema: unknown): string {
  try {
    quickly(() => compileSchema(schema));
  } catch (error: unknown) {
    if (error instanceof ToolError && error.code === "invalid_schema") return error.message;
    throw error;
  }
  throw new Error("the schema was accepted");
}

function times<Item>(count: number, make: (index: number) => Item): Item[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function nested(depth: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = wrap(value);
  return value;
}

describe("A02 names inherited from Object.prototype", () => {
  test("A02 do not satisfy required, and do not count as fields", () => {
    const names = ["toString", "constructor", "hasOwnProperty", "__proto__"];
    expect(
      compileSchema({ required: names })
        .problems({})
        .map(({ path }) => path),
    ).toEqual(names.map((name) => `$.${name}`));
    expect(compileSchema({ properties: { toString: { type: "string" }, constructor: false } }).check({})).toBe(true);
    expect(compileSchema({ dependentRequired: { toString: ["x"] }, dependentSchemas: { valueOf: false } }).check({})).toBe(true);
  });

  test("A02 work as own field names in schema and value", () => {
    const schema: unknown = JSON.parse(
      '{"properties":{"__proto__":{"type":"integer"}},"required":["__proto__"],"additionalProperties":false}',
    );
    const validator = compileSchema(schema);
    expect([JSON.parse('{"__proto__":1}'), JSON.parse('{"__proto__":"x"}'), {}].map((value) => validator.check(value))).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("A02 inherited keywords are ignored", () => {
    const schema: unknown = Object.create({ type: "string", $ref: "#/nowhere" });
    expect(compileSchema(schema).check(1)).toBe(true);
  });
});

describe("A10 patterns", () => {
  test.each([
    "^(a+)+$",
    "^(a|a)*$",
    "(a+a+)+b",
    "^(([a-z])+.)+[A-Z]$",
    "a*a*a*a*a*a*b",
    "(.*a){20}$",
    "(?<!a.*)b",
    "(?<=a+b+)c",
    "(?=(?=(?=a*b)a*c)a*d)(a|b)*e",
  ])("A10 %s is matched in linear time", (pattern) => {
    const validator = compileSchema({ pattern });
    expect(quickly(() => validator.check(`${"a".repeat(30_000)}!`))).toBe(false);
    expect(quickly(() => compileSchema({ patternProperties: { [pattern]: false } }).check({ [`${"a".repeat(30_000)}!`]: 1 }))).toBeTypeOf(
      "boolean",
    );
  });

  test("A10 many texts against a costly pattern end with a limit problem", () => {
    const texts = times(20_000, (index) => index.toString(2).replaceAll("0", "a").replaceAll("1", "b").padStart(200, "ab"));
    expect(keywords(compileSchema({ items: { not: { pattern: "^(.*a.{20}){3}$" } } }), texts)).toEqual(["limit"]);
  });

  test.each(["^(a)\\1$", "(a+b){5000}"])("A10 %s is rejected, with its place and a hint", (pattern) => {
    expect(refusal({ properties: { a: { pattern } } })).toContain("#/properties/a/pattern, the pattern");
    expect(refusal({ patternProperties: { [pattern]: {} } })).toContain("#/patternProperties, the pattern");
  });
});

describe("A11 uniqueItems", () => {
  test("A11 20,000 distinct objects are compared in linear time", () => {
    const validator = compileSchema({ uniqueItems: true });
    const objects = times(20_000, (id) => ({ id, name: `n${id}` }));
    expect(quickly(() => validator.check(objects))).toBe(true);
    expect(quickly(() => validator.check([...objects, { name: "n7", id: 7 }]))).toBe(false);
  });

  test("A11 items too deep or too many to compare end with a limit problem", () => {
    const validator = compileSchema({ uniqueItems: true });
    expect(keywords(validator, [nested(100_000, (inner) => [inner]), 1])).toEqual(["limit"]);
    expect(
      keywords(
        validator,
        times(300_000, (id) => ({ id })),
      ),
    ).toEqual(["limit"]);
  });
});

describe("A12 exponential references", () => {
  test("A12 a reference bomb on one value is rejected at compile time", () => {
    const $defs = Object.fromEntries(
      times(41, (n) => [`d${n}`, n === 0 ? {} : { allOf: [{ $ref: `#/$defs/d${n - 1}` }, { $ref: `#/$defs/d${n - 1}` }] }]),
    );
    expect(refusal({ $defs, $ref: "#/$defs/d40" })).toContain("one value would have to be checked more than 20000 times");
  });

  test.each(["allOf", "anyOf", "oneOf"])("A12 a reference bomb of %s that descends into the value ends with a limit problem", (keyword) => {
    const link = (n: number): unknown => ({ properties: { a: { $ref: `#/$defs/d${n}` } }, required: ["z"] });
    const leaf = keyword === "allOf" ? true : { type: "string" }; // so that no branch ends the check early
    const $defs = Object.fromEntries(times(61, (n) => [`d${n}`, n === 0 ? leaf : { [keyword]: [link(n - 1), link(n - 1)] }]));
    const validator = compileSchema({ $defs, $ref: "#/$defs/d60" });
    const value = nested(60, (a) => ({ a, z: 1 }));
    expect(quickly(() => validator.check(value))).toBe(false);
    expect(keywords(validator, value)).toContain("limit");
  });

  test("A12 the keyword not does not turn a limit problem into a valid result", () => {
    const validator = compileSchema({ not: { items: { not: { uniqueItems: true } } } }, { maxSteps: 10 });
    expect([validator.check([[{ a: 1 }, { a: 2 }]]), keywords(validator, [[{ a: 1 }, { a: 2 }]])]).toEqual([false, ["limit"]]);
  });
});

describe("A13 schemas too deep or too wide", () => {
  test("A13 1,000 nested properties are rejected", () => {
    expect(refusal(nested(1000, (inner) => ({ properties: { a: inner === 1 ? {} : inner } })))).toContain(
      "nested more than 128 levels deep",
    );
  });

  test("A13 50,000 properties are rejected", () => {
    expect(refusal({ properties: Object.fromEntries(times(50_000, (n) => [`p${n}`, {}])) })).toContain("more than 20000 subschemas");
  });

  test("A13 5,000 branches of oneOf are supported", () => {
    const validator = quickly(() =>
      compileSchema({ oneOf: times(5000, (n) => ({ properties: { kind: { const: n } }, required: ["kind"] })) }),
    );
    expect([quickly(() => validator.check({ kind: 4999 })), keywords(validator, { kind: -1 })]).toEqual([true, ["oneOf"]]);
  });

  test("A13 thousands of patterns are rejected", () => {
    const slow = times(5000, (n) => [`^a+b{${n}}+c+$`.replace("}+", "}"), {}]);
    expect(refusal({ patternProperties: Object.fromEntries(slow) })).toContain("too many names, values and patterns");
  });

  test("A13 a schema object that contains itself is rejected", () => {
    const schema: Record<string, unknown> = { type: "object" };
    schema["additionalProperties"] = schema;
    expect(refusal(schema)).toContain("nested more than 128 levels deep");
  });

  test("A13 a value nested too deeply for a recursive schema ends with a limit problem", () => {
    const validator = compileSchema({ items: { $ref: "#" } });
    expect(validator.check(nested(100, (inner) => [inner]))).toBe(true);
    expect(validator.problems(nested(100_000, (inner) => [inner]))).toEqual([
      { path: "$", pointer: "", keyword: "limit", message: "the value is nested too deeply (more than 400 steps of checking)" },
    ]);
  });

  test("A13 many small objects against long lists of names end with a limit problem", () => {
    const names = times(5000, (n) => `n${n}`);
    const dependent = compileSchema({ items: { dependentRequired: Object.fromEntries(names.map((name) => [name, ["z"]])) } });
    const optional = compileSchema({ items: { properties: Object.fromEntries(names.map((name) => [name, {}])) } });
    const empty = times(100_000, () => ({}));
    expect([keywords(dependent, empty), keywords(optional, empty)]).toEqual([["limit"], ["limit"]]);
  });
});

describe("A14 cycles", () => {
  test("A14 recursion through fields and items is supported", () => {
    const tree = compileSchema({ $defs: { n: { type: "object", properties: { c: { $ref: "#/$defs/n" } } } }, $ref: "#/$defs/n" });
    expect([tree.check({ c: { c: {} } }), tree.check({ c: { c: 1 } })]).toEqual([true, false]);
  });

  test.each([
    [{ $ref: "#" }],
    [{ $defs: { a: { allOf: [{ $ref: "#/$defs/b" }] }, b: { allOf: [{ $ref: "#/$defs/a" }] } }, $ref: "#/$defs/a" }],
    [{ anyOf: [{ type: "string" }, { not: { $ref: "#" } }] }],
    [{ if: true, then: { $ref: "#" } }],
    [{ $defs: { a: { dependentSchemas: { x: { $ref: "#/$defs/a" } } } } }],
  ])("A14 %j, which never descends into the value, is rejected", (schema) => {
    expect(refusal(schema)).toContain("a reference leads back to itself without going deeper into the value");
  });

  test("A14 a cycle of dynamic references ends with a limit problem", () => {
    const validator = compileSchema({ $dynamicAnchor: "x", allOf: [{ $dynamicRef: "#x" }, { $dynamicRef: "#x" }] });
    expect([quickly(() => validator.check(1)), keywords(validator, 1)]).toEqual([false, ["limit"]]);
  });

  test("A14 a chain of 10,000 references is rejected", () => {
    const $defs = Object.fromEntries(times(10_001, (n) => [`d${n}`, n === 10_000 ? {} : { $ref: `#/$defs/d${n + 1}` }]));
    expect(refusal({ $defs, $ref: "#/$defs/d0" })).toContain("form a chain of more than 100");
  });
});

test.each([
  "http://127.0.0.1:9/x",
  "file:///etc/passwd",
  "//host/x",
  "other.json",
  "other.json#/a",
  "https://json-schema.org/draft/2020-12/schema",
])("A15 a reference to %s is rejected: it is neither fetched nor treated as valid", (uri) => {
  expect(refusal({ properties: { a: { $ref: uri } } })).toBe(
    `The schema cannot be used: at #/properties/a/$ref, "${uri}" is not part of this schema, and schemas are never fetched.`,
  );
});

test("A16 a draft-04 keyword form is rejected with its name and place", () => {
  expect(refusal({ properties: { page: { type: "integer", minimum: 0, exclusiveMinimum: true } } })).toBe(
    "The schema cannot be used: at #/properties/page/exclusiveMinimum, exclusiveMinimum must be a number, not true.",
  );
});

test("A16 an unknown dialect is rejected, and the error lists the supported ones", () => {
  expect(() => compileSchema({ $schema: "http://example.com/mine" })).toThrowError(
    expect.objectContaining({
      hint: expect.stringContaining(
        "https://json-schema.org/draft/2020-12/schema, https://json-schema.org/draft/2019-09/schema, http://json-schema.org/draft-07/schema",
      ),
    }),
  );
});

test.each([
  [{ type: "something" }, '#/type, "something" is not a JSON type'],
  [{ pattern: "(" }, '#/pattern, the pattern "(" is not a regular expression'],
  [{ required: "a" }, '#/required, required must be an array of names, not "a"'],
  [{ properties: { a: { required: true } } }, "#/properties/a/required, required must be an array of names, not true"],
  [{ properties: [] }, "#/properties, properties must be an object, not []"],
])("A17 %j is rejected", (schema, where) => {
  expect(refusal(schema)).toBe(`The schema cannot be used: at ${where}.`);
});

test("A22 a million invalid items give 20 problems, and the check stops there", () => {
  const validator = compileSchema({ items: { type: "integer" } });
  const items = times(1_000_000, () => "x");
  expect(keywords(validator, items)).toEqual(times(20, () => "type"));
  expect(validator.problems(items, 3).map(({ path }) => path)).toEqual(["$[0]", "$[1]", "$[2]"]);
  expect(JSON.stringify(validator.problems(items)).length).toBeLessThan(4096);
});

test("A22 nested alternatives give one short problem", () => {
  const schema = nested(30, (inner) => ({ anyOf: [inner === 1 ? { minimum: 5 } : inner, { minimum: 6 }] }));
  const [problem, ...more] = compileSchema(schema).problems(1);
  expect([more, (problem?.message.length ?? 0) < 500]).toEqual([[], true]);
});
