/** Consistent sums: line totals, subtotals, surcharges and discounts, refunds. */
import { type JsonValue, isJsonArray, isJsonObject } from "../../../core/base/json.ts";
import { normalizeName } from "../name-words.ts";
import { type Relation, type DrawnFields, toNumber } from "../drawn-fields.ts";

const MAX_ITEMS = 1_000;
const PRICES = ["unit_price", "price_per_unit", "price", "unit_cost", "unit_amount", "price_each", "rate_per_hour", "hourly_rate"];
const NIGHTLY = ["price_per_night", "nightly_rate", "rate_per_night", "nightly_price", "price_per_day", "daily_rate", "rate_per_day"];
const QUANTITIES = ["quantity", "qty", "count", "units", "hours"];
const NIGHTS = ["nights", "number_of_nights", "num_nights", "days", "rental_days"];
const LINE_TOTALS = ["line_total", "total_price", "total", "subtotal", "amount", "total_amount", "total_cost"];
const SUBTOTALS = [
  "subtotal",
  "sub_total",
  "items_total",
  "base_fare",
  "base_price",
  "room_total",
  "net_price",
  "net",
  "net_total",
  "subtotal_amount",
  "net_amount",
  "amount_before_tax",
];
const TOTALS =
  "total grand_total total_amount total_price total_cost order_total amount_due gross gross_amount total_due amount_after_tax".split(" ");
const ADDED =
  "tax,taxes,tax_amount,vat,vat_amount,sales_tax,shipping,shipping_cost,shipping_fee,delivery_fee,delivery_cost,service_fee,booking_fee,cleaning_fee,insurance,fee,fees,tip,tip_amount,gratuity,surcharge".split(
    ",",
  );
const TAKEN = ["discount", "discount_amount", "discounts", "coupon_amount"];

/** Quantity × price = line total; sum of the lines = subtotal; subtotal with surcharges and discounts = total. */
export const sumTotals: Relation = (names) => {
  const first = (wanted: readonly string[]): string | undefined => wanted.find((name) => names.has(name));
  const totals = first(TOTALS) ?? first(SUBTOTALS) ?? first(LINE_TOTALS);
  if (totals === undefined) return undefined;
  return (object) => {
    if (
      setProductTotal(object, { prices: NIGHTLY, quantities: NIGHTS }) ||
      setProductTotal(object, { prices: PRICES, quantities: QUANTITIES })
    )
      return;
    const sum = sumOfItems(object);
    const subtotal = object.firstPresent(SUBTOTALS);
    if (sum !== undefined) object.setNumber(subtotal, sum);
    const net = object.getNumber(subtotal) ?? sum;
    if (net === undefined) return;
    const total = totalWithSurcharges(object, net);
    object.setNumber(object.firstPresent(TOTALS.filter((name) => name !== subtotal)), Math.max(0, total));
  };
};

function totalWithSurcharges(object: DrawnFields, net: number): number {
  let total = net;
  const rate = object.getNumber(object.firstPresent(["tax_rate", "vat_rate", "tax_percent", "tax_percentage"]));
  const taxName = object.firstPresent(["tax", "taxes", "tax_amount", "vat", "vat_amount", "sales_tax"]);
  if (rate !== undefined && taxName !== undefined) object.setNumber(taxName, net * (rate < 1 ? rate : rate / 100));
  for (const name of ADDED) total += object.getNumber(name) ?? 0;
  for (const name of TAKEN) {
    const amount = object.getNumber(name) ?? 0;
    if (amount > total / 2) object.setNumber(name, total / 10);
    total -= object.getNumber(name) ?? 0;
  }
  return total;
}

function setProductTotal(
  object: DrawnFields,
  { prices, quantities }: { readonly prices: readonly string[]; readonly quantities: readonly string[] },
): boolean {
  const price = object.firstPresent(prices);
  const quantity = object.numberFromObjectOrCall(quantities);
  const each = object.getNumber(price);
  if (price === undefined || each === undefined || quantity === undefined || quantity <= 0) return false;
  const total = object.firstPresent(LINE_TOTALS.filter((name) => name !== price));
  const hasMore = object.firstPresent(ADDED) !== undefined || object.firstPresent(TAKEN) !== undefined;
  if (!hasMore || total === undefined || SUBTOTALS.includes(total)) {
    object.setNumber(total, each * quantity);
    return total !== undefined && !hasMore;
  }
  object.setNumber(total, Math.max(0, totalWithSurcharges(object, each * quantity)));
  return true;
}

/** Returns the sum of the first list whose items all have a cost. */
function sumOfItems(object: DrawnFields): number | undefined {
  for (const name of object.names) {
    const list = object.get(name);
    if (!isJsonArray(list) || list.length === 0 || list.length > MAX_ITEMS) continue;
    const costs = list.map(itemCost).filter((cost) => cost !== undefined);
    if (costs.length === list.length) return Math.round(costs.reduce((sum, cost) => sum + cost, 0) * 100) / 100;
  }
  return undefined;
}

function itemCost(item: JsonValue): number | undefined {
  if (!isJsonObject(item)) return undefined;
  const byName = new Map(Object.entries(item).map(([name, value]) => [normalizeName(name), value]));
  const numberOf = (wanted: readonly string[]): number | undefined =>
    wanted.map((name) => toNumber(byName.get(name))).find((value) => value !== undefined);
  const price = numberOf(PRICES);
  const quantity = numberOf(QUANTITIES);
  return price !== undefined && quantity !== undefined ? price * quantity : numberOf(LINE_TOTALS);
}

const REFUNDS = /^(?:refund|refund_amount|refunded|refunded_amount|amount_refunded|refund_total|total_refund|amount_returned)$/u;
const PAID = [
  "amount_paid",
  "paid_amount",
  "paid",
  "total_paid",
  "total_price",
  "total",
  "total_amount",
  "total_cost",
  "grand_total",
  "order_total",
  "amount",
  "price",
  "cost",
  "fare",
];
const FEES = ["cancellation_fee", "refund_fee", "penalty", "fee"];

/** A refund is at most the amount paid, which is in the object or known from the call. */
export const limitRefund: Relation = (names) => {
  const refund = [...names].find((name) => REFUNDS.test(name));
  if (refund === undefined) return undefined;
  return (object) => {
    const paid = object.numberFromObjectOrCall(PAID);
    const back = object.getNumber(refund);
    if (paid === undefined || back === undefined || paid < 0) return;
    const fee = object.firstPresent(FEES);
    if (fee !== undefined && (object.getNumber(fee) ?? 0) > paid) object.setNumber(fee, paid / 10);
    const most = paid - (object.getNumber(fee) ?? 0);
    if (fee !== undefined || back > most) object.setNumber(refund, most);
  };
};
