import type { JsonObject, JsonValue } from "../../../core/base/json.ts";
import { normalizeName } from "../../../schema/example/name-words.ts";

const FIRST_NAME = /^(?:first|given)_?name$/iu;
const LAST_NAME = /^(?:last|family|sur)_?name$/iu;
const MONEY =
  /(?:^|_)(?:price|cost|amount|total|subtotal|fee|fees|balance|fare|tax|taxes|shipping|deposit|refund|payment|pay|rent|salary|premium|discount_amount|paid|due|debited|payable|price_per_night|daily_rate|total_price|total_debited)$/u;

/** Merges first and last name into one name, and adds the currency to amounts. */
export function mergeRelatedFields(item: JsonObject): JsonObject {
  const names = Object.keys(item);
  const [first, last] = [names.find((name) => FIRST_NAME.test(name)), names.find((name) => LAST_NAME.test(name))];
  const currency = item["currency"];
  const hasCurrency = typeof currency === "string" && /^[A-Z]{3}$/u.test(currency);
  const hasBothNames = first !== undefined && last !== undefined;
  if (!hasCurrency && !hasBothNames) return item;
  const hasMoney = hasCurrency && names.some((name) => typeof item[name] === "number" && MONEY.test(normalizeName(name)));
  const merged: [string, JsonValue][] = [];
  for (const [name, value] of Object.entries(item)) {
    if (hasBothNames && name === last) continue;
    if (hasBothNames && name === first) merged.push(["name", `${String(value)} ${String(item[last])}`]);
    else if (hasMoney && name === "currency") continue;
    else if (hasMoney && typeof value === "number" && MONEY.test(normalizeName(name))) merged.push([name, `${value} ${currency}`]);
    else merged.push([name, value]);
  }
  return Object.fromEntries(merged);
}
