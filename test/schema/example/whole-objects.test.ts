import { describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/core/base/json.ts";
import { seededRandom } from "../../../src/core/base/seeded-random.ts";
import { compileSchema } from "../../../src/schema/compile-schema.ts";
import { exampleValue } from "../../../src/schema/example/example-value.ts";

const SEEDS = Array.from({ length: 25 }, (_, seed) => seed);
const text = { type: "string" };
const number = { type: "number" };
const day = { type: "string", format: "date" };
const all = (properties: JsonObject): JsonObject => ({ type: "object", properties, required: Object.keys(properties) });

/** A drawn object, read as its test declared it. */
// oxlint-disable-next-line typescript/no-explicit-any
type Drawn = Record<string, any>;

/** The object of each seed, each of which fits the schema. */
function objects(properties: JsonObject, given: JsonObject = {}): readonly Drawn[] {
  const schema = all(properties);
  const validator = compileSchema(schema);
  return SEEDS.map((seed) => {
    const { value, valid } = exampleValue(schema, { random: seededRandom(seed), given, subject: { noun: "" } });
    expect([valid, validator.check(value)]).toEqual([true, true]);
    return isJsonObject(value) ? value : {};
  });
}

const inTurn = (values: readonly (number | string)[]): boolean =>
  values.every((value, index) => index === 0 || (values[index - 1] ?? value) <= value);

describe("whole objects: dates", () => {
  test.each([
    [{ from_date: day, to_date: day }],
    [{ start: { type: "string", description: "Unix timestamp" }, end: { type: "string", description: "Unix timestamp" } }],
    [{ min_expiry: day, max_expiry: day }],
    [{ occurred_after: { description: "Unix time" }, occurred_before: { description: "Unix time" } }],
    [{ pickup_date: day, dropoff_date: day }],
    [
      {
        departure: all({ time: { type: "string", format: "date-time" } }),
        arrival: all({ time: { type: "string", format: "date-time" } }),
      },
    ],
  ])("whole objects: dates are in order in %j", (properties) => {
    for (const object of objects(properties)) {
      const values = Object.values(object).map((value: JsonValue) => (isJsonObject(value) ? String(value["time"]) : (value as string)));
      expect([inTurn(values), values]).toEqual([true, values]);
    }
  });

  test("whole objects: dates are in order in the format that their descriptions give", () => {
    const dated = { type: "string", description: "As DD/MM/YYYY" };
    const at = (value: string): number => Date.parse(value.split("/").toReversed().join("-"));
    for (const { start_date, end_date } of objects({ start_date: dated, end_date: dated }))
      expect(at(end_date)).toBeGreaterThan(at(start_date));
  });

  test("whole objects: a duration is the difference of the dates, and the nights are those of the call", () => {
    const time = { type: "string", format: "date-time" };
    for (const { start, end, duration_hours } of objects({ start: time, end: time, duration_hours: { type: "integer", minimum: 1 } }))
      expect((Date.parse(end) - Date.parse(start)) / 3_600_000).toBe(duration_hours);
    const stays = objects(
      { nights: number, price_per_night: number, total_price: number },
      { check_in: "2026-03-01", check_out: "2026-03-04" },
    );
    for (const { nights, price_per_night, total_price } of stays)
      expect([nights, total_price]).toEqual([3, Math.round(price_per_night * 300) / 100]);
  });
});

describe("whole objects: money", () => {
  const item = all({ name: text, quantity: { type: "integer", minimum: 1 }, unit_price: number, line_total: number });
  const cents = (value: number): number => Math.round(value * 100) / 100;

  test("whole objects: lines, subtotal, tax and total add up", () => {
    for (const { items, subtotal, tax, shipping, discount, total } of objects({
      items: { type: "array", items: item, minItems: 1 },
      subtotal: number,
      tax: number,
      shipping: number,
      discount: number,
      total: number,
    })) {
      for (const { quantity, unit_price, line_total } of items) expect(line_total).toBe(cents(quantity * unit_price));
      expect(subtotal).toBeCloseTo(
        items.reduce((sum: number, { line_total }: Drawn) => sum + line_total, 0),
        2,
      );
      expect(total).toBeCloseTo(subtotal + tax + shipping - discount, 2);
    }
  });

  test("whole objects: amount times rate is the converted amount, and a currency pair has one rate", () => {
    const asked = { amount: 200, from: "EUR", to: "USD" };
    const rates = new Set<number>();
    for (const { rate, converted_amount } of objects({ rate: number, converted_amount: number }, asked)) {
      expect(converted_amount).toBe(cents(200 * rate));
      rates.add(rate);
    }
    expect(rates.size).toBe(1);
  });

  test("whole objects: a refund is at most what was paid, and a price at most the budget", () => {
    for (const { refund_amount } of objects({ refund_amount: number }, { total_price: 12 })) expect(refund_amount).toBeLessThanOrEqual(12);
    for (const { price } of objects({ price: number }, { budget: 40 })) expect(price).toBeLessThanOrEqual(40);
    for (const { min_price, max_price } of objects({ min_price: number, max_price: number }))
      expect(min_price).toBeLessThanOrEqual(max_price);
    for (const { used, limit, remaining } of objects({ used: number, limit: number, remaining: number }))
      expect([used <= limit, remaining]).toEqual([true, cents(limit - used)]);
  });
});

describe("whole objects: people and places", () => {
  test("whole objects: a person has the same name in all fields", () => {
    for (const { first_name, last_name, full_name, email, username } of objects({
      email: { type: "string", format: "email" },
      username: text,
      full_name: text,
      first_name: text,
      last_name: text,
    })) {
      expect([full_name, email]).toEqual([`${first_name} ${last_name}`, `${first_name}.${last_name}@example.com`.toLowerCase()]);
      expect(username).toContain(first_name.toLowerCase());
    }
    for (const { name } of objects({ name: text, email: text }, { email: "ada.berg@example.com" })) expect(name).toBe("Ada Berg");
    const given: readonly (readonly [Record<string, string>, RegExp])[] = [
      [{ email: "t.brandt@mail.example" }, /^T[a-z]+ Brandt$/u],
      [{ username: "liams52" }, /^Liam S[a-z]+$/u],
      [{ username: "mira_quint8" }, /^Mira Quint$/u],
    ];
    for (const [known, name] of given)
      for (const { full_name } of objects({ full_name: text, email: text, username: text }, known)) expect(full_name).toMatch(name);
  });

  test("whole objects: a subdivision code has the ISO 3166-2 form", () => {
    for (const name of ["iso_3166_2", "iso-3166-2", "subdivision_iso3166_2_code"])
      for (const row of objects({ [name]: text })) expect(Object.values(row)[0]).toMatch(/^[A-Z]{2}-[A-Z\d]{1,3}$/u);
  });

  test("whole objects: a city has matching country, codes, coordinates, currency and time zone", () => {
    const names = ["city", "country", "country_code", "timezone", "currency"];
    const rows = objects(
      { ...Object.fromEntries(names.map((name) => [name, text])), latitude: number, longitude: number },
      { city: "Oslo" },
    );
    for (const { latitude, longitude, ...row } of rows) {
      expect(row).toEqual({ city: "Oslo", country: "Norway", country_code: "NO", timezone: "Europe/Oslo", currency: "NOK" });
      expect([Math.round(latitude), Math.round(longitude)]).toEqual([60, 11]);
    }
  });

  test("whole objects: from and to differ", () => {
    const code = { type: "string", description: "ISO currency code" };
    for (const { from, to } of objects({ from: code, to: code })) {
      expect([from, to]).toEqual([expect.stringMatching(/^[A-Z]{3}$/u), expect.stringMatching(/^[A-Z]{3}$/u)]);
      expect(from).not.toBe(to);
    }
  });
});

describe("whole objects: lists", () => {
  test("whole objects: counts equal the lengths of their lists, and percentages add up to 100", () => {
    const share = all({ name: text, percentage: number });
    for (const { options, option_count } of objects({
      options: { type: "array", items: share, minItems: 2 },
      option_count: { type: "integer" },
    })) {
      expect(option_count).toBe(options.length);
      expect(options.reduce((sum: number, { percentage }: Drawn) => sum + percentage, 0)).toBe(100);
    }
  });

  test("whole objects: a relation that the schema forbids is not applied", () => {
    for (const object of objects({
      min_price: { const: 9 },
      max_price: { const: 3 },
      first_name: { const: "Ada" },
      full_name: { enum: ["Bo Li"] },
    }))
      expect(object).toEqual({ min_price: 9, max_price: 3, first_name: "Ada", full_name: "Bo Li" });
  });
});

describe("free text", () => {
  const schema = all({ title: text, review: text, message: text, query: text });
  const made = (about: string, count: number): readonly Drawn[] =>
    Array.from({ length: count }, (_, seed) => Object(exampleValue(schema, { random: seededRandom(seed), about }).value));

  test("free text: in 2,000 calls, no text occurs more than 10 times", () => {
    const counts = new Map<string, number>();
    for (const object of made("Post a review of a restaurant.", 2_000))
      for (const value of Object.values(object)) counts.set(value, (counts.get(value) ?? 0) + 1);
    expect(Math.max(...counts.values())).toBeLessThanOrEqual(10);
  });

  test("free text: a query matches the subject of the tool", () => {
    const of = (about: string): string =>
      made(about, 300)
        .map(({ query }) => String(query).toLowerCase())
        .join("\n");
    expect([of("Search for recipes."), of("Search for jobs.")].map((texts) => [/risotto/u.test(texts), /accountant/u.test(texts)])).toEqual(
      [
        [true, false],
        [false, true],
      ],
    );
  });
});

describe("values by description", () => {
  const one = (property: JsonObject, name = "value"): ReadonlySet<JsonValue> =>
    new Set(SEEDS.map((seed) => Object(exampleValue(all({ [name]: property }), { random: seededRandom(seed) }).value)[name]));
  const kinds = (property: JsonObject, name?: string): readonly string[] => [
    ...new Set([...one(property, name)].map((value) => typeof value)),
  ];

  test("values by description: the description decides if the name is ambiguous", () => {
    for (const code of one({ type: "string", description: "IATA code of the airport" }, "code")) expect(code).toMatch(/^[A-Z]{3}$/u);
    for (const email of one({ type: "string", description: "E-mail address of the recipient" }, "to")) expect(email).toContain("@");
    for (const from of one({ type: "string", description: "From, as YYYY-MM-DD" }, "from")) expect(from).toMatch(/^\d{4}-\d\d-\d\d$/u);
  });

  test("values by description: a known example gives values of its kind, an unknown one is used itself", () => {
    const tickers = one({ type: "string", description: "e.g. 'AAPL'" });
    expect([tickers.size > 3, [...tickers].every((value) => /^[A-Z]{1,5}$/u.test(String(value)))]).toEqual([true, true]);
    expect(one({ type: "string", description: "Shelf mark, e.g. 'qx-left'" })).toEqual(new Set(["qx-left"]));
    expect(
      [...one({ type: "string", description: "Shelf, such as 'en-US'" })].every((value) => /^[a-z]{2}-[A-Z]{2}$/u.test(String(value))),
    ).toBe(true);
  });

  test("values by description: a property without a type gets the type that the description implies", () => {
    expect(kinds({ description: "The number of shelves. Default is 5." })).toEqual(["number"]);
    expect(kinds({ description: "Whether drafts count. Defaults to False." })).toEqual(["boolean"]);
    expect(kinds({ description: "Shelves a page. Defaults to '20'." })).toEqual(["string"]);
    expect(kinds({ description: "A list of shelf marks" })).toEqual(["object"]);
    expect(kinds({ description: "The width in pixels" })).toEqual(["number"]);
  });

  test("values by description: bounds and units of the description apply if the schema has none", () => {
    for (const value of one({ description: "From 3 to 7" })) expect([3, 4, 5, 6, 7]).toContain(value);
    for (const value of one({ type: "number", description: "Outside, in Celsius" })) expect(Math.abs(Number(value))).toBeLessThan(50);
    for (const value of one({ type: "number", minimum: 90, description: "From 3 to 7" })) expect(value).toBeGreaterThanOrEqual(90);
  });
});
