import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../src/core/base/seeded-random.ts";
import type { JsonSchema } from "../../../src/core/tool.ts";
import { exampleValue, type ExampleOptions } from "../../../src/schema/example/example-value.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- the values are looked at, whatever they are
type Drawn = any;

const COUNT = 60;
const number = { type: "number" } as const;
const text = { type: "string" } as const;
const date = { type: "string", format: "date" } as const;

function taking(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: "object", properties, required: Object.keys(properties) };
}

function objects(properties: Readonly<Record<string, JsonSchema>>, options: Partial<ExampleOptions> = {}): readonly Drawn[] {
  return Array.from({ length: COUNT }, (_, seed) => exampleValue(taking(properties), { random: seededRandom(seed), ...options }).value);
}

describe("issue 16.3 consistent values of whole objects", () => {
  test("net pay is gross pay minus tax and contributions", () => {
    for (const one of objects({ gross_pay: number, tax: number, social_security: number, net_pay: number }))
      expect(one.net_pay).toBeCloseTo(one.gross_pay - one.tax - one.social_security, 1);
  });

  test("a fee is added to the transferred amount", () => {
    for (const one of objects({ fee: number, amount: number, total_debited: number })) {
      expect(one.total_debited).toBeCloseTo(one.amount + one.fee, 1);
      expect(one.fee).toBeLessThanOrEqual(one.amount / 5);
    }
  });

  test("a price is the list price minus its discount", () => {
    for (const one of objects({ price: number, list_price: number, discount_percent: number }))
      expect(Math.abs(one.price - one.list_price * (1 - one.discount_percent / 100))).toBeLessThan(0.02 * one.list_price);
    for (const one of objects({ price: number, list_price: number }, { given: { list_price: 50 } }))
      expect(one.price).toBeLessThanOrEqual(50);
  });

  test("the loan of the call is repaid in equal monthly payments", () => {
    const given = { principal: 12_000, term_months: 24, interest_rate: 6 };
    for (const one of objects({ monthly_payment: number, total_payable: number }, { given, subject: { noun: "loan" } })) {
      expect(one.monthly_payment).toBeCloseTo(531.85, 1);
      expect(one.total_payable).toBeCloseTo(531.85 * 24, 0);
    }
  });

  test("a total is fare plus taxes, or rental plus insurance", () => {
    for (const one of objects({ base_fare: number, taxes: number, total_price: number }))
      expect(one.total_price).toBeCloseTo(one.base_fare + one.taxes, 1);
    for (const one of objects({ daily_rate: number, days: { type: "integer" }, insurance: number, total: number }))
      expect(one.total).toBeCloseTo(one.daily_rate * one.days + one.insurance, 0);
  });

  test("a number of days matches the dates of the call", () => {
    const rental = { pickup_time: "2026-07-03T10:00:00Z", dropoff_time: "2026-07-08T09:00:00Z" };
    for (const one of objects({ days: number }, { given: rental })) expect(one.days).toBe(5);
    const leave = { start_date: "2026-02-02", end_date: "2026-02-06" };
    for (const one of objects({ days: { type: "integer" } }, { given: leave })) expect(one.days).toBe(5);
  });

  test("parts are at most their wholes", () => {
    for (const one of objects({
      available_balance: number,
      balance: number,
      systolic: number,
      diastolic: number,
      seats_left: number,
      capacity: number,
    })) {
      expect(one.available_balance).toBeLessThanOrEqual(one.balance);
      expect(one.diastolic).toBeLessThan(one.systolic);
      expect(one.seats_left).toBeLessThanOrEqual(one.capacity);
    }
  });

  test("the prices of one day are close to each other", () => {
    for (const one of objects({ open: number, close: number, high: number, low: number })) {
      expect(one.low).toBeLessThanOrEqual(Math.min(one.open, one.close));
      expect(one.high).toBeGreaterThanOrEqual(Math.max(one.open, one.close));
      expect(one.high / one.low).toBeLessThan(1.2);
    }
  });

  test("the measurements of a body are consistent", () => {
    for (const one of objects({
      patient_id: text,
      weight_kg: number,
      height_cm: number,
      bmi: number,
      temperature_c: number,
      heart_rate: number,
    })) {
      expect(one.bmi).toBeCloseTo(one.weight_kg / (one.height_cm / 100) ** 2, 0);
      expect(one.temperature_c).toBeGreaterThan(35);
      expect(one.temperature_c).toBeLessThan(40);
    }
  });

  test("hire dates are long after birth dates, and expiry dates after issue dates", () => {
    for (const one of objects({ birth_date: date, hired_on: date, issued_on: date, expires_on: date })) {
      expect(Number(one.hired_on.slice(0, 4)) - Number(one.birth_date.slice(0, 4))).toBeGreaterThan(16);
      expect(one.issued_on < one.expires_on).toBe(true);
      expect(one.hired_on < "2026").toBe(true);
    }
  });

  test.each([
    [["admitted_at", "discharged_at"]],
    [["locked_on", "unlocked_on"]],
    [["opening_date", "closing_date"]],
    [["submitted_at", "approved_at", "published_at", "archived_at"]],
    [["created_at", "sent_at", "read_at", "deleted_at"]],
  ])("the dates %j are in the order of a thing's life", (names) => {
    const reversed = Object.fromEntries(names.toReversed().map((name) => [name, date]));
    for (const one of objects(reversed)) {
      const days: readonly string[] = names.map((name) => String(one[name]));
      expect(days).toEqual([...days].sort());
    }
  });

  test("a slug is derived from the name", () => {
    for (const one of objects({ name: { const: "Olive & Thyme" }, slug: text })) expect(one.slug).toBe("olive-thyme");
  });

  test("an arithmetic expression is evaluated, and other code is not", () => {
    const result = (expression: string): unknown => objects({ result: number }, { given: { expression } })[0].result;
    expect(result("12 * 8 + 4")).toBe(100);
    expect(result("2 * (3 + 4) / 7")).toBe(2);
    for (const hostile of ["process.exit(1)", "1 + ", "((((", "9".repeat(500), "1 / 0", "2 ** 3 ** 9"])
      expect(typeof result(hostile)).toBe("number");
  });

  test("a description mentions what it describes", () => {
    for (const one of objects({ name: { const: "Copper Kettle" }, description: text })) expect(one.description).toMatch(/copper kettle/iu);
  });
});

describe("issue 16.3 facts about an entity", () => {
  const product = taking({ product_id: text, name: text, price: number, rating: number });
  const draw = (schema: JsonSchema, options: Partial<ExampleOptions>): Drawn =>
    exampleValue(schema, { random: seededRandom(JSON.stringify(options)), factsSeed: 7, about: "Products of a shop.", ...options }).value;

  test("are the same wherever its id occurs", () => {
    const list = draw(taking({ products: { type: "array", items: product, minItems: 3 } }), { subject: { noun: "product" } });
    for (const item of list.products) {
      const read = draw(product, { subject: { noun: "product" }, given: { product_id: item.product_id } });
      expect(read).toEqual(item);
    }
  });

  test("differ for another id, and for another seed", () => {
    const of = (id: string, factsSeed = 7): Drawn => draw(product, { subject: { noun: "product" }, given: { product_id: id }, factsSeed });
    expect(of("p-1").price).not.toBe(of("p-2").price);
    expect(of("p-1").price).not.toBe(of("p-1", 8).price);
  });

  test("that are already known are used in the lines of an order, each once", () => {
    const line = taking({ product_id: text, name: text, quantity: { type: "integer" }, unit_price: number });
    const subject = { noun: "cart", readFacts: (id: string) => (id === "p-1" ? { name: "tea pot", price: 31.5 } : undefined) };
    const cart = draw(taking({ items: { type: "array", items: line } }), { subject, given: { product_id: "p-1", quantity: 2 } });
    expect(cart.items).toEqual([{ product_id: "p-1", name: "tea pot", quantity: 2, unit_price: 31.5 }]);
  });
});
