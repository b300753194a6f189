/** Objects that are checked by a loop over their keys: the verdict is the one that is explained, whatever their keys are. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileSchema } from "../../src/schema/compile-schema.ts";

const EVERY_OBJECT: object = Object.prototype;

const NAMES = ["id", "name", "count", "constructor", "toString", "__proto__", "tags"] as const;
const LEAVES = [
  { type: "string" },
  { type: "integer" },
  { minimum: 2 },
  {},
  false,
  true,
  { type: "array", items: { type: "number" } },
] as const;
const VALUES = ["a", 1, 2.5, null, true, [1, "x"], [1, 2], undefined] as const;

type Schema = Record<string, unknown>;

/** With or without fields that are declared, required elsewhere, or allowed beside them. */
const leaf: fc.Arbitrary<unknown> = fc.constantFrom<unknown[]>(...LEAVES);
const names = fc.subarray([...NAMES]);
function schemaOf(child: fc.Arbitrary<unknown>): fc.Arbitrary<Schema> {
  return fc
    .record({
      declared: fc.array(fc.tuple(fc.constantFrom(...NAMES), child), { maxLength: 6 }),
      required: names,
      additional: fc.option(leaf),
    })
    .map(({ declared, required, additional }) => ({
      type: "object",
      properties: Object.fromEntries(declared),
      required,
      ...(additional === null ? {} : { additionalProperties: additional }),
    }));
}
const schema = schemaOf(fc.oneof(leaf, schemaOf(leaf)));

/** Plain, without a prototype, or with the fields of a class's prototype. */
function objectOf(value: fc.Arbitrary<unknown>): fc.Arbitrary<object> {
  const fields = fc.array(fc.tuple(fc.constantFrom(...NAMES, "more", "other"), value), { maxLength: 7 });
  return fc.tuple(fields, fc.constantFrom("plain", "bare", "inherited")).map(([entries, kind]) => {
    const object: object = Object.create(
      kind === "bare" ? null : kind === "inherited" ? { id: "inherited", count: 1 } : Object.prototype,
    ) as object;
    for (const [name, item] of entries)
      Object.defineProperty(object, name, { value: item, enumerable: true, writable: true, configurable: true });
    return object;
  });
}
const object = objectOf(fc.oneof(fc.constantFrom<unknown[]>(...VALUES), objectOf(fc.constantFrom<unknown[]>(...VALUES))));

describe("checking a plain object", () => {
  test("agrees with problems() for any order of its keys", () => {
    fc.assert(
      fc.property(schema, object, (raw, value) => {
        const validator = compileSchema(raw);
        expect(validator.check(value)).toBe(validator.problems(value).length === 0);
      }),
      { numRuns: 500 },
    );
  });

  test("ignores fields inherited from a polluted prototype", () => {
    const validator = compileSchema({ type: "object", properties: { polluted: { type: "string" } }, required: ["polluted"] });
    const verdicts = { of: [] as readonly boolean[] };
    Object.defineProperty(EVERY_OBJECT, "polluted", { value: "x", enumerable: true, writable: true, configurable: true });
    try {
      verdicts.of = [validator.check({}), validator.check({ polluted: "own" })];
    } finally {
      Reflect.deleteProperty(EVERY_OBJECT, "polluted");
    }
    expect(verdicts.of).toEqual([false, true]);
  });

  test("costs no steps for fields that the schema neither declares nor forbids", () => {
    const fields = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`key${index}`, index]));
    const open = compileSchema({ type: "object", properties: { id: { type: "string" } } }, { maxSteps: 100 });
    expect([open.check({ id: "a", ...fields }), open.check({ id: 1, ...fields })]).toEqual([true, false]);
  });

  test("is charged for each key that is listed, also if many subschemas look at a wide object", () => {
    const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`key${index}`, index]));
    let listed = 0;
    const watched = new Proxy(wide, { ownKeys: (target) => (listed++, Reflect.ownKeys(target)) });
    const branch = { type: "object", properties: { key0: { type: "string" } }, additionalProperties: false };
    const any = compileSchema({ anyOf: Array.from({ length: 1_000 }, (_, index) => ({ ...branch, title: `${index}` })) });
    expect(any.check(watched)).toBe(false);
    expect(listed).toBeLessThan(50);
  });
});
