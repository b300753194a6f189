/** Brings the made-up values of one object into agreement: dates in order, sums that are sums, a person's name and address alike. */
import { type JsonValue, isJsonArray, isJsonObject } from "../../core/base/json.ts";
import { dateOf, dateTextLike } from "./date-text.ts";
import { plainName } from "./name-words.ts";
import type { RandomStream } from "./random-stream.ts";
import { COUNTRY_OF_CITY } from "./words.ts";

/** One object whose values are drawn. */
export interface Agreeing {
  readonly entries: ReadonlyMap<string, JsonValue>;
  /** The value is a default, so another may take its place. */
  isMadeUp(name: string): boolean;
  /** Puts a value in the place of another, where it fits the schema. */
  replace(name: string, value: JsonValue): void;
  readonly random: RandomStream;
}

/** Objects with more properties are left as they are. */
const MAX_PROPERTIES = 200;
const MAX_ITEMS = 1_000;
/** More dates in one object are left in their disorder: they are compared in pairs. */
const MAX_DATED = 20;

export function agree(object: Agreeing): void {
  if (object.entries.size < 2 || object.entries.size > MAX_PROPERTIES) return;
  const names = new Map([...object.entries.keys()].map((name) => [plainName(name), name]));
  orderDates(object, names);
  orderNumbers(object, names);
  spanPrices(object, names);
  notYet(object, names);
  countNights(object, names);
  addUp(object, names);
  alikePerson(object, names);
  alikePlace(object, names);
}

type Names = ReadonlyMap<string, string>;

function numberAt({ entries }: Agreeing, name: string | undefined): number | undefined {
  const value = name === undefined ? undefined : entries.get(name);
  return typeof value === "number" ? value : undefined;
}

function firstOf(names: Names, wanted: readonly string[]): string | undefined {
  for (const name of wanted) if (names.has(name)) return names.get(name);
  return undefined;
}

const CREATED = /(?:^|_)(?:created|placed|ordered|opened|issued|joined|registered|submitted|requested|booked|started)(?=_|$)/u;
/** What comes before what, by the end of a name. `gap`: the usual minutes between the two. */
const IN_TURN: readonly { readonly earlier: RegExp; readonly later: RegExp; readonly gap: number }[] = [
  { earlier: /(?:^|_)(?:depart|departure|departs)(?=_|$)/u, later: /(?:^|_)(?:arrive|arrival|arrives)(?=_|$)/u, gap: 150 },
  { earlier: /(?:^|_)check_?in(?=_|$)/u, later: /(?:^|_)check_?out(?=_|$)/u, gap: 2_880 },
  { earlier: /(?:^|_)(?:start|starts|begin|begins)(?=_|$)/u, later: /(?:^|_)(?:end|ends|finish)(?=_|$)/u, gap: 60 },
  { earlier: /(?:^|_)(?:from|since)(?=_|$)/u, later: /(?:^|_)(?:to|until|till)(?=_|$)/u, gap: 1_440 },
  { earlier: /(?:^|_)sunrise$/u, later: /(?:^|_)sunset$/u, gap: 720 },
  { earlier: /(?:^|_)scheduled(?=_|$)/u, later: /(?:^|_)actual(?=_|$)/u, gap: 15 },
  { earlier: /(?:^|_)(?:issue|issued|invoice)(?=_|$)/u, later: /(?:^|_)(?:due|expiry|expires|paid)(?=_|$)/u, gap: 20_160 },
  {
    earlier: CREATED,
    later: /(?:^|_)(?:updated|modified|changed|edited|last|closed|resolved|completed|finished|paid|shipped)(?=_|$)/u,
    gap: 1_500,
  },
  { earlier: CREATED, later: /(?:^|_)(?:delivered|delivery|estimated|cancell?ed|expires|expiry|due|deadline)(?=_|$)/u, gap: 7_200 },
];

const MINUTE = 60_000;
/** A made-up span that is longer is drawn in. */
const LONGEST_GAP = 12;

function orderDates(object: Agreeing, names: Names): void {
  const dated = [...names].filter(([, name]) => dateOf(object.entries.get(name)) !== undefined);
  if (dated.length < 2 || dated.length > MAX_DATED) return;
  for (const { earlier: before, later: after, gap } of IN_TURN) {
    for (const [plain, earlier] of dated) {
      if (!before.test(plain)) continue;
      for (const [other, later] of dated)
        if (other !== plain && after.test(other) && !before.test(other)) putInTurn(object, { earlier, later, names, gap });
    }
  }
}

function putInTurn(
  object: Agreeing,
  { earlier, later, names, gap }: { readonly earlier: string; readonly later: string; readonly names: Names; readonly gap: number },
): void {
  const [from, to] = [object.entries.get(earlier), object.entries.get(later)];
  const [start, end] = [dateOf(from), dateOf(to)];
  if (start === undefined || end === undefined || start.isTime !== end.isTime) return;
  const told = numberAt(object, firstOf(names, ["duration_minutes", "duration_min", "duration_in_minutes"]));
  const isExact = told !== undefined && told > 0 && gap <= 150;
  const span = isExact
    ? told * MINUTE
    : Math.round((gap * (1 + object.random.branch(later).next() * 2) * MINUTE) / (5 * MINUTE)) * 5 * MINUTE;
  const least = start.hasTime && end.hasTime ? span : Math.max(span, 24 * 60 * MINUTE);
  const apart = end.at - start.at;
  if (isExact ? apart === span : apart > 0 && apart <= LONGEST_GAP * Math.max(gap, 60) * MINUTE) return;
  if (object.isMadeUp(later)) object.replace(later, dateTextLike(to, start.at + least));
  else if (object.isMadeUp(earlier)) object.replace(earlier, dateTextLike(from, end.at - least));
}

const LEAST = /(?:^|_)(?:min|minimum|low|lowest)(?=_|$)/u;
const MOST: ReadonlyMap<string, string> = new Map([
  ["min", "max"],
  ["minimum", "maximum"],
  ["low", "high"],
  ["lowest", "highest"],
]);

/** `min_temp` is no more than `max_temp`. */
function orderNumbers(object: Agreeing, names: Names): void {
  for (const [plain, name] of names) {
    if (!LEAST.test(plain)) continue;
    const other = names.get(
      plain
        .split("_")
        .map((word) => MOST.get(word) ?? word)
        .join("_"),
    );
    const [low, high] = [numberAt(object, name), numberAt(object, other)];
    if (other === undefined || low === undefined || high === undefined || low <= high) continue;
    if (!object.isMadeUp(name) || !object.isMadeUp(other)) continue;
    object.replace(name, high);
    object.replace(other, low);
  }
}

/** The highest of a day's prices is the highest. */
function spanPrices(object: Agreeing, names: Names): void {
  const all = ["open", "close", "price", "high", "low"].flatMap((name) => numberAt(object, names.get(name)) ?? []);
  if (all.length < 3 || !names.has("high") || !names.has("low")) return;
  put(object, names.get("high"), Math.max(...all));
  put(object, names.get("low"), Math.min(...all));
}

const DONE_AT = /^(closed|resolved|cancell?ed|deleted|completed|finished|paid|shipped|delivered|refunded|archived|merged)_(?:at|on|date)$/u;

/** What is open has not been closed. */
function notYet(object: Agreeing, names: Names): void {
  const state = object.entries.get(firstOf(names, ["state", "status"]) ?? "");
  if (typeof state !== "string") return;
  for (const [plain, name] of names) {
    const deed = DONE_AT.exec(plain)?.[1];
    if (deed !== undefined && !state.toLowerCase().startsWith(deed.slice(0, 5)) && object.isMadeUp(name)) object.replace(name, null);
  }
}

function countNights(object: Agreeing, names: Names): void {
  const from = dateOf(object.entries.get(firstOf(names, ["check_in", "check_in_date", "checkin"]) ?? ""));
  const to = dateOf(object.entries.get(firstOf(names, ["check_out", "check_out_date", "checkout"]) ?? ""));
  const nights = from === undefined || to === undefined ? 0 : Math.round((to.at - from.at) / (24 * 60 * MINUTE));
  if (nights > 0) put(object, firstOf(names, ["nights", "number_of_nights"]), nights);
}

const PRICES = ["unit_price", "price_per_unit", "price", "unit_cost", "unit_amount"];
const QUANTITIES = ["quantity", "qty", "count"];
const LINE_TOTALS = ["line_total", "total_price", "total", "subtotal", "amount", "total_amount"];
const SUBTOTALS = ["subtotal", "sub_total", "items_total", "net", "net_total", "subtotal_amount"];
const TOTALS = ["total", "grand_total", "total_amount", "total_price", "total_cost", "order_total", "amount_due"];
const ADDED = [
  "tax",
  "taxes",
  "tax_amount",
  "vat",
  "shipping",
  "shipping_cost",
  "shipping_fee",
  "delivery_fee",
  "service_fee",
  "fee",
  "fees",
  "tip",
];
const TAKEN = ["discount", "discount_amount"];

function addUp(object: Agreeing, names: Names): void {
  const price = numberAt(object, firstOf(names, PRICES));
  const quantity = numberAt(object, firstOf(names, QUANTITIES));
  if (price !== undefined && quantity !== undefined) {
    put(object, firstOf(names, LINE_TOTALS), price * quantity);
    return;
  }
  const rate = numberAt(object, firstOf(names, ["rate", "exchange_rate"]));
  const amount = numberAt(object, names.get("amount"));
  if (rate !== undefined && amount !== undefined) put(object, firstOf(names, ["result", "converted_amount", "converted"]), rate * amount);
  const sum = sumOfItems(object);
  if (sum !== undefined) put(object, firstOf(names, SUBTOTALS), sum);
  const net = numberAt(object, firstOf(names, SUBTOTALS)) ?? sum;
  if (net === undefined) return;
  let total = net;
  for (const name of ADDED) total += numberAt(object, names.get(name)) ?? 0;
  for (const name of TAKEN) total -= numberAt(object, names.get(name)) ?? 0;
  put(object, firstOf(names, TOTALS), Math.max(0, total));
}

function put(object: Agreeing, name: string | undefined, value: number): void {
  if (name !== undefined && numberAt(object, name) !== undefined && object.isMadeUp(name))
    object.replace(name, Math.round(value * 100) / 100);
}

/** Of the one list whose items all say what they cost. */
function sumOfItems({ entries }: Agreeing): number | undefined {
  for (const list of entries.values()) {
    if (!isJsonArray(list) || list.length === 0 || list.length > MAX_ITEMS) continue;
    const costs = list.map(costOf).filter((cost) => cost !== undefined);
    if (costs.length === list.length) return Math.round(costs.reduce((sum, cost) => sum + cost, 0) * 100) / 100;
  }
  return undefined;
}

function costOf(item: JsonValue): number | undefined {
  if (!isJsonObject(item)) return undefined;
  const byName = new Map(Object.entries(item).map(([name, value]) => [plainName(name), value]));
  const numberOf = (wanted: readonly string[]): number | undefined => {
    const value = wanted.map((name) => byName.get(name)).find((one) => typeof one === "number");
    return typeof value === "number" ? value : undefined;
  };
  const price = numberOf(PRICES);
  const quantity = numberOf(QUANTITIES);
  return price !== undefined && quantity !== undefined ? price * quantity : numberOf(LINE_TOTALS);
}

/** The address of a made-up person is that of their name. */
function alikePerson(object: Agreeing, names: Names): void {
  const { entries } = object;
  const textAt = (name: string | undefined): string | undefined => {
    const value = name === undefined ? undefined : entries.get(name);
    return typeof value === "string" ? value : undefined;
  };
  const [firstName, lastName] = [textAt(names.get("first_name")), textAt(names.get("last_name"))];
  const whole = firstOf(names, ["name", "full_name", "display_name"]);
  const both = firstName !== undefined && lastName !== undefined ? `${firstName} ${lastName}` : undefined;
  if (both !== undefined && whole !== undefined && object.isMadeUp(whole)) object.replace(whole, both);
  const email = firstOf(names, ["email", "email_address"]);
  const person = both ?? textAt(whole);
  if (email === undefined || !object.isMadeUp(email) || person === undefined || !/^[A-Z][a-z]{1,20} [A-Z][a-z]{1,20}$/u.test(person))
    return;
  if (textAt(email)?.endsWith("@example.com") === true) object.replace(email, `${person.replace(" ", ".").toLowerCase()}@example.com`);
}

/** The country of a city that is known, and degrees for a temperature. */
function alikePlace(object: Agreeing, names: Names): void {
  const { entries } = object;
  const country = names.get("country");
  const city = entries.get(firstOf(names, ["city", "city_name", "location"]) ?? "");
  const known = typeof city === "string" ? COUNTRY_OF_CITY.get(city.split(",", 1)[0] ?? "") : undefined;
  if (country !== undefined && known !== undefined && object.isMadeUp(country) && typeof entries.get(country) === "string")
    object.replace(country, known);
  const unit = firstOf(names, ["unit", "units", "temperature_unit"]);
  const isWarm = firstOf(names, ["temperature", "temp", "feels_like"]) !== undefined;
  if (unit !== undefined && isWarm && object.isMadeUp(unit) && typeof entries.get(unit) === "string") object.replace(unit, "celsius");
}
