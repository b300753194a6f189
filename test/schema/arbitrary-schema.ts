/** Random schemas of 2020-12 that mostly allow something, with every keyword that looks at other values than its own. */
import fc from "fast-check";
import type { JsonObject } from "../../src/core/base/json.ts";

const key = fc.constantFrom("a", "b", "c", "id", "name");
const simple = fc.constantFrom<readonly JsonObject[string][]>([null, "a", 1], ["bb", 0, true], [{}, [], 2.5], [{ a: "x" }, "x", 3]);

export const { schema: arbitrarySchema } = fc.letrec<{ schema: JsonObject }>((tie) => {
  const schemas = fc.array(tie("schema"), { minLength: 1, maxLength: 3 });
  const fields = fc.dictionary(key, tie("schema"), { maxKeys: 3 });
  const part = fc.record(
    {
      enum: simple,
      const: fc.constantFrom<JsonObject[string]>("a", 1, null),
      minimum: fc.integer({ min: -2, max: 2 }),
      maximum: fc.integer({ min: 2, max: 6 }),
      minLength: fc.nat(2),
      maxLength: fc.integer({ min: 2, max: 5 }),
      required: fc.uniqueArray(key, { maxLength: 2 }),
      properties: fields,
      patternProperties: fc.dictionary(fc.constantFrom("^a", "d$"), tie("schema"), { maxKeys: 2 }),
      additionalProperties: fc.oneof(fc.boolean(), tie("schema")),
      unevaluatedProperties: fc.oneof(fc.boolean(), tie("schema")),
      propertyNames: fc.constantFrom<JsonObject>({ maxLength: 4 }, { pattern: "^[a-z]" }),
      maxProperties: fc.integer({ min: 1, max: 3 }),
      dependentSchemas: fields,
      items: tie("schema"),
      prefixItems: schemas,
      contains: tie("schema"),
      minContains: fc.nat(1),
      minItems: fc.nat(2),
      maxItems: fc.integer({ min: 2, max: 4 }),
      uniqueItems: fc.boolean(),
      unevaluatedItems: fc.oneof(fc.boolean(), tie("schema")),
      allOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
      anyOf: schemas,
      oneOf: schemas,
      not: tie("schema"),
      if: tie("schema"),
      then: tie("schema"),
      else: tie("schema"),
    },
    { requiredKeys: [] },
  );
  const typed = fc.constantFrom<JsonObject>(
    { type: "object" },
    { type: "array" },
    { type: "string" },
    { type: "integer" },
    {},
    { type: ["object", "null"] },
  );
  return {
    schema: fc.oneof(
      { depthSize: "small", maxDepth: 4 },
      typed,
      fc.tuple(typed, part, fc.uniqueArray(fc.nat(29), { minLength: 1, maxLength: 4 })).map(([type, keywords, chosen]) => {
        const entries = Object.entries(keywords);
        const few = new Set(chosen.map((number) => entries[number % Math.max(1, entries.length)]?.[0]));
        return Object.fromEntries([...Object.entries(type), ...entries.filter(([keyword]) => few.has(keyword))]);
      }),
    ),
  };
});
