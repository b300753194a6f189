import { describe, expect, test } from "vitest";
import { type JsonObject, copyJson } from "../../src/core/base/json.ts";
import { compileSchema } from "../../src/schema/compile-schema.ts";
import { defaultWarnings, repairInput, type RepairOptions, type RepairOutcome } from "../../src/schema/repair/repair-input.ts";

const WRITE: RepairOptions = { dropUnknownKeys: false };

function fit(schema: unknown, input: unknown): RepairOutcome {
  return repairInput(copyJson(input).value, compileSchema(schema), WRITE);
}

function object(properties: JsonObject, required: readonly string[] = [], more: JsonObject = {}): JsonObject {
  return { type: "object", properties, required, ...more };
}

describe("defaults", () => {
  test("F4.14 a missing optional property gets its default, nested ones too, and each is listed", () => {
    const schema = object(
      {
        unit: { type: "string", default: "cm" },
        options: object({ deep: { $ref: "#/$defs/deep" } }),
        list: { type: "array", items: object({ n: { type: "integer", default: 1 } }) },
        $defs: {},
      },
      [],
      { $defs: { deep: { type: "object", allOf: [object({ flag: { type: "boolean", default: false } })] } } },
    );
    expect(fit(schema, { options: { deep: {} }, list: [{}, { n: 2 }] })).toEqual({
      ok: true,
      value: { unit: "cm", options: { deep: { flag: false } }, list: [{ n: 1 }, { n: 2 }] },
      repairs: [
        { path: "$.unit", kind: "defaulted", note: 'missing → "cm"' },
        { path: "$.options.deep.flag", kind: "defaulted", note: "missing → false" },
        { path: "$.list[0].n", kind: "defaulted", note: "missing → 1" },
      ],
    });
  });

  test("F4.14 defaults are applied together with repairs, and after them", () => {
    expect(fit(object({ n: { type: "integer" }, unit: { default: "cm" } }), { n: "1" })).toEqual({
      ok: true,
      value: { n: 1, unit: "cm" },
      repairs: [
        { path: "$.n", kind: "coerced", note: '"1" → 1' },
        { path: "$.unit", kind: "defaulted", note: 'missing → "cm"' },
      ],
    });
  });

  test("F4.14 null does not count as missing, and a required property gets no default", () => {
    expect(fit(object({ a: { type: ["null", "integer"], default: 1 } }), { a: null })).toEqual({
      ok: true,
      value: { a: null },
      repairs: [],
    });
    expect(fit(object({ a: { type: "integer", default: 1 } }, ["a"]), {}).ok).toBe(false);
  });

  test("A23 a default that does not fit its own schema is never applied, and is reported as a warning", () => {
    const validator = compileSchema(
      object({ a: { type: "integer", default: "5" }, b: { type: "integer", default: 6 }, o: object({ "c d": { enum: [1], default: 2 } }) }),
    );
    expect(repairInput({ o: {} }, validator, WRITE)).toEqual({
      ok: true,
      value: { o: {}, b: 6 },
      repairs: [{ path: "$.b", kind: "defaulted", note: "missing → 6" }],
    });
    expect(defaultWarnings(validator)).toEqual([
      '$.a: the default "5" does not fit its own schema and is never applied',
      '$.o["c d"]: the default 2 does not fit its own schema and is never applied',
    ]);
  });

  test("A23 an object default is frozen, so that calls cannot modify each other's", () => {
    const standard = { list: [1] };
    const outcome = fit(object({ o: { type: "object", default: standard } }), {});
    standard.list.push(2);
    expect(outcome).toMatchObject({ ok: true, value: { o: { list: [1] } } });
    expect(
      outcome.ok && [outcome.value, outcome.value["o"], Reflect.get(outcome.value["o"] as object, "list")].every(Object.isFrozen),
    ).toBe(true);
  });

  test("F4.14 a default is completed with the defaults of its own properties", () => {
    const limits = object({ limit: { type: "integer", default: 10 }, pages: object({ size: { default: 5 } }) }, [], { default: {} });
    const schema = object({ o: limits, p: { $ref: "#/$defs/p" } }, [], {
      $defs: { p: object({ q: object({ r: { default: 1 } }, [], { default: {} }) }, [], { default: {} }) },
    });
    const first = fit(schema, {});
    expect(first).toEqual({
      ok: true,
      value: { o: { limit: 10 }, p: { q: { r: 1 } } },
      repairs: [
        { path: "$.o", kind: "defaulted", note: 'missing → {"limit":10}' },
        { path: "$.p", kind: "defaulted", note: expect.stringContaining("missing → ") as unknown },
      ],
    });
    expect(first.ok && fit(schema, first.value)).toEqual({ ok: true, value: first.ok && first.value, repairs: [] });
  });

  test("circular and exponentially growing defaults terminate", () => {
    const circle = object({ v: { default: 0 }, kid: { $ref: "#" } }, [], { default: {} });
    expect(fit(circle, {})).toMatchObject({ ok: true, value: { v: 0, kid: { v: 0 } } });
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => {
        const next = { $ref: `#/$defs/d${index + 1}` };
        return [`d${index}`, object({ a: next, b: next, v: { default: index } }, [], { default: {} })];
      }),
    );
    const outcome = fit(object({ top: { $ref: "#/$defs/d0" } }, [], { $defs: { ...$defs, d40: { default: 1 } } }), {});
    expect(outcome.ok).toBe(true);
  });

  test("defaults that would make a valid input invalid are not applied", () => {
    const schema = object({ a: { type: "integer" }, b: { default: 1 } }, [], { maxProperties: 1 });
    expect(fit(schema, { a: 1 })).toEqual({ ok: true, value: { a: 1 }, repairs: [] });
  });

  test("a recursive schema applies defaults only as deep as the value goes", () => {
    const schema = object({ v: { type: "integer", default: 0 }, kids: { type: "array", items: { $ref: "#" } } });
    expect(fit(schema, { kids: [{ kids: [{}] }] })).toMatchObject({ ok: true, value: { v: 0, kids: [{ v: 0, kids: [{ v: 0 }] }] } });
  });
});
