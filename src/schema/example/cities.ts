/** Cities with their country, codes and coordinates, so that the parts of an address belong together. */

export interface City {
  readonly city: string;
  readonly region: string;
  readonly country: string;
  readonly code: string;
  readonly code3: string;
  readonly currency: string;
  readonly dial: string;
  readonly timeZone: string;
  readonly language: string;
  readonly latitude: number;
  readonly longitude: number;
  /** Digits that vary are written as `#`. */
  readonly zip: string;
  readonly airport: string;
}

const ROWS = `Rome|Lazio|Italy|IT|ITA|EUR|+39|Europe/Rome|it|41.9028|12.4964|001##|FCO
Milan|Lombardy|Italy|IT|ITA|EUR|+39|Europe/Rome|it|45.4642|9.19|201##|MXP
Oslo|Oslo|Norway|NO|NOR|NOK|+47|Europe/Oslo|no|59.9139|10.7522|05##|OSL
Lisbon|Lisbon|Portugal|PT|PRT|EUR|+351|Europe/Lisbon|pt|38.7223|-9.1393|1###-0##|LIS
Vienna|Vienna|Austria|AT|AUT|EUR|+43|Europe/Vienna|de|48.2082|16.3738|10#0|VIE
Prague|Prague|Czechia|CZ|CZE|CZK|+420|Europe/Prague|cs|50.0755|14.4378|1#000|PRG
Dublin|Leinster|Ireland|IE|IRL|EUR|+353|Europe/Dublin|en|53.3498|-6.2603|D02 X2##|DUB
Madrid|Madrid|Spain|ES|ESP|EUR|+34|Europe/Madrid|es|40.4168|-3.7038|280##|MAD
Barcelona|Catalonia|Spain|ES|ESP|EUR|+34|Europe/Madrid|es|41.3874|2.1686|080##|BCN
Athens|Attica|Greece|GR|GRC|EUR|+30|Europe/Athens|el|37.9838|23.7275|105##|ATH
Helsinki|Uusimaa|Finland|FI|FIN|EUR|+358|Europe/Helsinki|fi|60.1699|24.9384|001#0|HEL
Warsaw|Masovia|Poland|PL|POL|PLN|+48|Europe/Warsaw|pl|52.2297|21.0122|00-1##|WAW
Paris|Ile-de-France|France|FR|FRA|EUR|+33|Europe/Paris|fr|48.8566|2.3522|750##|CDG
London|England|United Kingdom|GB|GBR|GBP|+44|Europe/London|en|51.5072|-0.1276|SW1A #AA|LHR
Berlin|Berlin|Germany|DE|DEU|EUR|+49|Europe/Berlin|de|52.52|13.405|101##|BER
Munich|Bavaria|Germany|DE|DEU|EUR|+49|Europe/Berlin|de|48.1351|11.582|803##|MUC
Zurich|Zurich|Switzerland|CH|CHE|CHF|+41|Europe/Zurich|de|47.3769|8.5417|80##|ZRH
Amsterdam|North Holland|Netherlands|NL|NLD|EUR|+31|Europe/Amsterdam|nl|52.3676|4.9041|10## AB|AMS
Stockholm|Stockholm|Sweden|SE|SWE|SEK|+46|Europe/Stockholm|sv|59.3293|18.0686|111 ##|ARN
New York|New York|United States|US|USA|USD|+1|America/New_York|en|40.7128|-74.006|100##|JFK
San Francisco|California|United States|US|USA|USD|+1|America/Los_Angeles|en|37.7749|-122.4194|941##|SFO
Chicago|Illinois|United States|US|USA|USD|+1|America/Chicago|en|41.8781|-87.6298|606##|ORD
Boston|Massachusetts|United States|US|USA|USD|+1|America/New_York|en|42.3601|-71.0589|021##|BOS
Toronto|Ontario|Canada|CA|CAN|CAD|+1|America/Toronto|en|43.6532|-79.3832|M5V #K#|YYZ
Lima|Lima|Peru|PE|PER|PEN|+51|America/Lima|es|-12.0464|-77.0428|150##|LIM
Nairobi|Nairobi|Kenya|KE|KEN|KES|+254|Africa/Nairobi|en|-1.2921|36.8219|001##|NBO
Cairo|Cairo|Egypt|EG|EGY|EGP|+20|Africa/Cairo|ar|30.0444|31.2357|115##|CAI
Tokyo|Tokyo|Japan|JP|JPN|JPY|+81|Asia/Tokyo|ja|35.6762|139.6503|100-00##|HND
Osaka|Osaka|Japan|JP|JPN|JPY|+81|Asia/Tokyo|ja|34.6937|135.5023|530-00##|KIX
Seoul|Seoul|South Korea|KR|KOR|KRW|+82|Asia/Seoul|ko|37.5665|126.978|045##|ICN
Singapore|Singapore|Singapore|SG|SGP|SGD|+65|Asia/Singapore|en|1.3521|103.8198|0188##|SIN
Mumbai|Maharashtra|India|IN|IND|INR|+91|Asia/Kolkata|hi|19.076|72.8777|4000##|BOM
Sydney|New South Wales|Australia|AU|AUS|AUD|+61|Australia/Sydney|en|-33.8688|151.2093|20##|SYD`;

export const CITIES: readonly City[] = ROWS.split("\n").map((row) => {
  const [city = "", region = "", country = "", code = "", code3 = "", currency = "", dial = "", timeZone = "", language = "", ...rest] =
    row.split("|");
  const [latitude = "", longitude = "", zip = "", airport = ""] = rest;
  const degrees = { latitude: Number(latitude), longitude: Number(longitude) };
  return { city, region, country, code, code3, currency, dial, timeZone, language, ...degrees, zip, airport };
});

/** Returns the distinct values of a column, in the order of the table. */
export function distinctCityValues(key: Exclude<keyof City, "latitude" | "longitude">): readonly string[] {
  return [...new Set(CITIES.map((place) => place[key]))];
}

type Key = Exclude<keyof City, "latitude" | "longitude" | "zip" | "dial">;
const KEYS: readonly Key[] = ["city", "airport", "country", "code", "code3", "region"];
const citiesByValue: ReadonlyMap<Key, ReadonlyMap<string, readonly City[]>> = new Map(
  KEYS.map((key) => [key, Map.groupBy(CITIES, (place) => place[key].toLowerCase())] as const),
);

/** Returns the places with this value, ignoring case. */
export function findCities(key: Key, value: string): readonly City[] {
  return citiesByValue.get(key)?.get(value.toLowerCase()) ?? [];
}

/** Approximate worth of one unit of each currency in dollars, so that exchange rates are consistent with each other. */
export const DOLLAR_VALUES: ReadonlyMap<string, number> = new Map(
  "USD:1,EUR:1.09,GBP:1.27,JPY:0.0067,CHF:1.13,SEK:0.095,NOK:0.093,CAD:0.73,PLN:0.25,CZK:0.043,AUD:0.66,INR:0.012,KRW:0.00075,SGD:0.74,PEN:0.27,KES:0.0077,EGP:0.021,CNY:0.14,MXN:0.055,BRL:0.18,DKK:0.146,HUF:0.0028,TRY:0.03,NZD:0.61,ZAR:0.054,THB:0.028,AED:0.272"
    .split(",")
    .map((pair) => [pair.slice(0, 3), Number(pair.slice(4))]),
);
