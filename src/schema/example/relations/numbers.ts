/** Consistent numbers: minimum and maximum, part and whole, amounts and exchange rates. */
import { DOLLAR_VALUES } from "../cities.ts";
import type { Relation, DrawnFields } from "../drawn-fields.ts";

const PAIRED: readonly (readonly [RegExp, string])[] = [
  [/(^|_)min(?=_|$)/u, "$1max"],
  [/(^|_)minimum(?=_|$)/u, "$1maximum"],
  [/(^|_)low(?=_|$)/u, "$1high"],
  [/(^|_)lowest(?=_|$)/u, "$1highest"],
  [/(^|_)lower(?=_|$)/u, "$1upper"],
  [/(^|_)from(?=_|$)/u, "$1to"],
  [/(^|_)start(?=_|$)/u, "$1end"],
  [/(^|_)gte?(?=_|$)/u, "$1lte"],
  [/(^|_)gte?(?=_|$)/u, "$1lt"],
  [/(^|_)after(?=_|$)/u, "$1before"],
  [/(^|_)least(?=_|$)/u, "$1most"],
  [/^min(?=[a-z])/u, "max"],
];

/** `min_price` is at most `max_price`. */
export const orderNumbers: Relation = (names) => {
  const pairs = [...names].flatMap((low) =>
    PAIRED.flatMap(([pattern, other]) => {
      const high = low.replace(pattern, other);
      return high !== low && names.has(high) ? [{ low, high }] : [];
    }),
  );
  if (pairs.length === 0) return undefined;
  return (object) => {
    for (const { low, high } of pairs) orderBounds(object, low, high);
  };
};

function orderBounds(object: DrawnFields, low: string, high: string): void {
  const [least, most] = [object.getNumber(low), object.getNumber(high)];
  if (least === undefined || most === undefined || least <= most) return;
  if (object.isGenerated(low) && object.isGenerated(high)) {
    object.setNumber(low, most);
    object.setNumber(high, least);
  }
  if ((object.getNumber(low) ?? 0) <= (object.getNumber(high) ?? 0)) return;
  const isWhole = Number.isInteger(least) && Number.isInteger(most);
  const [lower, higher] = [object.isGenerated(low) ? most * 0.6 : least, object.isGenerated(low) ? most : least * 1.6];
  object.setNumber(low, isWhole ? Math.floor(lower) : lower);
  object.setNumber(high, isWhole ? Math.ceil(higher) : higher);
  // bounds of the schema may leave no room between the two
  if ((object.getNumber(low) ?? 0) > (object.getNumber(high) ?? 0)) object.setNumber(low, object.getNumber(high) ?? 0);
}

/** Parts and their wholes. `left`: the remainder of the whole. */
const PARTS: readonly { readonly part: RegExp; readonly whole: readonly string[]; readonly left?: readonly string[] }[] = [
  { part: /^(?:page|current_page|page_number)$/u, whole: ["total_pages", "pages", "page_count", "num_pages"] },
  {
    part: /^(?:used|spent|consumed|used_\w+)$/u,
    whole: ["total", "limit", "quota", "budget", "capacity"],
    left: ["remaining", "available", "left", "free"],
  },
  {
    part: /^(?:passed|failed|correct|successes|completed|won|wins|successful|processed)$/u,
    whole: ["total", "total_tests", "total_questions", "played", "attempts", "total_tasks", "games_played"],
  },
  {
    part: /^(?:available|available_\w+|remaining|occupied|booked)$/u,
    whole: ["capacity", "total_capacity", "total_seats", "total_rooms", "max_capacity"],
  },
  {
    part: /^(?:available_balance|available_funds|available_credit|minimum_payment|min_payment|minimum_due|past_due|overdue_amount)$/u,
    whole: ["balance", "current_balance", "statement_balance", "total_balance", "ledger_balance", "credit_limit"],
  },
  {
    part: /^(?:remaining_balance|outstanding_balance|outstanding|amount_remaining|remaining_amount|amount_outstanding|balance_due)$/u,
    whole: ["principal", "loan_amount", "original_amount", "total_amount", "total", "grand_total", "amount"],
  },
  {
    part: /^(?:seats_left|seats_available|available_seats|remaining_seats|rooms_available|tickets_left|spots_left|enrolled|registered|checked_in|attended)$/u,
    whole: ["seats", "total_seats", "capacity", "total_rooms", "max_participants", "max_attendees", "tickets_total"],
  },
  {
    part: /^(?:points_redeemed|redeemed|points_used|miles_redeemed)$/u,
    whole: ["points", "points_balance", "points_total", "total_points", "miles"],
  },
  { part: /^diastolic(?:_bp|_pressure)?$/u, whole: ["systolic", "systolic_bp", "systolic_pressure"] },
  {
    part: /^(?:paid|amount_paid|paid_amount|deposit|down_payment)$/u,
    whole: ["total", "total_amount", "amount_due", "price", "home_price", "total_price"],
  },
  {
    part: /^(?:price|price_per_night|nightly_rate|cost|fare|total_price|ticket_price)$/u,
    whole: ["max_price", "budget", "price_limit", "max_budget", "maximum_price", "spending_limit"],
  },
];

/** A part is at most the whole, which may be a value of the call. */
export const limitParts: Relation = (names) => {
  const parts = PARTS.flatMap(({ part, whole, left }) =>
    [...names]
      .filter((name) => part.test(name))
      .map((name) => ({ name, whole: whole.filter((one) => one !== name), left: left?.find((one) => names.has(one)) })),
  );
  if (parts.length === 0) return undefined;
  return (object) => {
    for (const { name, whole, left } of parts) {
      const [part, all] = [object.getNumber(name), object.numberFromObjectOrCall(whole)];
      if (part === undefined || all === undefined || all <= 0) continue;
      if (part > all) {
        const share = all * (0.3 + 0.6 * object.random.branch(name).next());
        object.setNumber(name, Number.isInteger(part) && Number.isInteger(all) ? Math.max(all >= 1 ? 1 : 0, Math.floor(share)) : share);
      }
      if (left !== undefined) object.setNumber(left, all - (object.getNumber(name) ?? 0));
    }
  };
};

const FROM = ["from", "from_currency", "source_currency", "base_currency", "base", "source", "currency_from", "from_code"];
const TO = ["to", "to_currency", "target_currency", "quote_currency", "target", "quote", "currency_to", "to_code"];
const RATES = ["rate", "exchange_rate", "conversion_rate", "fx_rate"];
const AMOUNTS = ["amount", "original_amount", "from_amount", "source_amount", "value"];
const CONVERTED = ["converted_amount", "converted", "result", "to_amount", "target_amount", "converted_value"];

/** The exchange rate of the two currencies, and the converted amount. */
export const convertCurrency: Relation = (names) => {
  const rateName = RATES.find((name) => names.has(name));
  const result = CONVERTED.find((name) => names.has(name));
  if (rateName === undefined && result === undefined) return undefined;
  return (object) => {
    const [from, to] = [dollarValueOf(object.valueFromObjectOrCall(FROM)), dollarValueOf(object.valueFromObjectOrCall(TO))];
    const isKnown = from !== undefined && to !== undefined;
    if (isKnown && rateName !== undefined && object.getNumber(rateName) !== undefined)
      object.set(rateName, Number((from / to).toPrecision(5)));
    const rate = object.getNumber(rateName) ?? (isKnown ? from / to : undefined);
    const amount = object.numberFromObjectOrCall(AMOUNTS);
    if (rate !== undefined && amount !== undefined) object.setNumber(result, rate * amount);
  };
};

function dollarValueOf(code: unknown): number | undefined {
  return typeof code === "string" ? DOLLAR_VALUES.get(code.toUpperCase()) : undefined;
}
