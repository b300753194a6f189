import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { inProcessorTime } from "../../processor-time.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/core/base/json.ts";
import { seededRandom } from "../../../src/core/base/seeded-random.ts";
import type { JsonSchema } from "../../../src/core/tool.ts";
import { compileSchema } from "../../../src/schema/compile-schema.ts";
import { exampleValue, type Example, type ExampleOptions } from "../../../src/schema/example/example-value.ts";

function example(schema: JsonSchema, seed: number = 1, options: Partial<ExampleOptions> = {}): Example {
  return exampleValue(schema, { random: seededRandom(seed), ...options });
}

/** The value, which has to fit by the validator's own word. */
function valueOf(schema: JsonSchema, seed: number = 1, options: Partial<ExampleOptions> = {}): JsonValue {
  const { value, valid } = example(schema, seed, options);
  expect([valid, compileSchema(schema).problems(value)]).toEqual([true, []]);
  return value;
}

function fields(schema: JsonSchema, options: Partial<ExampleOptions> = {}): JsonObject {
  const value = valueOf(schema, 1, options);
  if (!isJsonObject(value)) throw new Error(`no object: ${JSON.stringify(value)}`);
  return value;
}

const text = { type: "string" };
const whole = { type: "integer" };
const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];

describe("consistent values within one object", () => {
  const date = { type: "string", format: "date-time" };
  const all = (properties: JsonObject): JsonObject => ({ type: "object", properties, required: Object.keys(properties) });
  const made = (properties: JsonObject, seed: number, given: JsonObject = {}) =>
    Object(valueOf(all(properties), seed, { given, subject: { noun: "event" } }));

  test.each([
    ["created_at", "updated_at"],
    ["start", "end"],
    ["departureTime", "arrivalTime"],
    ["check_in", "check_out"],
    ["valid_from", "valid_until"],
  ])("F0.40 %s is before %s", (first, then) => {
    for (const seed of SEEDS) {
      const value = made({ [then]: date, [first]: date }, seed);
      expect(Date.parse(value[then]) - Date.parse(value[first])).toBeGreaterThan(0);
    }
  });

  test("F0.40 a given date is kept, and the other date is chosen relative to it, each in its own format", () => {
    for (const seed of SEEDS) {
      const start = { start: date, end: date };
      const end = "2026-03-01T10:00:00+02:00";
      expect(made(start, seed, { end })).toEqual({ start: expect.stringMatching(/^2026-0[23]-\d\dT/u), end });
      expect(made(start, seed, { start: "2026-03-02T10:00:00Z", end })).toEqual({ start: "2026-03-02T10:00:00Z", end });
      expect(made({ created: text, closed: text }, seed, { created: "9999-12-31" }).created).toBe("9999-12-31");
    }
  });

  test("F0.40 a minimum is at most the maximum, and a duration matches its dates", () => {
    for (const seed of SEEDS) {
      const value = made(
        { min_temp: { type: "number" }, max_temp: { type: "number" }, departure: date, arrival: date, duration_minutes: whole },
        seed,
      );
      expect(value.min_temp).toBeLessThanOrEqual(value.max_temp);
      expect(Date.parse(value.arrival) - Date.parse(value.departure)).toBe(value.duration_minutes * 60_000);
    }
  });

  test("F0.40 a person's email matches the name, and a city's country is correct", () => {
    for (const seed of SEEDS) {
      const { attendee, city, country } = made({ attendee: all({ name: text, email: text }), city: text, country: text }, seed);
      expect(attendee.email).toBe(`${attendee.name.toLowerCase().replace(" ", ".")}@example.com`);
      expect([city, country]).toEqual(city === "Rome" ? ["Rome", "Italy"] : [expect.any(String), expect.any(String)]);
    }
    expect(made({ city: text, country: text }, 1, { city: "Paris, FR" })).toEqual({ city: "Paris, FR", country: "France" });
  });

  test("F0.40 values that the schema fixes are not changed for consistency, and a forecast has consecutive days", () => {
    const fixed = {
      start: { const: "2026-01-02" },
      end: { const: "2026-01-01" },
      subtotal: { const: 5 },
      tax: { const: 1 },
      total: { const: 9 },
    };
    expect(made(fixed, 1)).toEqual({ start: "2026-01-02", end: "2026-01-01", subtotal: 5, tax: 1, total: 9 });
    const { forecast } = made({ forecast: { type: "array", items: all({ date: { type: "string", format: "date" } }) } }, 1, {
      days: 4,
      date: "2026-02-27",
    });
    expect(forecast.map(({ date: day }: { readonly date: string }) => day)).toEqual([
      "2026-02-27",
      "2026-02-28",
      "2026-03-01",
      "2026-03-02",
    ]);
  });
});

describe("example values", () => {
  test("F0.40 are the same for the same seed, and differ for another", () => {
    const schema = { type: "object", properties: { id: whole, name: text, created_at: { type: "string", format: "date-time" } } };
    expect(example({ ...schema })).toEqual(example({ ...schema }));
    expect(new Set(SEEDS.map((seed) => JSON.stringify(example(schema, seed)))).size).toBe(SEEDS.length);
  });

  test("F0.40 are identical on every machine", () => {
    const schema = {
      type: "object",
      properties: { id: whole, city: text, price: { type: "number" }, code: { type: "string", pattern: "^[A-Z]{2}\\d{3}$" } },
    };
    expect(valueOf(schema, 7)).toMatchInlineSnapshot(`
      {
        "city": "Milan",
        "code": "OS147",
        "id": 34432,
        "price": 154.46,
      }
    `);
  });

  test("F0.40 match what their names suggest", () => {
    const names = [
      "email",
      "phone",
      "created_at",
      "url",
      "uuid",
      "country_code",
      "currency",
      "ip_address",
      "version",
      "first_name",
      "description",
    ];
    const made = fields({ type: "object", properties: Object.fromEntries(names.map((name) => [name, text])) });
    expect(made).toEqual({
      email: expect.stringMatching(/^[a-z.]+@example\.com$/u),
      phone: expect.stringMatching(/^\+\d{1,3}-555-01\d\d$/u),
      created_at: expect.stringMatching(/^20\d\d-\d\d-\d\dT\d\d:\d\d:00Z$/u),
      url: expect.stringMatching(/^https:\/\/example\.com\//u),
      uuid: expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/u),
      country_code: expect.stringMatching(/^[A-Z]{2}$/u),
      currency: expect.stringMatching(/^[A-Z]{3}$/u),
      ip_address: expect.stringMatching(/^192\.0\.2\.\d+$/u),
      version: expect.stringMatching(/^\d\.\d\.\d$/u),
      first_name: expect.stringMatching(/^[A-Z][a-z]+$/u),
      description: expect.stringMatching(/\.$/u),
    });
  });

  test("F0.40 are numbers in the range that the name suggests and, above all, the schema allows", () => {
    for (const seed of SEEDS) {
      const made = valueOf(
        { type: "object", properties: { latitude: { type: "number" }, month: whole, rating: { type: "number", minimum: 7, maximum: 9 } } },
        seed,
      );
      const { latitude, month, rating } = Object(made);
      expect([Math.abs(latitude) <= 90, month >= 1 && month <= 12, rating >= 7 && rating <= 9]).toEqual([true, true, true]);
    }
  });

  test("F0.40 follow the alternatives and formats that a description gives", () => {
    const described = (description: string, seed = 1): JsonValue => valueOf({ type: "string", description }, seed);
    for (const seed of SEEDS) expect(described("success or failed", seed)).toBe("success");
    expect(described("Format: %Y-%m-%d %H:%M:%S")).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/u);
    expect(described("As YYYY-MM-DD.")).toMatch(/^\d{4}-\d\d-\d\d$/u);
  });

  test("F0.40 are the schema's own examples and defaults if those are valid", () => {
    expect(valueOf({ type: "string", examples: ["one", "two"] })).toMatch(/^(?:one|two)$/u);
    expect(valueOf({ type: "integer", default: 12 })).toBe(12);
    expect(valueOf({ type: "integer", default: "twelve" })).toEqual(expect.any(Number));
  });

  test("F0.40 reuse values of the call by name where they are valid, also across spellings and types", () => {
    const schema = {
      type: "object",
      properties: {
        cityName: text,
        days: text,
        unit: { enum: ["C", "F"] },
        place: { type: "object", properties: { city_name: text, name: text } },
      },
    };
    const made = fields(schema, { given: { city_name: "Rome", days: 3, unit: "K", name: "Ada" } });
    expect(made).toMatchObject({ cityName: "Rome", days: "3", place: { city_name: "Rome" } });
    expect(made["unit"]).not.toBe("K");
    expect(Object(made["place"]).name).not.toBe("Ada");
  });

  test("F0.40 do not change for the other properties when one value is reused", () => {
    const schema = { type: "object", properties: { a: text, b: text, c: { type: "array", items: whole } } };
    expect({ ...fields(schema, { given: { a: "mine" } }), a: "" }).toEqual({ ...fields(schema), a: "" });
  });
});

describe("example values are valid for", () => {
  const node = {
    type: "object",
    required: ["id"],
    properties: { id: whole, children: { type: "array", items: { $ref: "#" } }, next: { $ref: "#" } },
  };
  const schemas: readonly (readonly [string, JsonSchema])[] = [
    ["a schema that allows everything", true],
    ["recursion", node],
    [
      "recursion that must go on once",
      {
        $defs: { n: { type: "object", required: ["kids"], properties: { kids: { type: "array", items: { $ref: "#/$defs/n" } } } } },
        $ref: "#/$defs/n",
      },
    ],
    [
      "recursion by branches",
      {
        $defs: { e: { oneOf: [{ type: "object", required: ["not"], properties: { not: { $ref: "#/$defs/e" } } }, text] } },
        $ref: "#/$defs/e",
      },
    ],
    ["several types", { type: ["integer", "null"], minimum: 5 }],
    ["a range without whole ends", { type: "integer", exclusiveMinimum: 0.5, exclusiveMaximum: 1.5 }],
    ["multiples", { type: "number", multipleOf: 0.01, minimum: 3.001, maximum: 3.02 }],
    ["several multiples", { allOf: [{ type: "integer", multipleOf: 4 }, { multipleOf: 6 }], minimum: 1 }],
    ["patterns", { type: "string", pattern: "^(?:[a-f0-9]{8}-){2}x?$", maxLength: 20 }],
    ["a pattern with conditions", { type: "string", pattern: "^(?=.*[A-Z])(?=.*\\d)[A-Za-z\\d]{8,12}$" }],
    ["a pattern in another script", { type: "string", pattern: "^\\p{Lu}\\p{L}+$", minLength: 6 }],
    ["a pattern somewhere in a long text", { type: "string", pattern: "[a-z]+@[a-z]+", minLength: 40 }],
    ["lengths", { type: "string", format: "email", maxLength: 4, minLength: 4 }],
    ["tuples", { type: "array", prefixItems: [text, whole], items: false, minItems: 2 }],
    [
      "tuples of draft-07",
      {
        $schema: "http://json-schema.org/draft-07/schema#",
        type: "array",
        items: [text, whole],
        additionalItems: { type: "boolean" },
        minItems: 4,
      },
    ],
    ["unlike items", { type: "array", items: { enum: [1, 2, 3] }, uniqueItems: true, minItems: 3 }],
    ["items that must be contained", { type: "array", contains: { const: "x" }, minContains: 2, maxContains: 2, items: text, minItems: 4 }],
    ["names by pattern", { type: "object", patternProperties: { "^x_[a-z]+$": whole }, additionalProperties: false, minProperties: 2 }],
    ["names with rules", { type: "object", propertyNames: { enum: ["red", "blue"] }, additionalProperties: whole, minProperties: 2 }],
    [
      "names that need others",
      { type: "object", properties: { card: text, cvc: text }, dependentRequired: { card: ["cvc", "owner"] }, required: ["card"] },
    ],
    ["as few properties as are allowed", { type: "object", properties: { a: text, b: text, c: text }, maxProperties: 1 }],
    [
      "conditions",
      {
        type: "object",
        properties: { kind: { enum: ["a", "b"] }, n: whole },
        required: ["kind"],
        if: { properties: { kind: { const: "a" } } },
        then: { required: ["n"] },
        else: { required: ["m"] },
      },
    ],
    [
      "exactly one branch",
      {
        oneOf: [
          { type: "object", required: ["a"], properties: { a: text } },
          { type: "object", required: ["b"], properties: { b: text } },
        ],
      },
    ],
    ["what must not be", { type: "object", properties: { a: text, b: text }, not: { required: ["a"] }, required: ["b"] }],
    ["what is left over", { allOf: [{ properties: { a: text }, required: ["a"] }], type: "object", unevaluatedProperties: false }],
    [
      "references beside others",
      {
        $defs: { base: { type: "object", properties: { id: whole }, required: ["id"] } },
        allOf: [{ $ref: "#/$defs/base" }],
        properties: { id: { minimum: 100_000 } },
      },
    ],
    ["anchors", { $defs: { a: { $anchor: "thing", const: "anchored" } }, $ref: "#thing" }],
    ["a property called __proto__", JSON.parse('{"type":"object","required":["__proto__"],"properties":{"__proto__":{"type":"integer"}}}')],
  ];
  test.each(schemas)("F0.40 %s", (_, schema) => {
    for (const seed of SEEDS) valueOf(schema, seed);
  });
});

describe("untrusted schemas", () => {
  const bomb = (keyword: string): JsonSchema => {
    const $defs: Record<string, JsonSchema> = { d0: { type: "object", properties: { a: text } } };
    for (let level = 1; level <= 12; level++)
      $defs[`d${level}`] = { [keyword]: [{ $ref: `#/$defs/d${level - 1}` }, { $ref: `#/$defs/d${level - 1}` }] };
    return { $defs, $ref: "#/$defs/d12" };
  };
  const twice = { type: "object", required: ["l", "r"], properties: { l: { $ref: "#" }, r: { $ref: "#" } } };
  const impossible: readonly (readonly [string, JsonSchema])[] = [
    ["nothing is allowed", false],
    ["a thousand million items", { type: "array", minItems: 1e9, items: text }],
    ["a thousand million characters", { type: "string", minLength: 1e9 }],
    ["a thousand million properties", { type: "object", minProperties: 1e9 }],
    ["a text without end that has a pattern", { type: "string", pattern: "^(a+)+$", minLength: 1e8 }],
    ["an object that needs two of itself without end", twice],
    ["a range without inside", { type: "integer", minimum: 3, maximum: 2 }],
    ["items that cannot differ", { type: "array", items: { type: "boolean" }, uniqueItems: true, minItems: 3 }],
  ];
  test.each(impossible)("F0.40 that cannot be satisfied give a value marked as invalid: %s", (_, schema) => {
    expect(example(schema).valid).toBe(false);
  });

  test("F0.40 that double at every level terminate", () => {
    for (const keyword of ["allOf", "anyOf"]) expect(example(bomb(keyword)).valid).toBe(true);
    expect(typeof example(bomb("oneOf")).valid).toBe("boolean");
  });

  test("F0.40 with patterns that backtrack exponentially still get matching values", () => {
    const { value } = example({
      type: "object",
      properties: { a: { type: "string", pattern: "^(([a-z])+.)+[A-Z]([a-z])+$" }, b: { type: "string", pattern: "(x+x+)+y" } },
    });
    expect(value).toEqual({ a: expect.stringMatching(/[A-Z][a-z]+$/u), b: expect.stringContaining("y") });
  });

  test.each([
    { type: "string", minLength: 90_000, pattern: "(?:.*a){50}(?:.*b){50}(?:.{0,40}c){40}$" },
    {
      type: "object",
      minProperties: 3,
      propertyNames: { minLength: 90_000 },
      patternProperties: { "(?:.*a){50}(?:.*b){50}(?:.{0,40}c){40}$": { type: "string" } },
    },
  ])("F0.40 with patterns and lengths beyond the validation budget are given up: %j", (schema) => {
    expect(inProcessorTime(2_000, () => example(schema).valid)).toBe(false);
  });

  test("F0.40 that are broken are rejected with the place of the error", () => {
    expect(() => example({ type: "object", properties: { a: { minimum: "low" } } })).toThrow(/#\/properties\/a\/minimum/u);
    expect(() => example({ $ref: "https://example.com/schema.json" })).toThrow(/never fetched/u);
  });
});

/** Schemas that some value fits, by construction. */
const { schema: satisfiable } = fc.letrec<{ schema: JsonObject }>((tie) => ({
  schema: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.record({ type: fc.constant("string"), minLength: fc.nat(8) }),
    fc.record({ type: fc.constant("string"), pattern: fc.constantFrom("^[a-z]{2,5}$", "\\d+-\\d+", "^(?:yes|no)$", "^.*é$") }),
    fc
      .tuple(fc.integer({ min: -1_000, max: 1_000 }), fc.nat(50))
      .map(([minimum, more]) => ({ type: "integer", minimum, maximum: minimum + more })),
    fc.integer({ min: 1, max: 40 }).map((multipleOf) => ({ type: "integer", multipleOf })),
    fc.record({ type: fc.constantFrom("boolean", "null", "number", "object", "array") }),
    fc.record({
      enum: fc.array(
        fc.jsonValue().map((value): JsonValue => JSON.parse(JSON.stringify(value))),
        { minLength: 1, maxLength: 4 },
      ),
    }),
    fc.record({ type: fc.constant("array"), items: tie("schema"), minItems: fc.nat(3) }),
    fc.record({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
    fc.record({ allOf: fc.tuple(tie("schema"), fc.constant(true)) }),
    fc
      .dictionary(fc.string({ minLength: 1, maxLength: 6 }), tie("schema"), { maxKeys: 4 })
      .chain((properties) =>
        fc
          .subarray(Object.keys(properties))
          .map((required): JsonObject => ({ type: "object", properties, required, additionalProperties: false })),
      ),
  ),
}));

test("F0.40 every satisfiable schema gets a valid value, and the same one again", () => {
  fc.assert(
    fc.property(satisfiable, fc.nat(), (schema, seed) => {
      const { value, valid } = example(schema, seed);
      return valid && compileSchema(schema).check(value) && JSON.stringify(example({ ...schema }, seed).value) === JSON.stringify(value);
    }),
    { numRuns: 400, seed: 27 },
  );
});

test("a base64 string is valid base64, whatever its property is called", () => {
  for (let seed = 0; seed < 20; seed++) {
    const { value } = exampleValue({ type: "string", contentEncoding: "base64" }, { random: seededRandom(seed), name: "photo" });
    expect(Buffer.from(String(value), "base64").toString("base64")).toBe(value);
  }
});

test("no number is -0, which JSON cannot express", () => {
  for (let seed = 0; seed < 500; seed++) {
    for (const schema of [
      { type: "number", minimum: -0.01, maximum: 0 },
      { type: "integer", minimum: -1, maximum: 0 },
      { type: "number", multipleOf: 5, minimum: -3, maximum: 3 },
    ]) {
      const { value } = exampleValue(schema, { random: seededRandom(seed), name: "shift" });
      expect(Object.is(value, -0)).toBe(false);
    }
  }
});

test("F0.40 a map has as many names as it needs of patterns that leave the rest of a name open", () => {
  const schema = { type: "object", patternProperties: { "^S_": text, "^I_": whole }, additionalProperties: false, minProperties: 5 };
  for (const seed of SEEDS) expect(Object.keys(Object(valueOf(schema, seed))).length).toBe(5);
});

test.each([
  ["email", 10],
  ["email", 16],
  ["uri", 14],
  ["hostname", 8],
])("F0.40 the format %s is kept in %i characters", (format, maxLength) => {
  const schema = { type: "string", format, maxLength };
  for (const seed of SEEDS) expect(compileSchema(schema, { formats: true }).problems(valueOf(schema, seed))).toEqual([]);
});

test.each([
  ["date", "^2031-"],
  ["date", "-02-\\d\\d$"],
  ["email", "@acme\\.com$"],
  ["uuid", "^[0-9A-F-]+$"],
  ["ipv4", "^10\\."],
  ["uri", "\\.pdf$"],
  ["date-time", "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$"],
  ["date-time", "[+-]\\d\\d:\\d\\d$"],
])("F0.40 a string of the format %s that must match %s as well is of both", (format, pattern) => {
  const schema = { type: "string", format, pattern };
  for (const seed of SEEDS) expect(compileSchema(schema, { formats: true }).problems(valueOf(schema, seed))).toEqual([]);
});

test("F0.40 a string whose pattern excludes its format is like one of the format", () => {
  const schema = { type: "string", format: "time", pattern: "^\\d\\d:\\d\\d:\\d\\d$" };
  for (const seed of SEEDS)
    expect(compileSchema({ format: "time" }, { formats: true }).problems(`${String(valueOf(schema, seed))}Z`)).toEqual([]);
});

test.each([
  ["email", 60],
  ["email", 64],
  ["email", 318],
  ["hostname", 18],
  ["hostname", 253],
  ["uri", 500],
  ["date-time", 22],
  ["date-time", 40],
  ["time", 20],
  ["ipv6", 39],
  ["duration", 30],
])("F0.40 the format %s is kept in at least %i characters", (format, minLength) => {
  const schema = { type: "string", format, minLength };
  for (const seed of SEEDS) expect(compileSchema(schema, { formats: true }).problems(valueOf(schema, seed))).toEqual([]);
});
