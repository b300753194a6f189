/** Chooses generators of strings by name. */
import { randomMoment, randomZipCode } from "./word-sets.ts";
import { dateText, digitsText, formatText, hexText, phoneText, timeText } from "./format-text.ts";
import { workTitle } from "./free-text.ts";
import { distinctCityValues } from "./cities.ts";
import type { RandomStream } from "./random-stream.ts";
import type { Topic } from "./topics.ts";
import * as words from "./words.ts";

/** @param topic the topic of the tool, if it is known */
export type TextMaker = (random: RandomStream, topic?: Topic) => string;

/**
 * How much the example or default of a description counts in comparison with a name.
 *
 * `open`: any value of the kind is fine, and an example is just one of many. `closed`: the example shows better which values are allowed.
 * `weak`: the name is hardly more than a guess.
 */
export type Certainty = "open" | "closed" | "weak";

export interface NamedMaker {
  readonly make: TextMaker;
  readonly certainty: Certainty;
}

const pickFrom =
  (list: readonly string[]): TextMaker =>
  (random) =>
    random.pick(list);
const fromFormat =
  (name: string): TextMaker =>
  (random) =>
    formatText(name, random) ?? "";
const person: TextMaker = (random) => `${random.pick(words.FIRST_NAMES)} ${random.pick(words.LAST_NAMES)}`;
/** A first name, the initial of a last name and a number, so that the name can be recovered from it. */
const userName: TextMaker = (random) =>
  `${random.pick(words.FIRST_NAMES)}${random.pick(words.LAST_NAMES).charAt(0)}${random.integer(1, 99)}`.toLowerCase();
const city = pickFrom(distinctCityValues("city"));
const numbers: TextMaker = (random) => String(random.integer(1, 50));
const ticker: TextMaker = (random, topic) => random.pick(topic?.noun === "crypto" ? words.COINS : words.TICKERS);
const expression: TextMaker = (random) =>
  `${random.integer(2, 40)} ${random.pick(["+", "-", "*"])} ${random.integer(2, 40)}${random.next() < 0.5 ? "" : ` ${random.pick(["+", "*"])} ${random.integer(2, 12)}`}`;

/** Generators by the words of the name, joined by `_`; the first match decides. */
const OPEN: readonly (readonly [RegExp, TextMaker])[] = [
  [/(?:^|_)e?_?mails?(?:_address(?:es)?)?$/u, fromFormat("email")],
  [/(?:^|_)(?:message|mail|msg)_(?:from|to)$/u, fromFormat("email")],
  [
    /(?:^|_)(?:birth_?date|date_of_birth|birth_date|dob|birthday|birthdate)$/u,
    (random) => `${random.integer(1960, 2004)}${dateText(random).slice(4)}`,
  ],
  [/(?:^|_)(?:ip|ip_?address)$/u, fromFormat("ipv4")],
  [/(?:^|_)(?:first|given|fore)_?name$/u, pickFrom(words.FIRST_NAMES)],
  [/(?:^|_)(?:last|family|sur)_?name$/u, pickFrom(words.LAST_NAMES)],
  [/(?:^|_)(?:user_?name|username_name|login|handle|nick_?name|screen_name)s?$/u, userName],
  [/(?:^|_)(?:created|updated|assigned|requested|reported|opened|closed|approved|submitted|booked|sent)_(?:by|to)$/u, person],
  [/(?:phone|mobile|fax|telephone|cell)(?:_?numbers?)?$/u, phoneText],
  [/(?:company|organi[sz]ation|vendor|employer|publisher|manufacturer|merchant|supplier)(?:_name)?$/u, pickFrom(words.COMPANIES)],
  [/(?:city|town|hometown|municipality)(?:_name)?$/u, city],
  [/(?:^|_)pairs?$/u, (random, topic) => random.pick(topic?.noun === "crypto" ? words.COIN_PAIRS : words.CURRENCY_PAIRS)],
  [/(?:^|_)flight_(?:number|no|code)$/u, (random) => `${random.pick(words.CARRIER_CODES)}${digitsText(random, 3)}`],
  [
    /(?:full_?name|author|customer|owner|person|approver|interviewer|applicant|candidate|tenant|landlord|borrower|supervisor|instructor|nurse|technician|lawyer|attorney|donor|volunteer|spouse|physician|dentist|tutor|trainer|professor|director|(?<!user_)agent|contact|recipient|sender|assignee|attendee|requester|submitter|organi[sz]er|participant|reviewer|creator|reporter|client|holder|buyer|seller|manager|invitee|speaker|traveler|traveller|patient|doctor|teacher|actor|driver|guest|passenger|user|member|employee|student|people)(?:_name)?s?$/u,
    person,
  ],
  [/(?:street|address)(?:_?(?:line|name))?(?:_?\d)?$/u, (random) => `${random.integer(1, 120)} ${random.pick(words.STREETS)}`],
  [/(?:zip|postal|post|pin|postcode|zipcode)_?(?:code)?$/u, randomZipCode],
  [/(?:^|_)(?:expression|equation|formula|calculation)$/u, expression],
];

const CLOSED: readonly (readonly [RegExp, TextMaker])[] = [
  [/(?:^|_)(?:priority|severity|urgency)$/u, pickFrom(words.PRIORITIES)],
  [/(?:^|_)amenit(?:y|ies)$/u, pickFrom(words.AMENITIES)],
  [/(?:^|_)ts$/u, (random) => `${random.integer(1_704_067_200, 1_798_761_600)}.${digitsText(random, 6)}`],
  [/(?:^|_)iban$/u, (random) => `XX${digitsText(random, 18)}`],
  [/(?:^|_)(?:account|card|routing)_(?:number|no)$/u, (random) => digitsText(random, 10)],
  [/(?:^|_)(?:gate|seat)$/u, (random) => `${random.pick(["A", "B", "C"])}${random.integer(1, 30)}`],
  [/(?:^|_)terminal$/u, (random) => String(random.integer(1, 4))],
  [/(?:^|_)sunrise$/u, (random) => `0${random.integer(5, 7)}:${random.integer(10, 59)}`],
  [/(?:^|_)sunset$/u, (random) => `${random.integer(17, 21)}:${random.integer(10, 59)}`],
  [/(?:brand|provider)(?:_name)?$/u, pickFrom(words.COMPANIES)],
  [/currenc(?:y|ies)(?:_code|_name|_symbol)?s?$/u, pickFrom(words.CURRENCIES)],
  [/(?:airport|iata)(?:_(?:iata|code|iata_code))?$/u, pickFrom(words.AIRPORTS)],
  [/(?:^|_)(?:fahrenheit|celsius)$/u, (random) => String(random.integer(2, 30))],
  [/(?:country|nationality|market|region)_(?:\w{1,64}_)?(?:code|iso)s?$|countrycode$|(?:^|_)iso(?:_?2)?$/u, pickFrom(words.COUNTRY_CODES)],
  [/country(?:_name)?$|^countries$|^nation$|^pays$/u, pickFrom(distinctCityValues("country"))],
  [/(?:^|_)airport_name$/u, (random) => `${random.pick(distinctCityValues("city"))} Airport`],
  [/(?:airline|carrier)(?:_name)?$/u, pickFrom(words.CARRIERS)],
  [
    /(?:^|_)(?:pnr|record_locator|reference|ref|confirmation|(?!phone|contact)[a-z]+_number)$/u,
    (random) => `${hexText(random, 2).toUpperCase()}${digitsText(random, 6)}`,
  ],
  [/(?:origin|destination|departure|arrival|location|place|venue)(?:_(?:name|city|location|point))?$/u, city],
  [/(?:^|_)us_state$|(?:^|_)state_(?:code|abbreviation)$/u, pickFrom(words.US_STATES)],
  [/(?:^|_)state_name$/u, pickFrom(words.US_STATE_NAMES)],
  [/(?:province|region|county|district)(?:_name)?$/u, pickFrom(distinctCityValues("region"))],
  [/(?:^|_)(?:latitude|lat)(?:_coordinate)?$/u, (random) => (random.integer(-60, 60) + 0.25).toFixed(4)],
  [/(?:^|_)(?:longitude|lng|lon|long)(?:_coordinate)?$/u, (random) => (random.integer(-170, 170) + 0.75).toFixed(4)],
  [
    /(?:^|_)(?:coordinates|coords|lat_?lo?ng|lat_?lon|geolocation)$/u,
    (random) => `${(random.integer(35, 60) + 0.25).toFixed(4)},${(random.integer(-9, 25) + 0.75).toFixed(4)}`,
  ],
  [/(?:time_?zone|tz)(?:_name)?s?$/u, pickFrom(distinctCityValues("timeZone"))],
  [/(?:^|_)(?:at|timestamp|date_?time|modified|updated|created|published)$/u, fromFormat("date-time")],
  [/(?:weekday|day_of_week|day_of_the_week)$/u, pickFrom(words.WEEKDAYS)],
  [/(?:^|_)month$/u, pickFrom(words.MONTHS)],
  [/(?:^|_)(?:year|season)s?$/u, (random) => String(random.integer(2_018, 2_026))],
  [/(?:date|day|deadline|expiry|expires|expiration)$|(?:^|_)(?:since|until)$/u, dateText],
  [/(?:^|_)(?:time|hour)$/u, (random) => timeText(random).slice(0, 5)],
  [
    /(?:^|_)(?:image|avatar|photo|picture|icon|thumbnail|poster)(?:_?ur[li])s?$|(?:^|_)(?:image|avatar|photo|picture|logo|icon|thumbnail|poster)$/u,
    (random) => `https://example.com/images/${random.pick(words.NOUNS)}.png`,
  ],
  [/(?:^|_)(?:url|uri|link|website|homepage|href|web|webhook)s?$/u, fromFormat("uri")],
  [/(?:^|_)(?:uuid|guid)$/u, fromFormat("uuid")],
  [
    /(?:^|_)(?:token|hash|secret|signature|checksum|digest|sha|etag|cursor|tokens)$|(?:api|access|session|rapidapi)_?key$/u,
    (random) => hexText(random, 24),
  ],
  [/(?:^|_)password$/u, fromFormat("password")],
  [/(?:^|_)(?:stock|ticker|tickers|stock_symbol|ticker_symbol|crypto|cryptocurrency|coin|symbols?|asset)$/u, ticker],
  [/(?:^|_)isbn(?:_\d+)?$/u, (random) => `978${digitsText(random, 10)}`],
  [/(?:^|_)vin$/u, (random) => `${hexText(random, 11).toUpperCase()}${digitsText(random, 6)}`],
  [/(?:^|_)(?:domain|host|host_?name|server)(?:_name)?$/u, fromFormat("hostname")],
  [/(?:language|lang)_name$|(?:^|_)spoken_language$/u, pickFrom(words.LANGUAGE_NAMES)],
  [/(?:languages?|lang)(?:_codes?)?$/u, pickFrom(words.LANGUAGES)],
  [/locale$/u, pickFrom(words.LOCALES)],
  [/(?:gender|sex)$/u, pickFrom(words.GENDERS)],
  [/(?:^|_)(?:sign|zodiac|zodiac_sign|astrological_sign|star_sign)$/u, pickFrom(words.SIGNS)],
  [/(?:^|_)sports?$/u, pickFrom(words.SPORTS)],
  [/(?:^|_)(?:league|competition|tournament)(?:_name)?$/u, pickFrom(words.LEAGUES)],
  [/(?:^|_)(?:make|maker|car_make|car_maker|car_brand)(?:_name)?$/u, pickFrom(words.CAR_MAKES)],
  [/hex_colou?r|colou?r_hex|(?:^|_)hex(?:_code)?$/u, (random) => hexText(random, 6).toUpperCase()],
  [/colou?rs?(?:_name)?$/u, pickFrom(words.COLOURS)],
  [/(?:mime|content|media)_type$/u, pickFrom(words.MIME_TYPES)],
  [/(?:condition|weather|forecast|sky)s?$/u, pickFrom(words.CONDITIONS)],
  [/(?:^|_)(?:sort|order)_?by$|(?:^|_)sort_?(?:field|key|column)$/u, pickFrom(["name", "date", "price", "relevance", "rating"])],
  [/(?:^|_)(?:sort|sort_?order|order_direction|sort_?direction|direction)$/u, pickFrom(["asc", "desc"])],
  [/(?:^|_)(?:response|output|return|file|data)_?format$/u, pickFrom(["json", "csv", "xml"])],
  [/(?:^|_)(?:interval|timeframe|time_frame)$/u, pickFrom(["1h", "4h", "1d", "1w"])],
  [/(?:^|_)music_genre$/u, pickFrom(words.GENRES)],
  [/(?:^|_)(?:temperature_units?|temp_units?)$/u, pickFrom(["celsius", "fahrenheit"])],
  [/(?:^|_)(?:distance|length|height)_units?$/u, pickFrom(["km", "m", "mi", "ft"])],
  [/(?:^|_)(?:weight|mass)_units?$/u, pickFrom(["kg", "g", "lb", "oz"])],
];

const WEAK: readonly (readonly [RegExp, TextMaker])[] = [
  [/(?:^|_)(?:start|end)$/u, (random) => timeText(random).slice(0, 5)],
  [/(?:^|_)(?:from|to)$/u, dateText],
  [/(?:^|_)(?:sku|code|serial)$/u, (random) => `${hexText(random, 2).replaceAll(/\d/gu, "K").toUpperCase()}${digitsText(random, 4)}`],
  [/duration$/u, (random) => `${random.integer(5, 90)} min`],
  [/version$/u, (random) => `${random.integer(1, 4)}.${random.integer(0, 9)}.${random.integer(0, 9)}`],
  [/(?:status|state|phase|stage)$/u, pickFrom(words.STATUSES)],
  [/(?:role|job_?title|position|occupation)$/u, pickFrom(words.ROLES)],
  [/(?:^|_)units?$/u, pickFrom(words.UNITS)],
  [/(?:^|_)genres?$/u, pickFrom(words.GENRES)],
  [/(?:type|kind|category|class|tag|group|tier|plan|method|mode|industry)$/u, pickFrom(words.CATEGORIES)],
  [
    /(?:price|amount|cost|fee|balance|total|tax|salary|rate|score|rating|(?:market|total|net|cash|book)_value|^value|distance|weight|height|temperature)$/u,
    fromFormat("decimal"),
  ],
  [/(?:count|quantity|number|num|size|index|limit|offset)$|(?:^|_)(?:age|rank|page)$/u, numbers],
  [/(?:percent|percentage)$/u, (random) => `${random.integer(1, 99)}%`],
];

const TABLES = [
  ["open", OPEN],
  ["closed", CLOSED],
  ["weak", WEAK],
] as const;

/** Returns the generator for a name, with its words joined by `_`; undefined for an unknown name. */
export function findMaker(joined: string): NamedMaker | undefined {
  for (const [certainty, table] of TABLES) {
    const found = table.find(([pattern]) => pattern.test(joined));
    if (found !== undefined) return { make: found[1], certainty };
  }
  return undefined;
}

/** Makes ids such as `order_3f9a21bc`. */
export function createIdMaker(of: string | undefined): TextMaker {
  return of === undefined ? (random) => hexText(random, 12) : (random) => `${of}_${hexText(random, 8)}`;
}

/** Makes names of projects, models and teams: `Juniper`, `Atlas 4`, `Cedar & Lumen`. */
function properName(random: RandomStream): string {
  const name = random.pick(words.PROPER_NAMES);
  const form = random.next();
  if (form < 0.3) return name;
  return form < 0.7 ? `${name} ${random.integer(2, 12)}` : `${name} & ${random.pick(words.PROPER_NAMES)}`;
}

/** A thing of the topic, or a generic name if there is no topic. */
export const makeThing: TextMaker = (random, topic) => {
  if (topic?.named === "works" && random.next() < 0.8) return workTitle(random);
  return topic === undefined ? properName(random) : random.pick(topic.things);
};

export const unixTime: TextMaker = (random) => String(Math.round(randomMoment(random) / 1_000));
