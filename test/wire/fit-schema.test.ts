import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { inCI } from "../ci.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../src/core/base/json.ts";
import type { JsonSchema } from "../../src/core/tool.ts";
import { compileSchema } from "../../src/schema/compile-schema.ts";
import { fitSchema, type SchemaSubset } from "../../src/wire/fit-schema.ts";
import { SUBSET_RULES } from "../../src/wire/subset/subset-rules.ts";
import { testInCI } from "../test-in-ci.ts";

const SUBSETS = Object.keys(SUBSET_RULES) as readonly SchemaSubset[]; // the table is typed by subset

function fitProperty(schema: JsonObject, subset: SchemaSubset): unknown {
  const fitted = fitSchema({ type: "object", properties: { a: schema }, required: ["a"] }, subset);
  const { a } = fitted.schema["properties"] as JsonObject;
  return { a, losses: fitted.losses.map(({ path, note }) => `${path}: ${note}`) };
}

/** Every keyword that stands in a schema, its parts included. */
function keywordsIn(schema: JsonValue, root = true, found = new Set<string>()): ReadonlySet<string> {
  if (!isJsonObject(schema)) return found;
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword !== "$defs" || !root) found.add(keyword);
    if (["properties", "$defs"].includes(keyword) && isJsonObject(value))
      for (const part of Object.values(value)) keywordsIn(part, false, found);
    else if (["items", "additionalProperties", "not"].includes(keyword)) keywordsIn(value, false, found);
    else if (["anyOf", "oneOf", "allOf", "prefixItems"].includes(keyword) && isJsonArray(value))
      for (const part of value) keywordsIn(part, false, found);
  }
  return found;
}

const names = ["a", "b"] as const;

const leaf: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.record({ type: fc.constant("string"), minLength: fc.nat(2), pattern: fc.constantFrom("^x", "z") }, { requiredKeys: ["type"] }),
  fc.record({ type: fc.constant("integer"), minimum: fc.nat(2), exclusiveMaximum: fc.nat(4) }, { requiredKeys: ["type"] }),
  fc.record({ type: fc.constant("number"), exclusiveMinimum: fc.nat(2), maximum: fc.nat(4) }, { requiredKeys: ["type"] }),
  fc.record({ const: fc.constantFrom<JsonValue>("x", 1, true, null) }),
  fc.record({ enum: fc.uniqueArray(fc.constantFrom<JsonValue>("x", "yy", 1, 2, true, null), { minLength: 1 }) }),
  fc.record({ type: fc.uniqueArray(fc.constantFrom("string", "integer", "boolean", "null"), { minLength: 1 }), minimum: fc.nat(2) }),
  fc.constantFrom({ type: "boolean" }, { $ref: "#/$defs/word" }, { $ref: "#/$defs/word", description: "One word." }),
);

const anySchema = fc.letrec<{ schema: JsonObject; object: JsonObject }>((tie) => ({
  object: fc.record({
    type: fc.constant("object"),
    properties: fc.record({ a: tie("schema"), b: tie("schema") }),
    required: fc.constant([...names]),
  }),
  schema: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    tie("object"),
    fc.record({ type: fc.constant("array"), items: tie("schema"), minItems: fc.nat(1) }, { requiredKeys: ["type", "items"] }),
    fc.record({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
    fc.record({ oneOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
    fc.record({ allOf: fc.array(leaf, { minLength: 1, maxLength: 2 }) }),
    fc.record({ allOf: fc.array(tie("object"), { minLength: 1, maxLength: 2 }) }),
  ),
}));

const root = fc.record({ object: anySchema.object, word: leaf }).map(({ object, word: one }) => ({
  ...object,
  $defs: { word: Object.hasOwn(one, "$ref") ? { type: "string" } : one },
}));

const value: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom<JsonValue>("x", "yy", "zzz", "", 0, 1, 2, 3, 1.5, true, false, null),
    fc.record({ a: tie("value"), b: tie("value") }),
    fc.array(tie("value"), { maxLength: 2 }),
  ),
})).value;

/** What Gemini's own words mean in JSON Schema's. */
function fromOpenApi(schema: JsonValue): JsonValue {
  if (isJsonArray(schema)) return schema.map(fromOpenApi);
  if (!isJsonObject(schema)) return schema;
  const counts = new Set(["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"]);
  const { nullable, ...rest } = schema;
  const plain = Object.fromEntries(Object.entries(rest).map(([key, item]) => [key, counts.has(key) ? Number(item) : fromOpenApi(item)]));
  return nullable === true ? { anyOf: [plain, { type: "null" }] } : plain;
}

describe("schemas that cannot be sent", () => {
  test.each(SUBSETS)("%s: a root that allows no object throws invalid_schema", (subset) => {
    for (const schema of [false, { type: "string" }, { type: ["array", "null"] }] satisfies JsonSchema[])
      expect(() => fitSchema(schema, subset)).toThrow(expect.objectContaining({ code: "invalid_schema" }));
  });

  test("H07 references that expand to 2^20 schemas throw where they must be inlined, and are kept where they may stay", () => {
    const level = (next: number): JsonObject => ({
      type: "object",
      properties: { l: { $ref: `#/$defs/d${next}` }, r: { $ref: `#/$defs/d${next}` } },
    });
    const definitions = Object.fromEntries(
      Array.from({ length: 20 }, (_, at) => [`d${at}`, at === 19 ? { type: "string" } : level(at + 1)]),
    );
    const schema = { type: "object", properties: { a: { $ref: "#/$defs/d0" } }, $defs: definitions };
    for (const subset of ["gemini-openapi", "ollama", "bedrock-nova", "deepseek-strict"] as const)
      expect(() => fitSchema(schema, subset)).toThrow(expect.objectContaining({ code: "invalid_schema" }));
    for (const subset of ["openai-strict", "anthropic-strict", "gemini-json-schema"] as const)
      expect(Object.keys(fitSchema(schema, subset).schema["$defs"] as JsonObject)).toHaveLength(20);
  });

  testInCI("H07 schemas that nest endlessly or have thousands of parts to merge fail with invalid_schema", () => {
    let deep: JsonObject = { type: "string" };
    for (let level = 0; level < 5_000; level++) deep = { type: "object", properties: { a: deep } };
    const many = Array.from({ length: 3_000 }, (_, at) => ({ properties: Object.fromEntries([[`p${at}`, {}]]) }));
    for (const schema of [deep, { type: "object", allOf: many }]) {
      for (const subset of SUBSETS) expect(() => fitSchema(schema, subset)).toThrow(expect.objectContaining({ code: "invalid_schema" }));
    }
  });

  test.each(SUBSETS)("H07 %s: circular references are cut off, and the loss is reported", (subset) => {
    for (const schema of [{ $ref: "#" }, { type: "object", allOf: [{ $ref: "#" }] }]) {
      expect(fitSchema(schema, subset).losses).toContainEqual({
        path: "$.$ref",
        note: "The schema is recursive and is cut off here.",
      });
    }
  });

  test("gemini-openapi: a parameter with an invalid name is omitted; if it is required, the tool is rejected", () => {
    const schema = { type: "object", properties: { "X-Id": { type: "string" }, q: { type: "string" } } };
    expect(fitSchema(schema, "gemini-openapi")).toEqual({
      schema: { type: "object", properties: { q: { type: "string" } } },
      losses: [{ path: "$.properties.X-Id", note: "The provider refuses this name: the parameter is left out." }],
    });
    expect(() => fitSchema({ ...schema, required: ["X-Id"] }, "gemini-openapi")).toThrow(
      expect.objectContaining({ code: "invalid_schema", message: expect.stringContaining('"X-Id"') }),
    );
  });
});

describe("the root schema", () => {
  test.each(SUBSETS)("%s: a tool without parameters has an object without properties, and no loss", (subset) => {
    for (const schema of [true, {}, { type: "object" }] satisfies JsonSchema[]) {
      const fitted = fitSchema(schema, subset);
      expect(fitted.losses).toEqual([]);
      expect(fitted.schema).toMatchObject({ type: "object", properties: {} });
    }
  });

  test("a union at the root becomes one object, because providers reject a union there", () => {
    const schema = {
      oneOf: [
        { type: "object", properties: { kind: { const: "id" }, id: { type: "integer" } }, required: ["kind", "id"] },
        { type: "object", properties: { kind: { const: "name" }, name: { type: "string" } }, required: ["kind", "name"] },
      ],
    };
    expect(fitSchema(schema, "json-schema")).toEqual({
      schema: {
        type: "object",
        properties: {
          kind: {
            anyOf: [
              { const: "id", type: "string" },
              { const: "name", type: "string" },
            ],
          },
          id: { type: "integer" },
          name: { type: "string" },
        },
        required: ["kind"],
      },
      losses: [{ path: "$.oneOf", note: "A union cannot be at the root: the combinations of properties are not sent." }],
    });
  });

  test("a pattern with a look-around is reported and omitted, because providers would reject the whole request", () => {
    const email = "^(?!\\.)[a-z.]+@[a-z.]+$"; // as zod writes it
    const schema = {
      type: "object",
      "x-own": 1,
      properties: {
        to: { type: "array", items: { $ref: "#/$defs/email" } },
        headers: { type: "object", patternProperties: { "^(?=x-)": { type: "string" } } },
        name: { type: "string", pattern: "^[a-z]+$", not: { pattern: "a(?<=a)" }, description: "Not (?=this)." },
      },
      $defs: { email: { type: "string", format: "email", pattern: email } },
    };
    const { schema: sent, losses } = fitSchema(schema, "json-schema");
    expect(sent).toEqual({
      ...schema,
      properties: {
        to: { type: "array", items: { $ref: "#/$defs/email" } },
        headers: { type: "object", description: '(patternProperties: {"^(?=x-)":{"type":"string"}})' },
        name: { type: "string", pattern: "^[a-z]+$", description: 'Not (?=this). (not: {"pattern":"a(?<=a)"})' },
      },
      $defs: { email: { type: "string", format: "email", description: `(pattern: ${JSON.stringify(email)})` } },
    });
    expect(losses.map(({ path }) => path)).toEqual([
      "$.properties.headers.patternProperties",
      "$.properties.name.not",
      "$.$defs.email.pattern",
    ]);
  });

  test("allOf and a reference at the root are merged without loss", () => {
    const schema = {
      allOf: [{ $ref: "#/$defs/base" }, { properties: { b: { type: "string" } } }],
      $defs: { base: { type: "object", properties: { a: { type: "string" } }, required: ["a"] } },
    };
    expect(fitSchema(schema, "json-schema")).toEqual({
      schema: { type: "object", properties: { a: { type: "string" }, b: { type: "string" } }, required: ["a"] },
      losses: [],
    });
  });
});

describe("lossless rewrites", () => {
  test("openai-strict: optional properties become required and nullable, and objects are closed", () => {
    const schema = {
      type: "object",
      properties: { a: { type: "string" }, b: { enum: ["x", "y"] }, c: { $ref: "#/$defs/c" }, d: { type: ["integer", "null"] } },
      required: ["a"],
      $defs: { c: { type: "object", properties: { again: { $ref: "#/$defs/c" } } }, unused: {} },
    };
    expect(fitSchema(schema, "openai-strict")).toEqual({
      schema: {
        type: "object",
        properties: {
          a: { type: "string" },
          b: { anyOf: [{ type: "string", enum: ["x", "y"] }, { type: "null" }] },
          c: { anyOf: [{ $ref: "#/$defs/c" }, { type: "null" }] },
          d: { type: ["integer", "null"] },
        },
        required: ["a", "b", "c", "d"],
        additionalProperties: false,
        $defs: {
          c: {
            type: "object",
            properties: { again: { anyOf: [{ $ref: "#/$defs/c" }, { type: "null" }] } },
            required: ["again"],
            additionalProperties: false,
          },
        },
      },
      losses: [],
    });
  });

  test("a reference that must not have siblings is wrapped, and the siblings move to the wrapper", () => {
    const schema = {
      type: "object",
      properties: { a: { $ref: "#/definitions/a", description: "Which." } },
      required: ["a"],
      definitions: { a: { type: "string" } },
    };
    expect(fitSchema(schema, "openai-strict").schema["properties"]).toEqual({
      a: { anyOf: [{ $ref: "#/$defs/a" }], description: "Which." },
    });
    expect(fitSchema(schema, "gemini-json-schema").schema["properties"]).toEqual({ a: { $ref: "#/$defs/a", description: "Which." } });
    expect(fitSchema(schema, "ollama").schema["properties"]).toEqual({ a: { type: "string", description: "Which." } });
  });

  test("const becomes an enum of one value, exclusive integer bounds become inclusive, and null becomes nullable", () => {
    expect(fitProperty({ const: "x" }, "gemini-json-schema")).toEqual({ a: { type: "string", enum: ["x"] }, losses: [] });
    expect(fitProperty({ type: "integer", exclusiveMinimum: 0, exclusiveMaximum: 9 }, "gemini-openapi")).toEqual({
      a: { type: "integer", minimum: 1, maximum: 8 },
      losses: [],
    });
    expect(fitProperty({ type: ["string", "null"], enum: ["x", null], minLength: 1 }, "gemini-openapi")).toEqual({
      a: { type: "string", enum: ["x"], minLength: "1", nullable: true },
      losses: [],
    });
  });

  test("oneOf becomes anyOf: without loss if a required property tells the members apart, else with a reported loss", () => {
    const member = (kind: string): JsonObject => ({ type: "object", properties: { kind: { const: kind } }, required: ["kind"] });
    expect(fitProperty({ oneOf: [member("x"), member("y")] }, "gemini-json-schema")).toEqual({
      a: {
        anyOf: ["x", "y"].map((kind) => ({ type: "object", properties: { kind: { type: "string", enum: [kind] } }, required: ["kind"] })),
      },
      losses: [],
    });
    expect(fitProperty({ oneOf: [{ type: "integer" }, { type: "number" }] }, "gemini-json-schema")).toEqual({
      a: { anyOf: [{ type: "integer" }, { type: "number" }] },
      losses: ["$.properties.a.oneOf: It became anyOf: a value that fits several of them is not refused."],
    });
  });

  test("oneOf beside anyOf is kept where the subset allows it", () => {
    const schema = { anyOf: [{ minimum: 1 }, { type: "string" }], oneOf: [{ type: "integer" }, { type: "string" }] };
    expect(fitProperty(schema, "bedrock-nova")).toEqual({ a: schema, losses: [] });
  });

  test.each([
    ["prefixItems, closed", { prefixItems: [{ type: "boolean" }, { type: "number" }], items: false }],
    ["prefixItems, and a rest", { prefixItems: [{ type: "boolean" }], items: { type: "number" } }],
    ["the rest first", { items: { type: "number" }, prefixItems: [{ type: "boolean" }] }],
    ["items of draft-07, and a rest", { items: [{ type: "boolean" }], additionalItems: { type: "number" } }],
  ])("tuple items become a union for every item where the subset has no tuples: %s", (_, tuple) => {
    for (const subset of ["openai-strict", "anthropic-strict", "gemini-openapi"] as const) {
      expect(fitProperty({ type: "array", ...tuple }, subset)).toMatchObject({
        a: { items: { anyOf: [{ type: "boolean" }, { type: "number" }] } },
      });
    }
  });

  test("an empty tuple is omitted", () => {
    for (const empty of [{ prefixItems: [] }, { items: [] }, { prefixItems: [], items: true }])
      expect(fitProperty({ type: "array", ...empty }, "ollama")).toEqual({ a: { type: "array" }, losses: [] });
    expect(fitProperty({ type: "array", prefixItems: [], items: { type: "number" } }, "ollama")).toEqual({
      a: { type: "array", items: { type: "number" } },
      losses: [],
    });
  });

  test("additionalProperties that no value satisfies is the same as false", () => {
    const schema: JsonSchema = {
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
      additionalProperties: { not: {} },
    };
    for (const subset of ["openai-strict", "anthropic-strict", "gemini-json-schema", "cohere"] as const)
      expect(fitSchema(schema, subset)).toEqual({ schema: { ...schema, additionalProperties: false }, losses: [] });
  });

  test("items that no value satisfies are reported as a loss", () => {
    expect(fitProperty({ type: "array", items: { not: {} } }, "anthropic-strict")).toEqual({
      a: { type: "array", items: { type: "string" } },
      losses: ["$.properties.a.items: No value fits, and the provider cannot express that."],
    });
  });

  test("a property that no value satisfies is omitted, however its schema is written", () => {
    for (const never of [false, { not: {} }, { not: true, description: "None." }]) {
      const schema: JsonSchema = { type: "object", properties: { a: { type: "string" }, b: never } };
      for (const subset of ["openai-strict", "gemini-openapi", "gemini-json-schema"] as const) {
        const fitted = fitSchema(schema, subset);
        expect(Object.keys(fitted.schema["properties"] as JsonObject)).toEqual(["a"]);
        expect(fitted.losses).toEqual([]);
      }
    }
  });

  test("annotations move into the description; comments and vendor extensions are omitted", () => {
    const schema = { type: "string", default: "x", format: "uri", description: "Where.", $comment: "mine", "x-order": 3 };
    expect(fitProperty(schema, "ollama")).toEqual({
      a: { type: "string", description: 'Where. (default: "x"; format: "uri")' },
      losses: [],
    });
  });
});

describe("merging allOf", () => {
  test("keeps the tighter of two bounds, whichever keywords express them", () => {
    const schema = {
      allOf: [
        { type: "integer", exclusiveMaximum: 0 },
        { type: "number", maximum: 3 },
      ],
    };
    expect(fitProperty(schema, "gemini-json-schema")).toEqual({ a: { type: "integer", maximum: -1 }, losses: [] });
  });

  test("intersects the types", () => {
    const schema = { allOf: [{ type: ["null", "string"], minLength: 1 }, { const: null }] };
    expect(fitProperty(schema, "openai-strict")).toMatchObject({ a: { type: "null" } });
    const never = { allOf: [{ type: ["string", "integer"] }, { const: true }] };
    expect(fitProperty(never, "deepseek-strict")).toMatchObject({
      losses: [expect.stringContaining("No value fits")],
    });
  });
});

describe("losses are reported", () => {
  test("a constraint that the subset does not allow moves into the description", () => {
    expect(fitProperty({ type: "string", maxLength: 5, pattern: "^(?=a)" }, "openai-strict")).toEqual({
      a: { type: "string", description: '(maxLength: 5; pattern: "^(?=a)")' },
      losses: [
        "$.properties.a.maxLength: The description names it; the provider does not enforce it.",
        "$.properties.a.pattern: The description names it; the provider does not enforce it.",
      ],
    });
  });

  test("an object with arbitrary keys cannot be enforced in a strict subset", () => {
    const note = "$.properties.a.additionalProperties: Keys that are not named are refused.";
    const closed = { type: "object", properties: {}, required: [], additionalProperties: false };
    expect(fitProperty({ type: "object" }, "openai-strict")).toEqual({ a: closed, losses: [note] });
    expect(fitProperty({ type: "object", additionalProperties: { type: "string" } }, "openai-strict")).toEqual({
      a: { ...closed, description: '(additionalProperties: {"type":"string"})' },
      losses: [note],
    });
  });

  test("a recursive schema is expanded three times where references are not allowed", () => {
    const schema = {
      type: "object",
      properties: { tree: { $ref: "#/$defs/tree" } },
      $defs: { tree: { type: "object", properties: { next: { $ref: "#/$defs/tree" } } } },
    };
    const last = { type: "object", description: "The same again, as deep as needed." };
    const tree = (next: JsonObject): JsonObject => ({ type: "object", properties: { next } });
    expect(fitSchema(schema, "ollama")).toEqual({
      schema: { type: "object", properties: { tree: tree(tree(tree(last))) } },
      losses: [
        {
          path: "$.properties.tree.properties.next.properties.next.properties.next.$ref",
          note: "The schema is recursive and is cut off here.",
        },
      ],
    });
  });

  test("enum values that the subset cannot list, and an untyped value where a type is required", () => {
    expect(fitProperty({ enum: [1, 2] }, "gemini-openapi")).toEqual({
      a: { type: "integer", description: "(one of: [1,2])" },
      losses: ["$.properties.a.enum: Such values cannot be listed: they are named in the description."],
    });
    expect(fitProperty({}, "deepseek-strict")).toEqual({
      a: { anyOf: [{ type: "string" }, { type: "number" }, { type: "boolean" }] },
      losses: ["$.properties.a: Any value is allowed, but here only strings, numbers and booleans."],
    });
  });

  test("openai-strict: exceeding a size limit is a loss, so that the tool is sent without strict", () => {
    const properties = Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`p${at}`, { type: "string" }]));
    expect(fitSchema({ type: "object", properties, required: Object.keys(properties) }, "openai-strict").losses).toEqual([
      { path: "$", note: "It has more than the 100 properties that the provider takes." },
    ]);
  });
});

describe("any schema", () => {
  test.each(SUBSETS)("%s: uses only keywords of the subset", (subset) => {
    fc.assert(
      fc.property(root, (schema) => {
        const { allowedKeywords } = SUBSET_RULES[subset];
        const foreign = [...keywordsIn(fitSchema(schema, subset).schema)].filter((keyword) => !allowedKeywords.has(keyword));
        expect(foreign).toEqual([]);
      }),
      { numRuns: inCI ? 120 : 40 },
    );
  });

  test.each(SUBSETS)("%s: accepts the same values if no loss is reported", (subset) => {
    fc.assert(
      fc.property(root, fc.array(fc.record({ a: value, b: value }), { minLength: 5, maxLength: 5 }), (schema, inputs) => {
        const fitted = fitSchema(schema, subset);
        if (fitted.losses.length > 0) return;
        const before = compileSchema(schema);
        const after = compileSchema(fromOpenApi(fitted.schema));
        expect(inputs.map((input) => after.check(input))).toEqual(inputs.map((input) => before.check(input)));
      }),
      { numRuns: inCI ? 200 : 50 },
    );
  });

  test("the result for a frozen schema is cached", () => {
    const schema = Object.freeze({ type: "object", properties: Object.freeze({}) });
    expect(fitSchema(schema, "ollama")).toBe(fitSchema(schema, "ollama"));
  });
});
