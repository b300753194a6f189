import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/core/base/json.ts";
import { seededRandom } from "../../../src/core/base/seeded-random.ts";
import { compileSchema } from "../../../src/schema/compile-schema.ts";
import { exampleValue } from "../../../src/schema/example/example-value.ts";
import { repeated } from "../../ci.ts";
import { satisfiableSchema } from "./satisfiable-schema.ts";

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];

test("F0.40 of random satisfiable schemas, 99.5 % get a valid value, and no value is called valid that is not", () => {
  const count = repeated(5_000);
  const missed: string[] = [];
  for (let seed = 1; seed <= count; seed++) {
    const random = seededRandom(seed);
    const { schema, value } = satisfiableSchema(() => random.next());
    const validator = compileSchema(schema);
    expect(validator.check(value), `the generator, seed ${seed}`).toBe(true);
    const example = exampleValue(schema, { random: seededRandom(seed) });
    expect(validator.check(example.value), `seed ${seed}`).toBe(example.valid);
    if (!example.valid) missed.push(JSON.stringify(schema));
  }
  expect(missed.length / count, missed.toSorted((a, b) => a.length - b.length)[0]).toBeLessThanOrEqual(0.005);
});

describe("F0.40 a valid value is found", () => {
  const int = (minimum: number): JsonObject => ({ type: "integer", minimum });
  const nested: JsonObject = { oneOf: [{ type: "number" }, { type: "string" }, { type: "null" }] };
  test.each<readonly [string, JsonObject]>([
    ["a pattern without a beginning, with a length", { type: "string", pattern: "o$", minLength: 2, maxLength: 6 }],
    ["a pattern of digits of one length", { type: "string", pattern: "^[0-9]+$", minLength: 34, maxLength: 34 }],
    ["a pattern with a prefix and a length", { type: "string", pattern: "^ID-[A-F0-9]*$", minLength: 19, maxLength: 19 }],
    ["properties that need others", { type: "object", minProperties: 3, maxProperties: 3, dependentRequired: { name: ["absent"] } }],
    [
      "an optional property that needs more than there may be",
      { properties: { a: {}, b: {} }, required: ["b"], maxProperties: 2, minProperties: 1, dependentRequired: { a: ["c", "d"] } },
    ],
    ["the last of three branches for null", { type: "null", ...nested }],
    [
      "two choices that match in one combination",
      { type: "null", allOf: [nested, { oneOf: [{ type: "null" }, int(5), { type: "string" }] }] },
    ],
    ["an item to contain behind a tuple", { type: "array", prefixItems: [int(3)], contains: { type: "string" }, minItems: 2, maxItems: 2 }],
    [
      "one item that is contained twice",
      { type: "array", maxItems: 1, allOf: [{ contains: { type: "integer" } }, { contains: { minimum: 9, multipleOf: 7 } }] },
    ],
    [
      "a contained item behind a tuple that may have no others",
      { type: "array", prefixItems: [{ type: "string" }], contains: int(5), unevaluatedItems: false },
    ],
    [
      "as many contained items as the length needs",
      { type: "array", prefixItems: [{ type: "string" }], contains: { type: "null" }, unevaluatedItems: false, minItems: 4 },
    ],
    ["a contained item among others of one type", { type: "array", contains: int(5), unevaluatedItems: { type: "string" }, minItems: 4 }],
    [
      "two different contained items behind a tuple of three",
      {
        type: "array",
        prefixItems: [{ type: "string" }, { type: "string" }, { type: "string" }],
        allOf: [{ contains: int(5) }, { contains: { type: "null" } }],
        unevaluatedItems: false,
      },
    ],
    [
      "a contained item of draft 2019-09, to which the rule for other items applies",
      {
        $schema: "https://json-schema.org/draft/2019-09/schema",
        type: "array",
        contains: { minimum: 5 },
        unevaluatedItems: { type: "integer" },
        minItems: 3,
      },
    ],
    ["the end of a range", { type: "number", minimum: -584, not: { type: "number", exclusiveMinimum: -584 } }],
    ["a fraction only", { type: "number", exclusiveMinimum: 107.75, maximum: 108.25, multipleOf: 0.01, not: { type: "integer" } }],
    [
      "a recursive tree with a choice in each node",
      {
        $defs: {
          node: {
            type: "object",
            properties: { v: nested, next: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] } },
            required: ["v", "next"],
          },
        },
        $ref: "#/$defs/node",
      },
    ],
  ])("for %s", (_name, schema) => {
    for (const seed of SEEDS) {
      const { value, valid } = exampleValue(
        { type: "object", properties: { part: schema }, required: ["part"], $defs: schema["$defs"] ?? {} },
        { random: seededRandom(seed) },
      );
      const inner = (value as JsonObject)["part"];
      expect([valid, compileSchema(schema).problems(inner)], JSON.stringify(value)).toEqual([true, []]);
    }
  });
});
