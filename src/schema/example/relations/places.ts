/** One place: a city, its country, codes, coordinates and time zone that belong together. */
import type { JsonValue } from "../../../core/base/json.ts";
import { CITIES, type City, findCities } from "../cities.ts";
import type { Relation, DrawnFields } from "../drawn-fields.ts";
import { addTo } from "../../../core/base/add-to.ts";

type Facet =
  | "city"
  | "airport"
  | "airportName"
  | "country"
  | "region"
  | "zip"
  | "latitude"
  | "longitude"
  | "timeZone"
  | "currency"
  | "phone";

const ENDINGS: readonly (readonly [Facet, readonly string[]])[] = [
  ["city", ["city", "city_name", "town"]],
  ["airport", ["airport", "airport_code", "iata", "iata_code"]],
  ["airportName", ["airport_name"]],
  ["country", ["country", "country_name", "country_code", "countrycode", "nation"]],
  ["region", ["region", "state", "province", "region_name", "state_name"]],
  ["zip", ["zip", "zip_code", "postal_code", "postcode", "zipcode", "post_code"]],
  ["latitude", ["latitude", "lat"]],
  ["longitude", ["longitude", "lng", "lon", "long"]],
  ["timeZone", ["timezone", "time_zone", "tz"]],
  ["currency", ["currency", "currency_code"]],
  ["phone", ["phone", "phone_number", "mobile"]],
];
/** The facets that determine the place, in this order; the others are set to match. */
const ANCHORS: readonly Facet[] = ["city", "airport", "country"];

interface Field {
  readonly facet: Facet;
  readonly name: string;
}

export const consistentPlace: Relation = (names) => {
  const groups = new Map<string, Field[]>();
  for (const name of names)
    for (const [facet, endings] of ENDINGS)
      for (const ending of endings) {
        if (name !== ending && !name.endsWith(`_${ending}`)) continue;
        const prefix = name.slice(0, -ending.length);
        const field = { facet, name };
        addTo(groups, prefix, field);
      }
  const many = [...groups.values()].filter((fields) => fields.length > 1 && fields.some(({ facet }) => identifiesCity(facet)));
  if (many.length === 0) return undefined;
  return (object) => {
    for (const fields of many) applyCity(object, fields);
  };
};

/** Two-letter states are those of the United States. */
const STATE_CODES = /^[A-Z]{2}$/u;
const STATES: ReadonlyMap<string, string> = new Map([
  ["New York", "NY"],
  ["California", "CA"],
  ["Illinois", "IL"],
  ["Massachusetts", "MA"],
]);
const IN_STATES = CITIES.filter(({ region }) => STATES.has(region));

function identifiesCity(facet: Facet): boolean {
  return ANCHORS.includes(facet) || facet === "latitude";
}

function applyCity(object: DrawnFields, fields: readonly Field[]): void {
  const place = resolveCity(object, fields);
  if (place === undefined) return;
  for (const { facet, name } of fields) {
    const before = object.get(name);
    const value = before === undefined ? undefined : cityFacet(place, { facet, before, random: object.random.branch(name).next() });
    if (value !== undefined && value !== before) object.set(name, value);
  }
}

/** Returns the place of the given values, else that of the generated city, airport or country. */
function resolveCity(object: DrawnFields, fields: readonly Field[]): City | undefined {
  const ordered = ANCHORS.flatMap((anchor) => fields.filter(({ facet }) => facet === anchor));
  const given = ordered.filter(({ name }) => !object.isGenerated(name));
  const pick = object.random.branch("place");
  const state = fields.find(({ facet, name }) => facet === "region" && STATE_CODES.test(object.getText(name) ?? ""));
  if (state !== undefined && [...given, state].every(({ name }) => object.isGenerated(name))) return pick.pick(IN_STATES);
  for (const { name } of [...given, ...ordered]) {
    const found = findCitiesNamed(object.getText(name) ?? "");
    const known = found.filter((place) => given.every((field) => findCitiesNamed(object.getText(field.name) ?? "").includes(place)));
    if (known.length > 0) return pick.pick(known);
    if (!object.isGenerated(name)) return undefined;
  }
  const hasDegrees =
    fields.filter(({ facet, name }) => (facet === "latitude" || facet === "longitude") && object.isGenerated(name)).length > 1;
  return ordered.length === 0 && hasDegrees ? pick.pick(CITIES) : undefined;
}

function findCitiesNamed(value: string): readonly City[] {
  const [text = ""] = value.split(",", 1);
  for (const key of ["city", "airport", "country", "code", "code3"] as const) {
    const found = findCities(key, text);
    if (found.length > 0) return found;
  }
  return [];
}

interface Before {
  readonly facet: Facet;
  readonly before: JsonValue;
  /** In [0, 1). */
  readonly random: number;
}

/** Returns the place's value of a facet, in the spelling of the previous value; undefined if there is none. */
function cityFacet(place: City, { facet, before, random }: Before): JsonValue | undefined {
  const text = typeof before === "string" ? before : undefined;
  switch (facet) {
    case "city":
    case "airport":
    case "timeZone":
      return text === undefined ? undefined : place[facet];
    case "airportName":
      return text === undefined ? undefined : `${place.city} Airport`;
    case "currency":
      return text === undefined || !/^[A-Z]{3}$/u.test(text) ? undefined : place.currency;
    case "region":
      return text === undefined ? undefined : STATE_CODES.test(text) ? STATES.get(place.region) : place.region;
    case "country":
      return text === undefined ? undefined : formatCountryLike(place, text);
    case "zip":
      return text === undefined ? undefined : place.zip.replaceAll("#", () => String(Math.floor(random * 10)));
    case "phone":
      return text?.startsWith("+1-555-01") === true ? `${place.dial}${text.slice(2)}` : undefined;
    case "latitude":
    case "longitude": {
      const degrees = Math.round((place[facet] + (random - 0.5) * 0.05) * 10_000) / 10_000;
      return text === undefined ? degrees : degrees.toFixed(4);
    }
  }
}

function formatCountryLike({ country, code, code3 }: City, text: string): string {
  const name = text.length === 2 ? code : text.length === 3 ? code3 : country;
  return text === text.toLowerCase() ? name.toLowerCase() : name;
}
