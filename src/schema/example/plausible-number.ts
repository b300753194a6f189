/** Generates numbers that suit a property's name and its bounds. */
import { maxOf } from "../../core/collections/push-all.ts";
import type { ParsedDescription } from "./parsed-description.ts";
import { normalizeName } from "./name-words.ts";
import type { RandomStream } from "./random-stream.ts";

/** Ranges by the words of the name, joined by `_`: from, to and decimals. The first match decides. */
const BY_NAME: readonly (readonly [RegExp, number, number, number])[] = [
  [/(?:^|_)(?:latitude|lat)(?:_coordinate)?$/u, -60, 60, 4],
  [/(?:^|_)(?:longitude|lng|lon|long)(?:_coordinate)?$/u, -170, 170, 4],
  [/(?:^|_)(?:timestamp|epoch|unix|at|ts|created|updated|modified)$/u, 1_704_067_200, 1_798_761_600, 0],
  [/(?:^|_)ids?$/u, 1_000, 99_999, 0],
  [/(?:phone|mobile|telephone)(?:_number)?$/u, 2_025_550_100, 2_025_550_199, 0],
  [/(?:year|season)$/u, 2_018, 2_026, 0],
  [/month$/u, 1, 12, 0],
  [/(?:^|_)(?:principal|loan(?:_amount)?|mortgage)$/u, 5_000, 300_000, 0],
  [/(?:^|_)(?:gross|net|base)_(?:pay|salary)$|(?:^|_)(?:monthly_(?:pay|salary|income)|paycheck)$/u, 1_900, 7_200, 2],
  [/(?:salary|income|annual_revenue|wage)$/u, 25_000, 120_000, 0],
  [/(?:^|_)(?:price_per_night|nightly_(?:rate|price)|rate_per_night|room_rate)$/u, 48, 320, 2],
  [/(?:^|_)(?:daily_rate|price_per_day|rate_per_day)$/u, 28, 140, 2],
  [/(?:^|_)(?:hourly_rate|rate_per_hour|price_per_hour)$/u, 18, 95, 2],
  [/(?:^|_)(?:rent|monthly_rent|rent_amount)$/u, 650, 2_800, 0],
  [/(?:^|_)(?:purchase_price|home_price|property_(?:price|value)|house_price)$/u, 95_000, 680_000, 0],
  [/(?:^|_)(?:tuition|tuition_fee|credit_limit)$/u, 900, 15_000, 0],
  [/(?:^|_)(?:premium|monthly_premium|deductible)$/u, 30, 400, 2],
  [/(?:^|_)(?:down_payment|deposit)$/u, 200, 9_000, 0],
  [/(?:^|_)balance$/u, 60, 6_500, 2],
  [/(?:^|_)(?:open|close|high|low)(?:_price)?$/u, 20, 190, 2],
  [/(?:^|_)credit_score$/u, 560, 820, 0],
  [/(?:^|_)systolic(?:_(?:bp|pressure|blood_pressure))?$/u, 104, 138, 0],
  [/(?:^|_)diastolic(?:_(?:bp|pressure|blood_pressure))?$/u, 64, 88, 0],
  [/(?:^|_)(?:heart_rate|pulse|pulse_rate|resting_heart_rate)$/u, 56, 98, 0],
  [/(?:^|_)(?:spo2|oxygen_saturation|oxygen_level)$/u, 94, 99, 0],
  [/(?:^|_)(?:steps|step_count)$/u, 1_800, 14_000, 0],
  [/(?:^|_)(?:calories|kcal)$/u, 80, 900, 0],
  [/(?:^|_)(?:mileage|odometer)(?:_km)?$/u, 8_000, 160_000, 0],
  [/temperature_c$|(?:^|_)temp_c$/u, -4, 32, 1],
  [/temperature_f$|(?:^|_)temp_f$/u, 25, 92, 0],
  [/(?:^|_)weight_kg$/u, 0.3, 18, 1],
  [/(?:^|_)(?:battery|battery_level|battery_percent|cpu|cpu_usage|memory_usage|disk_usage|usage_percent)$/u, 8, 96, 0],
  [/(?:^|_)(?:review_count|reviews_count|number_of_reviews|num_reviews|rating_count|ratings_count)$/u, 4, 2_600, 0],
  [/(?:^|_)(?:followers|likes|views|subscribers|downloads|plays|forks|retweets|stargazers)(?:_?count)?$/u, 12, 48_000, 0],
  [/(?:^|_)(?:follower|like|view|subscriber|download|play|star|fork|retweet|share)_count$/u, 12, 48_000, 0],
  [/(?:^|_)discount_(?:percent|percentage|pct|rate)$/u, 5, 40, 0],
  [
    /(?:^|_)(?:party_size|group_size|number_of_(?:guests|people|persons|passengers|adults)|num_(?:guests|people|passengers|adults)|pax|seats|tickets)$/u,
    1,
    6,
    0,
  ],
  [/(?:^|_)(?:children|infants|kids)$/u, 0, 3, 0],
  [/(?:^|_)(?:seats|rooms|tickets|spots|places)_(?:left|available)$|(?:^|_)available_(?:seats|rooms|tickets|spots)$/u, 1, 60, 0],
  [/(?:^|_)(?:capacity|attendees|participants|enrolled|max_participants)$/u, 8, 320, 0],
  [/(?:^|_)(?:floor|floors|storey)$/u, 1, 12, 0],
  [/(?:^|_)room_(?:number|no)$/u, 101, 420, 0],
  [/(?:^|_)(?:loan_)?(?:term|duration|tenure)_(?:in_)?months$|(?:^|_)months$/u, 6, 84, 0],
  [/(?:^|_)experience_years$|(?:^|_)years_of_experience$/u, 1, 15, 0],
  [/(?:^|_)(?:loan_)?(?:term|duration|tenure)_(?:in_)?years$|(?:^|_)years$|(?:^|_)loan_term$/u, 2, 30, 0],
  [/(?:^|_)(?:size|file_size|length)_(?:in_)?bytes$/u, 1_200, 4_800_000, 0],
  [/(?:^|_)port$/u, 3_000, 9_000, 0],
  [/(?:^|_)(?:min|minimum)_population|population_(?:min|minimum)/u, 10_000, 200_000, 0],
  [/population/u, 10_000, 5_000_000, 0],
  [/(?:^|_)(?:budget|max(?:imum)?_(?:price|budget|cost|amount)|price_max)$/u, 80, 900, 0],
  [/(?:^|_)(?:min(?:imum)?_price|price_min)$/u, 10, 80, 0],
  [/(?:^|_)zoom(?:_level)?$/u, 5, 15, 0],
  [/(?:^|_)(?:interest_rate|annual_interest_rate|tax_rate)$/u, 1, 12, 1],
  [/(?:^|_)(?:rate|exchange_rate|conversion_rate)$/u, 0.6, 1.8, 4],
  [/(?:^|_)bmi$/u, 18, 32, 1],
  [/(?:^|_)duration(?:_(?:in_)?min(?:ute)?s?)?$/u, 30, 300, 0],
  [/(?:day|days)$/u, 1, 28, 0],
  [/hours?$/u, 0, 23, 0],
  [/(?:minute|second)s?$/u, 0, 59, 0],
  [/(?:temperature|temp|feels_like)$/u, 2, 29, 1],
  [/(?:percent|percentage|humidity|progress|pct)$/u, 5, 95, 0],
  [/(?:probability|confidence|similarity|ratio|relevance)$/u, 0.05, 0.99, 2],
  [/(?:rating|stars)$/u, 2.8, 5, 1],
  [/score$/u, 1, 5, 1],
  [/(?:tax|vat|shipping|shipping_cost|fee|fees|tip|discount)$/u, 0.5, 12, 2],
  [/(?:price|amount|cost|subtotal|revenue|balance|salary|fare|rate|worth)$/u, 5, 250, 2],
  [/(?:^|_)(?:page|page_?num|page_?no|page_number|page_index)$/u, 1, 1, 0],
  [/(?:page|offset|index|rank|position)$/u, 1, 3, 0],
  [/(?:limit|page_size|per_page|size)$/u, 10, 50, 0],
  [/(?:^|_)(?:quantity|qty)$/u, 1, 8, 0],
  [/(?:total|count|number|num|stock|pages|items|results|available)$/u, 1, 40, 0],
  [/(?:^|_)(?:stops|layovers|transfers)$/u, 0, 2, 0],
  [/(?:^|_)(?:guests|passengers|adults|rooms|nights|bedrooms|bathrooms|attempts|retries|priority|level)$/u, 1, 4, 0],
  [/(?:^|_)volume$/u, 10_000, 900_000, 0],
  [/(?:^|_)age$/u, 18, 80, 0],
  [/wind_speed$/u, 2, 40, 1],
  [/(?:^|_)pressure$/u, 990, 1_030, 0],
  [/(?:distance|length|width|height|weight|depth|speed)$/u, 1, 120, 1],
  [/(?:status|status_code|code)$/u, 200, 200, 0],
];

/** Ranges by the unit in a description: a pattern for the name, from, to and decimals. */
const BY_UNIT: readonly (readonly [string, RegExp, number, number, number])[] = [
  ["celsius", /./u, -5, 32, 1],
  ["fahrenheit", /./u, 25, 95, 0],
  ["kelvin", /./u, 260, 310, 1],
  ["unix", /./u, 1_704_067_200, 1_798_761_600, 0],
  ["milliseconds", /timestamp|date|start|end|since|until|(?:^|_)time$/u, 1_704_067_200_000, 1_798_761_600_000, 0],
  ["milliseconds", /./u, 100, 5_000, 0],
  ["seconds", /./u, 5, 600, 0],
  ["minutes", /./u, 5, 120, 0],
  ["hours", /./u, 1, 24, 0],
  ["days", /./u, 1, 30, 0],
  ["years", /./u, 1, 30, 0],
  ["percent", /rate|interest|tax|growth|return|inflation|yield/u, 1, 12, 1],
  ["percent", /./u, 5, 95, 0],
  ["centimeters", /height/u, 150, 195, 0],
  ["centimeters", /./u, 5, 200, 0],
  ["meters", /height/u, 1.5, 2, 2],
  ["meters", /./u, 10, 5_000, 0],
  ["kilometers", /./u, 1, 50, 0],
  ["inches", /./u, 5, 70, 0],
  ["pixels", /./u, 200, 1_600, 0],
  ["kilograms", /./u, 45, 110, 1],
  ["pounds", /./u, 100, 220, 0],
  ["degrees", /^(?!.*(?:lat|lon|lng))/u, 0, 359, 0],
];

/** The name and description of a number. */
export interface NumberNames {
  readonly name: string;
  readonly parsedDescription: ParsedDescription;
}

type Range = readonly [from: number, to: number, decimals: number];

const MAX_KEPT = 20_000;
const rangeCache = new Map<ParsedDescription, Map<string, Range>>();
const UNKNOWN: Range = [1, 100, 2];

function getRange({ name, parsedDescription }: NumberNames): Range {
  let ranges = rangeCache.get(parsedDescription);
  if (ranges === undefined) {
    if (rangeCache.size >= MAX_KEPT) rangeCache.clear();
    rangeCache.set(parsedDescription, (ranges = new Map()));
  }
  let range = ranges.get(name);
  if (range !== undefined) return range;
  range = scaleRange(findRange(normalizeName(name), parsedDescription), parsedDescription);
  if (ranges.size >= MAX_KEPT) ranges.clear();
  ranges.set(name, range);
  return range;
}

function findRange(plain: string, { noun, unit, type }: ParsedDescription): Range {
  if (type === "boolean") return [0, 1, 0];
  const byUnit = unit === "" ? undefined : BY_UNIT.find(([one, pattern]) => one === unit && pattern.test(`${plain}_${noun}`));
  if (byUnit !== undefined) return [byUnit[2], byUnit[3], byUnit[4]];
  const found =
    BY_NAME.find(([pattern]) => pattern.test(plain)) ?? (noun === "" ? undefined : BY_NAME.find(([pattern]) => pattern.test(noun)));
  return found === undefined ? UNKNOWN : [found[1], found[2], found[3]];
}

/** Rescales the range if the default or an example has a different order of magnitude. */
function scaleRange(range: Range, { defaultValue, examples }: ParsedDescription): Range {
  const shown = Number((defaultValue ?? examples[0])?.text ?? Number.NaN);
  const [from, to] = range;
  if (!Number.isFinite(shown) || shown === 0 || (range !== UNKNOWN && shown >= from / 4 && shown <= to * 2)) return range;
  const decimals = Number.isInteger(shown) ? 0 : 2;
  return shown > 0 ? [shown < 4 ? Math.min(1, shown) : shown / 2, shown * 2, decimals] : [shown * 2, shown / 2, decimals];
}

/** Whether a number with this name and description is an integer. */
export function isIntegerByName(names: NumberNames): boolean {
  const range = getRange(names);
  return range === UNKNOWN || range[2] === 0;
}

export interface NumberBounds {
  readonly whole: boolean;
  readonly minimum: number;
  readonly maximum: number;
  /** Whether the bounds themselves are excluded. */
  readonly aboveMinimum: boolean;
  readonly belowMaximum: boolean;
  readonly multiplesOf: readonly number[];
}

/** Returns a number within the bounds; undefined if none is found with a few tries. */
export function plausibleNumber(names: NumberNames, bounds: NumberBounds, random: RandomStream): number | undefined {
  const found = numberWithin(names, bounds, random);
  return found === undefined ? undefined : found + 0; // JSON has no -0
}

function numberWithin(names: NumberNames, bounds: NumberBounds, random: RandomStream): number | undefined {
  const [from, to, decimals] = getRange(names);
  const candidate = roundTo(from + random.next() * (to - from), bounds.whole ? 0 : decimals);
  if (bounds.multiplesOf.length > 0) return findMultipleNear(candidate, bounds, random);
  if (isWithin(candidate, bounds)) return candidate;
  return drawWithin(bounds, random);
}

function isWithin(value: number, { whole, minimum, maximum, aboveMinimum, belowMaximum }: NumberBounds): boolean {
  if (whole && !Number.isInteger(value)) return false;
  return (aboveMinimum ? value > minimum : value >= minimum) && (belowMaximum ? value < maximum : value <= maximum);
}

function drawWithin(bounds: NumberBounds, random: RandomStream): number | undefined {
  const low = Number.isFinite(bounds.minimum) ? bounds.minimum : bounds.maximum - 100;
  const high = Number.isFinite(bounds.maximum) ? bounds.maximum : low + 100;
  const drawn = low + random.next() * (high - low);
  const tries = [
    roundTo(drawn, 0),
    roundTo(drawn, 2),
    drawn,
    low / 2 + high / 2,
    low,
    high,
    Math.ceil(low),
    Math.floor(low) + 1,
    Math.ceil(high) - 1,
  ];
  return tries.find((value) => Number.isFinite(value) && isWithin(value, bounds));
}

function findMultipleNear(candidate: number, bounds: NumberBounds, random: RandomStream): number | undefined {
  const step = commonMultiple(bounds.whole ? [...bounds.multiplesOf, 1] : bounds.multiplesOf);
  if (!(step > 0)) return undefined;
  const near = isWithin(candidate, bounds) ? candidate : (drawWithin({ ...bounds, whole: false }, random) ?? 0);
  const count = Math.round(near / step);
  const first = Math.ceil(bounds.minimum / step);
  const tries = [count, count + 1, count - 1, first, first + 1, Math.floor(bounds.maximum / step), 0];
  return tries.map((times) => Number((times * step).toPrecision(15))).find((value) => Number.isFinite(value) && isWithin(value, bounds));
}

/** Returns the least common multiple. Exact for integers and short decimals; else the largest step. */
function commonMultiple(steps: readonly number[]): number {
  const scale = 10 ** maxOf(steps.map(decimalsOf));
  let result = 1;
  for (const step of steps) {
    const next = Math.round(step * scale);
    result = (result / greatestCommonDivisor(result, next)) * next;
    if (!Number.isSafeInteger(result) || result === 0) return maxOf(steps);
  }
  return result / scale;
}

function decimalsOf(step: number): number {
  for (let digits = 0; digits <= 9; digits++) if (Number.isInteger(Number((step * 10 ** digits).toPrecision(15)))) return digits;
  return 9;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

function roundTo(value: number, decimals: number): number {
  const scale = 10 ** decimals;
  return Math.round(value * scale) / scale;
}
