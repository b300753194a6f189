import { describe, expect, test } from "vitest";
import { inProcessorTime } from "../processor-time.ts";
import fc from "fast-check";
import { type JsonObject, type JsonValue, copyJson } from "../../src/core/base/json.ts";
import { parseJson } from "../../src/core/base/parse-json.ts";
import { compileSchema } from "../../src/schema/compile-schema.ts";
import { defaultWarnings, repairInput, type RepairOptions, type RepairOutcome } from "../../src/schema/repair/repair-input.ts";
import { repeated } from "../ci.ts";

const READ: RepairOptions = { dropUnknownKeys: true };
const WRITE: RepairOptions = { dropUnknownKeys: false };

function fit(schema: unknown, input: unknown, options: RepairOptions = WRITE): RepairOutcome {
  return repairInput(copyJson(input).value, compileSchema(schema), options);
}

function object(properties: JsonObject, required: readonly string[] = [], more: JsonObject = {}): JsonObject {
  return { type: "object", properties, required, ...more };
}

/** Fits `{v: value}` to a schema whose one required property is `v`; undefined when it is refused. */
const MAX_LOOKS = 1_000_000;

/** How often an input that is refused is looked at: the members that are read, and the lists of their keys. */
function looksAt(schema: JsonValue, input: JsonObject): number {
  let looks = 0;
  const watched = <T>(value: T): T => {
    if (typeof value !== "object" || value === null) return value;
    return new Proxy(value, {
      get: (target, key) => {
        looks++;
        return watched(Reflect.get(target, key) as unknown);
      },
      ownKeys: (target) => {
        looks++;
        return Reflect.ownKeys(target);
      },
    });
  };
  expect(repairInput(watched(input), compileSchema(schema), WRITE).ok).toBe(false);
  return looks;
}

function fitValue(schema: JsonValue, value: unknown): unknown {
  const outcome = fit(object({ v: schema }, ["v"]), { v: value });
  return outcome.ok ? outcome.value["v"] : undefined;
}

describe("null for an optional key", () => {
  const schema = object(
    {
      city: { type: "string" },
      days: { type: "integer" },
      unit: { type: "string", default: "C" },
      note: { type: ["string", "null"] },
      any: {},
      deep: object({ at: { type: "integer" } }),
    },
    ["city"],
  );

  test("is dropped, as strict mode makes models send it, and the default applies", () => {
    const outcome = fit(schema, { city: "Oslo", days: null, unit: null, note: null, any: null, deep: { at: null } });
    expect(outcome).toMatchObject({ ok: true, value: { city: "Oslo", unit: "C", note: null, any: null, deep: {} } });
    expect(outcome.ok ? outcome.repairs.filter(({ kind }) => kind === "dropped") : []).toEqual([
      { path: "$.days", kind: "dropped", note: "null → left out" },
      { path: "$.unit", kind: "dropped", note: "null → left out" },
      { path: "$.deep.at", kind: "dropped", note: "null → left out" },
    ]);
  });

  test("is rejected for a required key", () => {
    expect(fit(schema, { city: null }).ok).toBe(false);
  });
});

describe("values whose repair could change their meaning are rejected", () => {
  test.each<[JsonValue, unknown]>([
    [{ type: "number" }, null],
    [{ type: "integer" }, null],
    [{ type: "string" }, null],
    [{ type: "boolean" }, null],
    [{ type: "array" }, null],
    [{ type: "boolean" }, "maybe"],
    [{ type: "boolean" }, 1],
    [{ type: "boolean" }, "1"],
    [{ type: "boolean" }, "yes"],
    [{ type: "integer" }, 5.5],
    [{ type: "integer" }, "5.5"],
    [{ type: "integer" }, true],
    [{ type: "integer" }, ""],
    [{ type: "integer" }, "007"],
    [{ type: "integer" }, "+5"],
    [{ type: "integer" }, "0x1f"],
    [{ type: "integer" }, "1_000"],
    [{ type: "integer" }, "9007199254740993"],
    [{ type: "number" }, "1e400"],
    [{ type: "number" }, "1915883588174806058"],
    [{ type: "number" }, "NaN"],
    [{ type: "number" }, "abc"],
    [{ type: "string" }, 5],
    [{ type: "string" }, true],
    [{ type: "string" }, ["x"]],
    [{ type: "integer" }, [5]],
    [{ type: "array", items: { type: "integer" } }, 5],
    [{ type: "array", items: { type: "string" } }, "x"],
    [{ type: "null" }, ""],
    [{ type: "object" }, "not json"],
    [{ type: "object" }, "[1]"],
    [{ type: "array" }, '{"a":1}'],
    [{ type: "array" }, "[1,2"],
    [{ type: "object" }, '{"a":"half a'],
    [{ type: "array", items: { type: "integer" } }, "[1915883588174806058]"],
    [{ type: "object" }, '{"a":1,"a":2}'],
    [{ enum: ["red", "green"] }, "re"],
    [{ enum: ["A", "a "] }, " a"],
    [{ enum: [1, 2] }, "3"],
    [{ type: "array", items: { type: "integer" } }, '["1","x"]'],
  ])("A18 for the schema %j the value %j", (schema, value) => {
    expect(fitValue(schema, value)).toBeUndefined();
  });

  test("A18 a failed repair reports the problems that would remain after the repairs, and repairs nothing", () => {
    expect(
      fit(object({ a: { type: "integer" }, b: { type: "integer" }, c: { maximum: 3, type: "integer" } }), { a: "5", b: "x", c: "7" }),
    ).toEqual({
      ok: false,
      problems: [
        { path: "$.b", pointer: "/b", keyword: "type", message: "expected type integer, got string" },
        { path: "$.c", pointer: "/c", keyword: "maximum", message: expect.stringContaining("7") },
      ],
    });
  });

  test("A18 nothing is coerced when coerce is false", () => {
    const schema = object({ a: { type: "integer" } });
    expect(fit(schema, { a: "5" }, { dropUnknownKeys: false, coerce: false }).ok).toBe(false);
    expect(fit(schema, '{"a":5}', { dropUnknownKeys: false, coerce: false }).ok).toBe(false);
  });

  test.each(["process.exit(1)", '__import__("os").system("id")', "${7*7}", "{{constructor}}"])(
    "A20 code in a string value stays text: %s",
    (text) => {
      expect(fitValue({ type: "string" }, text)).toBe(text);
      expect(fitValue({ type: "object" }, text)).toBeUndefined();
      expect(fitValue({ type: "number" }, text)).toBeUndefined();
    },
  );
});

describe("the input must be an object", () => {
  test.each([
    [null, "null"],
    [5, "integer"],
    [[], "array"],
    [[{ a: 1 }], "array"],
    ["", "string"],
    ["text", "string"],
    ["null", "string"],
  ])("A07 %j is rejected, whatever the schema allows", (input, type) => {
    const problems = [{ path: "$", pointer: "", keyword: "type", message: `expected type object, got ${type}` }];
    expect(fit({}, input)).toEqual({ ok: false, problems });
    expect(fit(object({ a: { type: "integer" } }), input)).toEqual({ ok: false, problems });
  });

  test("A07 JSON text of an array is rejected as an array", () => {
    const message = "expected type object, got JSON text of type array";
    expect(fit({}, "[1]")).toEqual({ ok: false, problems: [{ path: "$", pointer: "", keyword: "type", message }] });
  });

  test("A07 an input encoded once or twice is decoded and the repair listed; one encoded three times is rejected", () => {
    expect(fit(object({ a: { type: "integer" } }), '{"a":1}')).toEqual({
      ok: true,
      value: { a: 1 },
      repairs: [{ path: "$", kind: "parsed-json", note: "JSON text → object" }],
    });
    expect(fit(object({ a: { type: "integer" } }), JSON.stringify('{"a":1}'))).toEqual({
      ok: true,
      value: { a: 1 },
      repairs: [{ path: "$", kind: "fixed-json", note: "broken JSON text → object: JSON inside a string read" }],
    });
    expect(fit(object({ a: { type: "integer" } }), JSON.stringify(JSON.stringify('{"a":1}'))).ok).toBe(false);
  });

  test("A07 problems of an input given as JSON text refer to the object in the text", () => {
    expect(fit(object({ a: { type: "integer" } }), '{"a":"x"}')).toEqual({
      ok: false,
      problems: [{ path: "$.a", pointer: "/a", keyword: "type", message: "expected type integer, got string" }],
    });
  });

  test("broken JSON text whose brackets are closed is repaired, and the repair is listed", () => {
    expect(fit(object({ a: { type: "integer" }, b: {} }), "{'a': 1, b: None, // note\n}")).toEqual({
      ok: true,
      value: { a: 1, b: null },
      repairs: [
        {
          path: "$",
          kind: "fixed-json",
          note:
            "broken JSON text → object: other quotes read as double quotes, key without quotes, word of another language read as JSON's, " +
            "comment left out, extra comma left out",
        },
      ],
    });
  });
});

describe("damaged JSON text", () => {
  const any = object({});

  test.each<[string, string]>([
    ['{"id": 1234567890123456789}', "the integer 1234567890123456789 would lose digits"],
    ["{'id': 1234567890123456789}", "the integer 1234567890123456789 would lose digits"],
    ["{'id': 9007199254740993.0}", "the integer 9007199254740993.0 would lose digits"],
    ["{'id': 9.007199254740993e15,}", "the integer 9.007199254740993e15 would lose digits"],
    ['{"a": 1, "b": 2, "a": 3}', 'the key "a" is given twice'],
    ["{'a': 1, 'a': 3}", 'the key "a" is given twice'],
    ['{"a": 1, "a": 1}', 'the key "a" is given twice'],
    ['{"a": 1e400}', "the number 1e400 is too large"],
    [`${'{"a":'.repeat(70)}1${"}".repeat(70)}`, "nests deeper than 64 levels"],
    ['{"what": "a', "a string is not closed"],
    ['{"constructor": {"prototype": {"x": 1}}}', '"prototype" below "constructor"'],
  ])("%j is rejected, and the problem gives the reason", (text, reason) => {
    const outcome = fit(any, text);
    expect(outcome.ok ? [] : outcome.problems.map(({ message }) => message)).toEqual([expect.stringContaining(reason)]);
  });

  test("a JSON text that is too long is rejected with the limit, and a damaged one that is too long to be repaired with its fault", () => {
    const problemOf = (text: string): unknown => {
      const outcome = fit(any, text);
      return outcome.ok ? outcome.ok : outcome.problems.map(({ message }) => message);
    };
    expect(problemOf(`{"a": [${"1,".repeat(600_000)}1]}`)).toEqual([expect.stringContaining("an input may have 1048576 characters")]);
    expect(problemOf(`{"a": "${"x".repeat(200_000)}",}`)).toEqual([expect.stringContaining("Leave out the comma after the last item.")]);
  });

  test("a JSON text inside the input that cannot be parsed as the required object gives the reason too", () => {
    const outcome = fit(object({ a: { type: "object" } }), { a: '{"id": 1234567890123456789}' });
    expect(outcome.ok ? "" : outcome.problems[0]?.message).toContain("would lose digits");
  });

  test.each([
    '{"what": "a"',
    '{"filter": {"id": 5}',
    '{"amount":-}',
    '{"a": ["a" "b"]}',
    '{"a": [1,,2]}',
    "{a: hello}",
    '{"a":"x,"b":"y"}',
    '{"say": "she said "no" and left"}',
    String.raw`{"path": "C:\Users\new"}`,
  ])("%j needs a guess: it is rejected for a tool that writes, and repaired and listed for a tool that reads", (text) => {
    const refused = repairInput(text, compileSchema(any), { dropUnknownKeys: false });
    expect(refused.ok ? "ran" : refused.problems[0]?.message).toContain("Not valid JSON");
    const taken = repairInput(text, compileSchema(any), { dropUnknownKeys: true, allowGuesses: true });
    expect(taken.ok ? taken.repairs.map(({ kind, note }) => [kind, /^broken JSON text → object: \w/u.test(note)]) : taken).toEqual([
      ["fixed-json", true],
    ]);
  });

  test.each<[string, JsonValue]>([
    [String.raw`{"pattern": "^\d+\s*$"}`, { pattern: String.raw`^\d+\s*$` }],
    [String.raw`{"path": "C:\Users\ada"}`, { path: String.raw`C:\Users\ada` }],
    ['{"to":"bob@x.com",,"cc":"eve@x.com"}', { to: "bob@x.com", cc: "eve@x.com" }],
    ["{'a': TRUE, 'b': Null, 'c': (2), 'd': ()}", { a: true, b: null, c: 2, d: [] }],
  ])("%s is repaired for every tool without changing a character of its strings", (text, value) => {
    const outcome = repairInput(text, compileSchema(any), { dropUnknownKeys: false });
    expect(outcome.ok ? outcome.value : outcome.problems).toEqual(value);
  });

  test("a __proto__ key in JSON text is dropped, and the repair is listed", () => {
    expect(fit(any, '{"a": {"__proto__": {"x": 1}}}')).toEqual({
      ok: true,
      value: { a: {} },
      repairs: [
        { path: "$", kind: "parsed-json", note: "JSON text → object" },
        { path: "$.a.__proto__", kind: "dropped", note: "left out: a key __proto__ could reach a prototype" },
      ],
    });
    const mended = fit(any, "{'__proto__': 1, 'a': 2}");
    expect(mended.ok ? mended.repairs[0]?.note : "").toContain('key "__proto__" left out');
  });
});

test("values matched by patternProperties are repaired by the schema of the matching pattern", () => {
  const schema = {
    type: "object",
    patternProperties: { "^n_": { type: "integer" }, "^b_": { type: "boolean" } },
    additionalProperties: { type: "number" },
  };
  expect(fit(schema, { n_a: "5", b_a: "true", other: "0.5" })).toMatchObject({ ok: true, value: { n_a: 5, b_a: true, other: 0.5 } });
});

test.each([READ, WRITE])("A10 matching long keys against a costly pattern takes no longer than one validation would: %j", (options) => {
  const schema = {
    type: "object",
    properties: { a: { type: "integer" } },
    patternProperties: { "(?:.*a){50}(?:.*b){50}(?:.{0,40}c){40}$": { type: "integer" } },
    additionalProperties: false,
  };
  const keys = Array.from({ length: 1_000 }, (_none, index) => `${index}`.padEnd(400, "cab"));
  expect(inProcessorTime(2_000, () => fit(schema, { ...Object.fromEntries(keys.map((key) => [key, 1])), a: "1" }, options).ok)).toBe(false);
});

describe("lossless repairs are applied", () => {
  test.each<[JsonValue, unknown, unknown]>([
    [{ type: "integer" }, "5", 5],
    [{ type: "integer" }, " 5.0 ", 5],
    [{ type: "integer" }, "1e3", 1000],
    [{ type: "number" }, "-0.25", -0.25],
    [{ type: "number" }, "-0", 0],
    [{ type: "boolean" }, "true", true],
    [{ type: "boolean" }, "False", false],
    [{ type: ["integer", "null"] }, "null", null],
    [{ type: ["integer", "null"] }, "7", 7],
    [{ const: 5 }, "5", 5],
    [{ enum: [1, 2] }, "2", 2],
    [{ enum: ["celsius", "fahrenheit"] }, "Celsius ", "celsius"],
    [{ type: "string", enum: ["New York"] }, "new  york", "New York"],
    [{ type: "array", items: { type: "integer" } }, '["1", 2]', [1, 2]],
    [{ type: "array", items: { type: "string" } }, "['a', 'b']", ["a", "b"]],
    [{ type: "object", properties: { n: { type: "integer" } } }, '{"n":"7"}', { n: 7 }],
    [{ type: "array", prefixItems: [{ type: "integer" }], items: { type: "boolean" } }, ["1", "true"], [1, true]],
    [{ type: "object", additionalProperties: { type: "integer" } }, { a: "1" }, { a: 1 }],
    [{ allOf: [{ type: "integer" }, { minimum: 1 }] }, "5", 5],
    [{ anyOf: [{ type: "integer" }, { type: "null" }] }, "5", 5],
    [{ oneOf: [{ type: "boolean" }, { type: "array", items: { type: "integer" } }] }, "[1]", [1]],
    [{ anyOf: [{ type: "object", properties: { n: { type: "integer" } }, required: ["n"] }, { type: "null" }] }, { n: "1" }, { n: 1 }],
  ])("F3.8 for the schema %j the value %j becomes %j", (schema, value, repaired) => {
    expect(fitValue(schema, value)).toEqual(repaired);
  });

  test.each(["4503599627370497.3", "9007199254740990.5", "1e-400"])("text %j stays text, because the number would differ", (text) => {
    expect(fitValue({ type: "number" }, text)).toBeUndefined();
    expect(fitValue({ type: ["number", "string"] }, text)).toBe(text);
  });

  test("F1.39 text for an integer parameter is coerced to a number, and the repair is listed", () => {
    expect(fit(object({ n: { type: "integer" }, s: { type: "string" } }), { n: "5", s: "6" })).toEqual({
      ok: true,
      value: { n: 5, s: "6" },
      repairs: [{ path: "$.n", kind: "coerced", note: '"5" → 5' }],
    });
  });

  test("text that a union allows stays text; where it does not fit, the non-string members are tried first", () => {
    const union = (text: JsonObject): JsonObject => ({
      anyOf: [text, { type: "object", properties: { n: { type: "integer" } }, required: ["n"] }],
    });
    expect(fitValue(union({ type: "string" }), '{"n":1}')).toBe('{"n":1}');
    expect(fitValue(union({ type: "string", enum: ['{"N":1}'] }), '{"n":1}')).toEqual({ n: 1 });
    expect(fitValue(union({ type: "string", maxLength: 3 }), '{"n":"1"}')).toEqual({ n: 1 });
    expect(fitValue(union({ enum: ["None"] }), "none")).toBe("None");
  });

  test("repairs of a union member that was tried and failed are not listed", () => {
    const schema = object({ v: { anyOf: [object({ n: { type: "integer" } }, ["n", "m"]), object({ n: { type: "number" } }, ["n"])] } });
    expect(fit(schema, { v: { n: "1" } })).toEqual({
      ok: true,
      value: { v: { n: 1 } },
      repairs: [{ path: "$.v.n", kind: "coerced", note: '"1" → 1' }],
    });
  });

  test("searching for a better union member leaves enough budget to repair the rest of a long input", () => {
    const member = (kind: string): JsonObject =>
      object({ kind: { const: kind }, n: { type: "number" } }, ["kind", "n"], { additionalProperties: false });
    const schema = object({ list: { type: "array", items: { oneOf: Array.from({ length: 12 }, (_, at) => member(`k${at}`)) } } });
    const list = Array.from({ length: 120 }, () => ({ kind: "k0", n: "1", z: 1 }));
    expect(fit(schema, { list }, READ)).toMatchObject({ ok: true, value: { list: list.map(() => ({ kind: "k0", n: 1 })) } });
  });

  test("a key that only a later member of a union declares is not dropped to fit the first member", () => {
    const closed = (properties: JsonObject, required: readonly string[] = []): JsonObject =>
      object(properties, required, { additionalProperties: false });
    const byName = closed({ name: { type: "string" } });
    const byId = closed({ name: { type: "string" }, id: { type: "integer" } }, ["id"]);
    const schema = object({ filter: { anyOf: [byName, byId] } });
    expect(fit(schema, { filter: { name: "x", id: "5" } }, READ)).toEqual({
      ok: true,
      value: { filter: { name: "x", id: 5 } },
      repairs: [{ path: "$.filter.id", kind: "coerced", note: '"5" → 5' }],
    });
    expect(fit(schema, { filter: { name: "x", id: "5", z: 1 } }, READ)).toMatchObject({
      ok: true,
      value: { filter: { name: "x", id: 5 } },
    });
    expect(fit(schema, { filter: { name: "x", z: 1 } }, READ)).toMatchObject({ ok: true, value: { filter: { name: "x" } } });
  });

  test.each([
    ["T0", "T0"],
    ["https://a.example/order", "https://a.example/order"],
    ["order.json", "order.json"],
    ["urn:a:order", "urn:a:order"],
    ["T0", "#node"],
  ])("for the schema %j the reference %j is resolved", ($id, $ref) => {
    const node = object({ n: { type: "integer" }, flag: { default: true, type: "boolean" }, kid: { anyOf: [{ $ref }, { type: "null" }] } });
    const whole = { $id, $anchor: "node", ...node };
    for (const [schema, wrap] of [
      [whole, (value: JsonValue): JsonValue => value],
      [object({ root: whole }), (value: JsonValue): JsonValue => ({ root: value })],
    ] as const) {
      expect(fit(schema, wrap({ kid: { n: "2", flag: null } }))).toMatchObject({ ok: true, value: wrap({ flag: true, kid: { n: 2 } }) });
      expect(defaultWarnings(compileSchema(schema))).toEqual([]);
    }
  });

  test("a relative reference is resolved against the base URI of the document", () => {
    const schema = { $id: "https://a.example/v", ...object({ n: { $ref: "n" } }), $defs: { n: { $id: "/n", type: "integer" } } };
    expect(fit(schema, { n: "5" })).toMatchObject({ ok: true, value: { n: 5 } });
  });

  test("references are resolved, recursive ones too", () => {
    const schema = {
      $ref: "#/$defs/node",
      $defs: { node: object({ v: { type: "integer" }, next: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] } }) },
    };
    expect(fit(schema, { v: "1", next: { v: "2", next: "null" } })).toMatchObject({
      ok: true,
      value: { v: 1, next: { v: 2, next: null } },
    });
    const draft7 = {
      $schema: "http://json-schema.org/draft-07/schema#",
      ...object({ v: { anyOf: [{ $ref: "#/definitions/n" }, { type: "null" }] } }),
      definitions: { n: { type: "integer" } },
    };
    expect(fit(draft7, { v: "1" })).toMatchObject({ ok: true, value: { v: 1 } });
  });

  test("F3.8 conditions between properties are checked after the repair, and are not repaired", () => {
    const schema = object({ a: { type: "integer" }, b: { type: "integer" } }, [], {
      if: { properties: { a: { const: 1 } }, required: ["a"] },
      then: { required: ["b"] },
      oneOf: [{ required: ["a"] }, { required: ["c"] }],
    });
    expect(fit(schema, { a: "1", b: "2" })).toMatchObject({ ok: true, value: { a: 1, b: 2 } });
    expect(fit(schema, { a: "1" }).ok).toBe(false);
    expect(fit(schema, { a: "2", c: 1 }).ok).toBe(false);
  });
});

describe("keys", () => {
  const closed = object({ file_path: { type: "string" }, limit: { type: "integer" } }, ["file_path"], { additionalProperties: false });

  test("F3.10 an unknown key is dropped and reported for a tool that reads, and rejected for a tool that writes", () => {
    expect(fit(closed, { file_path: "a", extra: 1 }, READ)).toEqual({
      ok: true,
      value: { file_path: "a" },
      repairs: [{ path: "$.extra", kind: "dropped", note: "the schema has no such key" }],
    });
    expect(fit(closed, { file_path: "a", extra: 1 }, WRITE)).toEqual({
      ok: false,
      problems: [{ path: "$.extra", pointer: "/extra", keyword: "additionalProperties", message: expect.any(String) }],
    });
  });

  test("unknown keys are kept where the schema allows them", () => {
    const input = copyJson({ a: 1, extra: { b: 2 } }).value;
    const outcome = repairInput(input, compileSchema(object({ a: { type: "integer" } })), READ);
    expect(outcome).toEqual({ ok: true, value: input, repairs: [] });
    expect(fit(object({ a: { type: "integer" } }), { a: "1", extra: "2" }, READ)).toMatchObject({ value: { a: 1, extra: "2" } });
  });

  test("keys that match a pattern, or that a branch declares for unevaluatedProperties, do not count as unknown", () => {
    const pattern = object({ a: { type: "integer" } }, [], { patternProperties: { "^x-": {} }, additionalProperties: false });
    expect(fit(pattern, { a: "1", "x-b": 2, y: 3 }, READ)).toMatchObject({ ok: true, value: { a: 1, "x-b": 2 } });
    const branch = { type: "object", anyOf: [object({ a: { type: "integer" } }, ["a"])], unevaluatedProperties: false };
    expect(fit(branch, { a: "1" }, READ)).toMatchObject({ ok: true, value: { a: 1 } });
    expect(fit(object({ a: {} }, [], { unevaluatedProperties: false }), { a: 1, b: 2 }, READ)).toMatchObject({ value: { a: 1 } });
  });

  test.each(["filePath", "FilePath", "file-path", "FILE_PATH", "file path"])(
    "a missing property is found under another spelling: %s",
    (key) => {
      expect(fit(closed, { [key]: "a" })).toEqual({
        ok: true,
        value: { file_path: "a" },
        repairs: [{ path: "$.file_path", kind: "renamed", note: `"${key}" → "file_path"` }],
      });
    },
  );

  test("a key is not renamed if the property is present, if two keys or two properties match, or if it is not required", () => {
    expect(fit(closed, { file_path: "a", filePath: "b" }).ok).toBe(false);
    expect(fit(closed, { filePath: "a", "file-path": "b" }).ok).toBe(false);
    expect(fit(object({ ab: {}, a_b: {} }, ["ab"]), { A_B: 1 }).ok).toBe(false);
    expect(fit(object({ file_path: {}, n: { type: "integer" } }), { filePath: "a", n: "1" })).toMatchObject({
      value: { filePath: "a", n: 1 },
    });
  });

  test("a renamed key keeps its position, and its value is repaired by the schema of the new name", () => {
    const outcome = fit(object({ maxItems: { type: "integer" }, z: {} }, ["maxItems"]), { a: 0, max_items: "3", z: 1 });
    expect(outcome).toMatchObject({ ok: true, value: { a: 0, maxItems: 3, z: 1 } });
    expect(outcome.ok && Object.keys(outcome.value)).toEqual(["a", "maxItems", "z"]);
  });
});

describe("an input that needs no repair is not copied", () => {
  test("a valid input is returned as the same object, with one shared empty list of repairs", () => {
    const validator = compileSchema(object({ a: { type: "integer" }, d: { default: 1 } }));
    const inputs: JsonObject[] = [{ a: 1, d: 2 }, { d: null }];
    const outcomes = inputs.map((input) => repairInput(input, validator, WRITE));
    for (const [index, outcome] of outcomes.entries()) expect(outcome.ok && outcome.value).toBe(inputs[index]);
    expect(outcomes[0]?.ok && outcomes[1]?.ok && outcomes[0].repairs === outcomes[1].repairs && Object.isFrozen(outcomes[0].repairs)).toBe(
      true,
    );
  });

  test("the input is never mutated; a repaired one is frozen and shares its unchanged parts", () => {
    const input = copyJson({ n: "1", keep: { deep: [1] } }).value as JsonObject;
    const outcome = repairInput(input, compileSchema(object({ n: { type: "integer" } })), WRITE);
    expect(input).toEqual({ n: "1", keep: { deep: [1] } });
    expect(outcome.ok && Object.isFrozen(outcome.value) && outcome.value["keep"] === input["keep"]).toBe(true);
  });
});

describe("hostile input", () => {
  test("A01 a __proto__ key stays an own key through repair and defaults, and does not pollute a prototype", () => {
    const input = parseJson(
      '{"n":"1","__proto__":{"admin":true},"o":{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}}',
    );
    const outcome = repairInput(input, compileSchema(object({ n: { type: "integer" }, o: object({ d: { default: 1 } }) })), WRITE);
    expect(outcome.ok).toBe(true);
    if (!outcome.ok) return;
    expect(Object.keys(outcome.value)).toEqual(["n", "__proto__", "o"]);
    expect(Object.getPrototypeOf(outcome.value)).toBe(Object.prototype);
    expect((outcome.value as { admin?: unknown }).admin).toBeUndefined();
    expect((outcome.value["o"] as { admin?: unknown }).admin).toBeUndefined();
    expect(({} as { admin?: unknown }).admin).toBeUndefined();
  });

  test("A01 names of Object.prototype are treated as ordinary keys", () => {
    const schema = object({ toString: { type: "integer" }, constructor: { default: 1 } }, ["toString"]);
    expect(fit(schema, {}).ok).toBe(false);
    expect(fit(schema, { toString: "5" })).toMatchObject({ ok: true, value: { toString: 5, constructor: 1 } });
  });

  test("A05 JSON text decoded inside a deep value must not make it deeper than 64 levels", () => {
    let schema: JsonObject = { type: "array" };
    let value: JsonValue = "[".repeat(20) + "]".repeat(20);
    for (let level = 0; level < 44; level++) [schema, value] = [object({ a: schema }), { a: value }];
    expect(fit(schema, value)).toMatchObject({ ok: true });
    expect(fit(object({ a: schema }), { a: value }).ok).toBe(false);
  });

  test("A05 text with a million brackets is rejected before it is parsed", () => {
    expect(fitValue({ type: "array" }, "[".repeat(1_000_000) + "]".repeat(1_000_000))).toBeUndefined();
    expect(fit({}, `{${'{"a":'.repeat(200_000)}}`).ok).toBe(false);
  });

  test("A06 repairs have a budget: huge, wide and deeply branching inputs are rejected after a bounded number of checks", () => {
    const numbers = Array.from({ length: 30_000 }, () => "1");
    expect(looksAt(object({ v: { type: "array", items: { type: "integer" } } }, ["v"]), { v: numbers })).toBeLessThan(MAX_LOOKS);
    const words = Array.from({ length: 5_000 }, (_, index) => `word ${index}`);
    const shouted = words.map((word) => word.toUpperCase());
    expect(looksAt(object({ v: { type: "array", items: { enum: words } } }, ["v"]), { v: shouted })).toBeLessThan(MAX_LOOKS);
    const levels: Record<string, JsonValue> = { level0: { type: "integer" } };
    let value: JsonValue = "x";
    for (let level = 1; level <= 20; level++) {
      const below = { $ref: `#/$defs/level${level - 1}` };
      levels[`level${level}`] = {
        anyOf: [object({ a: below }, ["a"]), object({ a: below, b: {} }, ["a"]), object({ a: below, c: {} }, ["a"])],
      };
      value = { a: value };
    }
    expect(looksAt({ ...object({ v: { $ref: "#/$defs/level20" } }), $defs: levels }, { v: value })).toBeLessThan(MAX_LOOKS);
    const wide = object(
      { v: { anyOf: Array.from({ length: 3000 }, (_, index) => object({ [`k${index}`]: { $ref: "#/$defs/n" } }, [`k${index}`])) } },
      ["v"],
      { $defs: { n: { type: "integer" } } },
    );
    expect(looksAt(wide, { v: { x: "1" } })).toBeLessThan(MAX_LOOKS);
  });

  test("A06 a schema with circular references neither loops nor fails in repairs", () => {
    const circle = {
      ...object({ a: { $ref: "#/$defs/a" } }),
      $defs: { a: { allOf: [{ $ref: "#/$defs/b" }] }, b: { anyOf: [{ type: "integer" }, object({ a: { $ref: "#/$defs/a" } })] } },
    };
    expect(fit(circle, { a: { a: "5" } })).toMatchObject({ ok: true, value: { a: { a: 5 } } });
  });

  test("any input gives either a valid input or a list of problems, and nothing is thrown", () => {
    const schema = object(
      { a: { type: "integer" }, b: { type: "array", items: { enum: ["x", 1] } }, c: object({ d: { type: "boolean", default: true } }) },
      ["a"],
      { additionalProperties: false },
    );
    const validator = compileSchema(schema);
    const leaf = fc.oneof(
      fc.constantFrom("1", "true", '{"d":"true"}', '["X","1"]', "x", "{'d': true}", "[1,", "null"),
      fc.jsonValue({ maxDepth: 2 }),
    );
    const input = fc.oneof(leaf, fc.dictionary(fc.constantFrom("a", "A", "b", "c", "C", "e", "__proto__"), leaf));
    fc.assert(
      fc.property(input, fc.boolean(), (sent, dropUnknownKeys) => {
        const outcome = repairInput(copyJson(sent).value, validator, { dropUnknownKeys });
        if (!outcome.ok) expect(outcome.problems.length).toBeGreaterThan(0);
        else expect(validator.check(outcome.value)).toBe(true);
        if (outcome.ok && outcome.repairs.length === 0) expect(outcome.value).toEqual(copyJson(sent).value);
      }),
      { numRuns: repeated(1_000) },
    );
  });
});
