/** Rules for the values of one object among each other. */
import { type JsonObject, type JsonValue, isJsonObject } from "../../src/core/base/json.ts";

export interface Finding {
  readonly ok: boolean;
  readonly what: string;
}

type ObjectRule = (object: JsonObject, properties: Readonly<Record<string, unknown>>) => Iterable<Finding>;

const plain = (name: string): string =>
  name
    .replaceAll(/([a-z\d])([A-Z])/gu, "$1_$2")
    .replaceAll(/[^A-Za-z\d]+/gu, "_")
    .toLowerCase();

function byName(object: JsonObject): Map<string, JsonValue> {
  return new Map(Object.entries(object).map(([name, value]) => [plain(name), value]));
}

function number(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" ? value : typeof value === "string" && /^-?\d+(?:\.\d+)?$/u.test(value) ? Number(value) : undefined;
}

/** Comparable, for dates in one spelling. */
function moment(value: JsonValue | undefined, description: string): number | undefined {
  if (typeof value === "number") return value > 1e8 ? value : undefined;
  if (typeof value !== "string") return undefined;
  const day = /^(\d\d)[/.-](\d\d)[/.-](\d{4})$/u.exec(value);
  if (day !== null)
    return /mm.dd.yyyy/iu.test(description)
      ? Date.UTC(Number(day[3]), Number(day[1]) - 1, Number(day[2]))
      : Date.UTC(Number(day[3]), Number(day[2]) - 1, Number(day[1]));
  if (/^\d{4}$/u.test(value)) return Number(value);
  if (!/^\d{4}-\d\d|^\d{4}\/\d\d/u.test(value)) return undefined;
  const at = Date.parse(value.replace(" ", "T"));
  return Number.isNaN(at) ? undefined : at;
}

const TURNS: readonly (readonly [string, string])[] = [
  ["start", "end"],
  ["begin", "end"],
  ["from", "to"],
  ["check_in", "check_out"],
  ["checkin", "checkout"],
  ["departure", "arrival"],
  ["depart", "return"],
  ["departure", "return"],
  ["pickup", "dropoff"],
  ["pick_up", "drop_off"],
  ["since", "until"],
  ["after", "before"],
  ["min", "max"],
  ["created", "updated"],
  ["issue", "due"],
  ["issued", "expires"],
  ["outbound", "inbound"],
];

const datesInOrder: ObjectRule = function* (object, properties) {
  const names = byName(object);
  const described = new Map(
    Object.entries(properties).map(([name, one]) => [plain(name), isJsonObject(one) ? String(one["description"] ?? "") : ""]),
  );
  for (const [name, value] of names)
    for (const [earlier, later] of TURNS) {
      const other = `_${name}_`.includes(`_${earlier}_`) ? `_${name}_`.replace(`_${earlier}_`, `_${later}_`).slice(1, -1) : undefined;
      if (other === undefined || !names.has(other)) continue;
      const [from, to] = [moment(value, described.get(name) ?? ""), moment(names.get(other), described.get(other) ?? "")];
      if (from !== undefined && to !== undefined && from > 1e4)
        yield { ok: from <= to, what: `${name} ${String(value)} > ${other} ${String(names.get(other))}` };
    }
};

const LOW_HIGH: readonly (readonly [RegExp, string])[] = [
  [/(^|_)min(?=_|$)/u, "$1max"],
  [/(^|_)minimum(?=_|$)/u, "$1maximum"],
  [/(^|_)low(est)?(?=_|$)/u, "$1high$2"],
  [/(^|_)lower(?=_|$)/u, "$1upper"],
  [/(^|_)from(?=_|$)/u, "$1to"],
  [/(^|_)start(?=_|$)/u, "$1end"],
  [/(^|_)gte?(?=_|$)/u, "$1lte"],
];

const leastAndMost: ObjectRule = function* (object) {
  const names = byName(object);
  for (const [name, value] of names)
    for (const [pattern, other] of LOW_HIGH) {
      if (!pattern.test(name) || /(?:from|start|to)_?(?:id|index)|account|number$/u.test(name)) continue;
      const partner = name.replace(pattern, other);
      const [low, high] = [number(value), number(names.get(partner))];
      if (low !== undefined && high !== undefined) yield { ok: low <= high, what: `${name} ${low} > ${partner} ${high}` };
    }
};

const near = (a: number, b: number): boolean => Math.abs(a - b) <= Math.max(0.02, Math.abs(b) * 0.001);

const sums: ObjectRule = function* (object) {
  const names = byName(object);
  const at = (...wanted: readonly string[]): number | undefined =>
    wanted.map((one) => number(names.get(one))).find((one) => one !== undefined);
  const [quantity, unit, line] = [at("quantity", "qty"), at("unit_price", "price_per_unit"), at("line_total", "total_price", "total")];
  const tax = at("tax", "tax_amount", "vat");
  if (quantity !== undefined && unit !== undefined && line !== undefined && tax === undefined)
    yield { ok: near(line, quantity * unit), what: `${quantity} x ${unit} = ${line}` };
  const [subtotal, total] = [at("subtotal", "sub_total"), at("total", "grand_total", "total_amount")];
  if (subtotal !== undefined && total !== undefined && tax !== undefined) {
    const more =
      (at("shipping", "shipping_cost", "delivery_fee") ?? 0) +
      (at("fee", "service_fee", "tip") ?? 0) -
      (at("discount", "discount_amount") ?? 0);
    yield { ok: near(total, subtotal + tax + more), what: `${subtotal} + ${tax} + ${more} = ${total}` };
  }
  const [amount, rate, converted] = [
    at("amount"),
    at("rate", "exchange_rate", "conversion_rate"),
    at("converted_amount", "converted", "result"),
  ];
  if (amount !== undefined && rate !== undefined && converted !== undefined)
    yield { ok: near(converted, amount * rate), what: `${amount} x ${rate} = ${converted}` };
  const [balance, before] = [at("passed", "successes"), at("total_tests", "total_runs")];
  if (balance !== undefined && before !== undefined) yield { ok: balance <= before, what: `${balance} of ${before}` };
};

const counted: ObjectRule = function* (object) {
  const lists = Object.entries(object).filter(([, value]) => Array.isArray(value));
  const names = byName(object);
  for (const [name, list] of lists) {
    const stem = plain(name).replace(/ies$/u, "y").replace(/s$/u, "");
    for (const key of [
      `${stem}_count`,
      `${plain(name)}_count`,
      `num_${plain(name)}`,
      ...(lists.length === 1 ? ["count", "returned"] : []),
    ]) {
      const told = number(names.get(key));
      if (told !== undefined && Array.isArray(list)) yield { ok: told === list.length, what: `${key} ${told}, ${name} has ${list.length}` };
    }
  }
};

const person: ObjectRule = function* (object) {
  const names = byName(object);
  const text = (name: string): string => (typeof names.get(name) === "string" ? String(names.get(name)) : "");
  const [first, last, full, email, user] = [
    text("first_name"),
    text("last_name"),
    text("full_name") || text("name"),
    text("email") || text("email_address"),
    text("username"),
  ];
  if (first && last && text("full_name")) yield { ok: full === `${first} ${last}`, what: `${first} ${last} is ${full}` };
  const known = first && last ? `${first} ${last}` : /^[A-Z][a-z]+ [A-Z][a-z]+$/u.test(full) ? full : "";
  const parts = known.toLowerCase().split(" ").filter(Boolean);
  if (parts.length > 1 && /^[a-z]+[._][a-z]+@/u.test(email))
    yield { ok: parts.every((part) => email.includes(part)), what: `${known} has ${email}` };
  if (parts.length > 1 && user && email)
    yield { ok: parts.some((part) => user.toLowerCase().includes(part)) || user.includes("@"), what: `${known} is ${user}` };
};

const COUNTRIES: Readonly<Record<string, string>> = Object.fromEntries(
  "Rome:IT:Italy,Oslo:NO:Norway,Lisbon:PT:Portugal,Vienna:AT:Austria,Prague:CZ:Czechia,Dublin:IE:Ireland,Madrid:ES:Spain,Athens:GR:Greece,Helsinki:FI:Finland,Warsaw:PL:Poland,Nairobi:KE:Kenya,Lima:PE:Peru,Osaka:JP:Japan,Toronto:CA:Canada,Seoul:KR:South Korea,Cairo:EG:Egypt,Paris:FR:France,London:GB:United Kingdom,Berlin:DE:Germany,Zurich:CH:Switzerland,Tokyo:JP:Japan,New York:US:United States,San Francisco:US:United States,Amsterdam:NL:Netherlands,Sydney:AU:Australia,Chicago:US:United States,Boston:US:United States,Munich:DE:Germany,Milan:IT:Italy,Barcelona:ES:Spain,Singapore:SG:Singapore,Mumbai:IN:India"
    .split(",")
    .map((row) => [row.split(":")[0], row.slice(row.indexOf(":") + 1)]),
);

/** The other code of a country. @see https://www.iso.org/iso-3166-country-codes.html */
const CODES_OF_THREE: Readonly<Record<string, string>> = {
  IT: "ITA",
  NO: "NOR",
  PT: "PRT",
  AT: "AUT",
  CZ: "CZE",
  IE: "IRL",
  ES: "ESP",
  GR: "GRC",
  FI: "FIN",
  PL: "POL",
  KE: "KEN",
  PE: "PER",
  JP: "JPN",
  CA: "CAN",
  KR: "KOR",
  EG: "EGY",
  FR: "FRA",
  GB: "GBR",
  DE: "DEU",
  CH: "CHE",
  US: "USA",
  NL: "NLD",
  AU: "AUS",
  SG: "SGP",
  IN: "IND",
};

const places: ObjectRule = function* (object) {
  const names = byName(object);
  const known = COUNTRIES[String(names.get("city") ?? names.get("city_name") ?? "")];
  if (known === undefined) return;
  const [code, country] = known.split(":");
  for (const name of ["country", "country_code", "country_name"]) {
    const value = names.get(name);
    if (typeof value === "string")
      yield {
        ok:
          value === country ||
          value.toUpperCase() === code ||
          value === CODES_OF_THREE[code ?? ""] ||
          (country === "United States" && value.startsWith("US")),
        what: `${String(names.get("city"))} is in ${value}`,
      };
  }
};

const coordinates: ObjectRule = function* (object) {
  const names = byName(object);
  const [lat, lon] = [
    number(names.get("lat") ?? names.get("latitude")),
    number(names.get("lon") ?? names.get("lng") ?? names.get("longitude")),
  ];
  if (lat !== undefined && lon !== undefined) yield { ok: Math.abs(lat) <= 90 && Math.abs(lon) <= 180, what: `${lat}, ${lon}` };
};

/** Two of a kind that a call takes from one to the other. */
const different: ObjectRule = function* (object) {
  const names = byName(object);
  for (const [one, other] of [
    ["from", "to"],
    ["origin", "destination"],
    ["source", "target"],
    ["from_currency", "to_currency"],
    ["source_lang", "target_lang"],
    ["base", "target"],
    ["from_unit", "to_unit"],
    ["departure_city", "arrival_city"],
    ["team1", "team2"],
  ] as const) {
    const [a, b] = [names.get(one), names.get(other)];
    if (typeof a === "string" && typeof b === "string") yield { ok: a !== b, what: `${one} and ${other} are ${a}` };
  }
};

export const OBJECT_RULES: Readonly<Record<string, ObjectRule>> = {
  "dates in order": datesInOrder,
  "least and most": leastAndMost,
  sums,
  "counts of lists": counted,
  "one person": person,
  "one place": places,
  coordinates,
  "two that differ": different,
};
