/** Texts that fit what a property is called and how it is described. */
import { dateText, digitsText, formatText, hexText, phoneText, timeText } from "./format-text.ts";
import { nameWords } from "./name-words.ts";
import type { RandomStream } from "./random-stream.ts";
import * as words from "./words.ts";

type TextMaker = (random: RandomStream) => string;

const from =
  (list: readonly string[]): TextMaker =>
  (random) =>
    random.pick(list);
const format =
  (name: string): TextMaker =>
  (random) =>
    formatText(name, random) ?? "";
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const phrase: TextMaker = (random) => `${capital(random.pick(words.ADJECTIVES))} ${random.pick(words.NOUNS)}`;
const person: TextMaker = (random) => `${random.pick(words.FIRST_NAMES)} ${random.pick(words.LAST_NAMES)}`;
const reference: TextMaker = (random) => hexText(random, 12);
const dateTime = format("date-time");

/** By the words of the name, joined by `_`; the first that fits decides. */
const BY_NAME: readonly (readonly [RegExp, TextMaker])[] = [
  [/(?:^|_)e?_?mail(?:_address)?$/u, format("email")],
  [/(?:^|_)(?:message|mail|msg)_(?:from|to)$/u, format("email")],
  [/(?:^|_)(?:birth_?date|date_of_birth|dob|birthday)$/u, (random) => `${random.integer(1960, 2004)}${dateText(random).slice(4)}`],
  [/(?:^|_)(?:priority|severity|urgency)$/u, from(words.PRIORITIES)],
  [/(?:^|_)amenit(?:y|ies)$/u, from(words.AMENITIES)],
  [/(?:^|_)ts$/u, (random) => `${random.integer(1_704_067_200, 1_798_761_600)}.${digitsText(random, 6)}`],
  [/(?:^|_)(?:ip|ip_?address)$/u, format("ipv4")],
  [/(?:^|_)(?:first|given|fore)_?name$/u, from(words.FIRST_NAMES)],
  [/(?:^|_)(?:last|family|sur)_?name$/u, from(words.LAST_NAMES)],
  [/(?:^|_)(?:user_?name|login|handle|nick_?name)$/u, (random) => `${random.pick(words.NOUNS)}${random.integer(1, 99)}`],
  [/(?:^|_)(?:created|updated|assigned|requested|reported|opened|closed|approved|submitted|booked|sent)_(?:by|to)$/u, person],
  [/(?:^|_)flight_(?:number|no|code)$/u, (random) => `${random.pick(words.CARRIER_CODES)}${digitsText(random, 3)}`],
  [/(?:^|_)iban$/u, (random) => `XX${digitsText(random, 18)}`],
  [/(?:^|_)(?:account|card|routing)_(?:number|no)$/u, (random) => digitsText(random, 10)],
  [/(?:^|_)(?:gate|seat)$/u, (random) => `${random.pick(["A", "B", "C"])}${random.integer(1, 30)}`],
  [/(?:^|_)terminal$/u, (random) => String(random.integer(1, 4))],
  [/(?:^|_)sunrise$/u, (random) => `0${random.integer(5, 7)}:${random.integer(10, 59)}`],
  [/(?:^|_)sunset$/u, (random) => `${random.integer(17, 21)}:${random.integer(10, 59)}`],
  [/(?:^|_)(?:file_?name|file)$/u, (random) => `${random.pick(words.NOUNS)}.txt`],
  [/(?:^|_)(?:path|directory|folder)$/u, (random) => `/${random.pick(words.NOUNS)}/${random.pick(words.NOUNS)}.txt`],
  [
    /(?:company|organi[sz]ation|brand|vendor|employer|publisher|manufacturer|merchant|supplier|provider)(?:_name)?$/u,
    from(words.COMPANIES),
  ],
  [/(?:city|town)(?:_name)?$/u, from(words.CITIES)],
  [/(?:country|nationality|market|region)_?(?:code|iso)$|(?:^|_)iso(?:_?2)?$/u, from(words.COUNTRY_CODES)],
  [/country(?:_name)?$|^nation$|^pays$/u, from(words.COUNTRIES)],
  [/currency(?:_code)?$/u, from(words.CURRENCIES)],
  [/(?:airport|iata)(?:_code)?$/u, from(words.AIRPORTS)],
  [/(?:airline|carrier)(?:_name)?$/u, from(words.CARRIERS)],
  [
    /(?:full_?name|author|customer|owner|person|contact|recipient|sender|assignee|attendee|requester|submitter|organi[sz]er|participant|reviewer|creator|reporter|client|holder|buyer|seller|manager|invitee|speaker|traveler|traveller|patient|doctor|teacher|artist|player|director|actor|driver|guest|passenger|user|member|employee|student)(?:_name)?$/u,
    person,
  ],
  [/(?:phone|mobile|fax|telephone|cell)(?:_?number)?$/u, phoneText],
  [
    /(?:^|_)(?:pnr|record_locator|reference|ref|confirmation|[a-z]+_number)$/u,
    (random) => `${hexText(random, 2).toUpperCase()}${digitsText(random, 6)}`,
  ],
  [/(?:zip|postal|post)_?(?:code)?$/u, (random) => digitsText(random, 5)],
  [/(?:street|address)(?:_?(?:line|name))?(?:_?\d)?$/u, (random) => `${random.integer(1, 120)} ${random.pick(words.STREETS)}`],
  [/(?:origin|destination|departure|arrival|location|place|venue)(?:_name)?$/u, from(words.CITIES)],
  [/(?:province|region|county|district)(?:_name)?$/u, from(words.REGIONS)],
  [/(?:^|_)(?:latitude|lat)$/u, (random) => (random.integer(-60, 60) + 0.25).toFixed(4)],
  [/(?:^|_)(?:longitude|lng|lon)$/u, (random) => (random.integer(-170, 170) + 0.75).toFixed(4)],
  [/(?:time_?zone|tz)$/u, from(words.TIME_ZONES)],
  [/(?:^|_)(?:at|timestamp|date_?time|modified|updated|created|published)$/u, dateTime],
  [/(?:weekday|day_of_week)$/u, from(words.WEEKDAYS)],
  [/(?:^|_)month$/u, from(words.MONTHS)],
  [/(?:^|_)year$/u, (random) => String(random.integer(2_024, 2_026))],
  [/(?:date|day|deadline|expiry|expires|expiration)$|(?:^|_)(?:since|until|from|to)$/u, dateText],
  [/(?:^|_)(?:time|hour|start|end)$/u, (random) => timeText(random).slice(0, 5)],
  [/duration$/u, (random) => `${random.integer(5, 90)} min`],
  [
    /(?:^|_)(?:image|avatar|photo|picture|logo|icon|thumbnail|poster)(?:_?url)?$/u,
    (random) => `https://example.com/images/${random.pick(words.NOUNS)}.png`,
  ],
  [/(?:^|_)(?:url|uri|link|website|homepage|href|web|webhook)$/u, format("uri")],
  [/(?:^|_)(?:uuid|guid)$/u, format("uuid")],
  [
    /(?:^|_)(?:token|hash|secret|signature|checksum|digest|sha|etag|cursor)$|(?:api|access|session)_?key$/u,
    (random) => hexText(random, 24),
  ],
  [
    /(?:^|_)(?:sku|code|symbol|ticker|isbn|serial)$/u,
    (random) => `${hexText(random, 2).replaceAll(/\d/gu, "K").toUpperCase()}${digitsText(random, 4)}`,
  ],
  [/(?:^|_)(?:domain|host|host_?name|server)$/u, format("hostname")],
  [/version$/u, (random) => `${random.integer(1, 4)}.${random.integer(0, 9)}.${random.integer(0, 9)}`],
  [/colou?r$/u, from(words.COLOURS)],
  [/(?:language|lang)(?:_code)?$/u, from(words.LANGUAGES)],
  [/locale$/u, (random) => `${random.pick(words.LANGUAGES)}-${random.pick(words.COUNTRY_CODES)}`],
  [/(?:gender|sex)$/u, from(words.GENDERS)],
  [/(?:status|state|phase|stage)$/u, from(words.STATUSES)],
  [/(?:role|job_?title|position|occupation)$/u, from(words.ROLES)],
  [/(?:condition|weather|forecast|sky)s?$/u, from(words.CONDITIONS)],
  [/(?:mime|content|media)_?type$/u, from(words.MIME_TYPES)],
  [/(?:^|_)units?$/u, from(words.UNITS)],
  [/(?:type|kind|category|genre|class|tag|topic|group|tier|plan|method|mode|industry)$/u, from(words.CATEGORIES)],
  [
    /(?:description|summary|content|text|body|message|note|comment|review|snippet|details?|abstract|bio|info|reason|answer|explanation|overview)s?$/u,
    from(words.SENTENCES),
  ],
  [/(?:price|amount|cost|fee|balance|total|tax|salary|rate|score|rating|value|distance|weight|height|temperature)$/u, format("decimal")],
  [/(?:count|quantity|number|num|size|age|index|rank|page|limit)$/u, (random) => String(random.integer(1, 50))],
  [/(?:percent|percentage)$/u, (random) => `${random.integer(1, 99)}%`],
];

const MAX_DESCRIPTION = 300;

/** By the description, where it says how the text looks. */
const BY_DESCRIPTION: readonly (readonly [RegExp, TextMaker])[] = [
  [/%Y-%m-%d[ T]%H:%M|YYYY-MM-DD[ T]HH:MM/iu, (random) => `${dateText(random)} ${timeText(random)}`],
  [/%Y-%m-%d|YYYY-MM-DD/iu, dateText],
  [/%H:%M:%S|HH:MM:SS/iu, timeText],
  [/%H:%M|HH:MM/iu, (random) => timeText(random).slice(0, 5)],
  [/ISO[ -]?8601/iu, dateTime],
  [/\bURL\b/u, format("uri")],
];

const MAX_KEPT = 5_000;
const kept = new Map<string, TextMaker>();

/** A text for a property of this name; never empty. */
export function plausibleText(name: string, description: string, random: RandomStream): string {
  const told = description.slice(0, MAX_DESCRIPTION);
  const key = `${name}\n${told}`;
  let maker = kept.get(key);
  if (maker === undefined) {
    maker = makerFor(nameWords(name), told);
    if (kept.size >= MAX_KEPT) kept.clear();
    if (key.length < 2 * MAX_DESCRIPTION) kept.set(key, maker);
  }
  return maker(random);
}

function makerFor(named: readonly string[], description: string): TextMaker {
  const choice = /^["']?(\w{2,20})["']? or ["']?(\w{2,20})["']?\.?$/u.exec(description.trim());
  if (choice !== null) return () => choice[1] ?? "";
  const byDescription = BY_DESCRIPTION.find(([pattern]) => pattern.test(description));
  if (byDescription !== undefined) return byDescription[1];
  const joined = named.join("_");
  const last = named.at(-1);
  if (last === "id" || last === "ids") {
    const of = named.at(-2);
    return of === undefined ? reference : (random) => `${of}_${hexText(random, 8)}`;
  }
  return BY_NAME.find(([pattern]) => pattern.test(joined))?.[1] ?? phrase;
}
