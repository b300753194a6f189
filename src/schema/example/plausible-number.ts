/** Numbers that fit what a property is called, and its bounds. */
import { plainName } from "./name-words.ts";
import type { RandomStream } from "./random-stream.ts";

/** By the words of the name, joined by `_`: from, to and decimals. The first that fits decides. */
const BY_NAME: readonly (readonly [RegExp, number, number, number])[] = [
  [/(?:^|_)(?:latitude|lat)$/u, -60, 60, 4],
  [/(?:^|_)(?:longitude|lng|lon)$/u, -170, 170, 4],
  [/(?:^|_)(?:timestamp|epoch|unix|at|ts|created|updated|modified)$/u, 1_704_067_200, 1_798_761_600, 0],
  [/(?:^|_)ids?$/u, 1_000, 99_999, 0],
  [/year$/u, 2_024, 2_026, 0],
  [/month$/u, 1, 12, 0],
  [/(?:^|_)duration(?:_(?:in_)?min(?:ute)?s?)?$/u, 30, 300, 0],
  [/(?:day|days)$/u, 1, 28, 0],
  [/hours?$/u, 0, 23, 0],
  [/(?:minute|second)s?$/u, 0, 59, 0],
  [/(?:temperature|temp|feels_like)$/u, 2, 29, 1],
  [/(?:percent|percentage|humidity|progress|pct)$/u, 5, 95, 0],
  [/(?:probability|confidence|similarity|ratio|relevance)$/u, 0.05, 0.99, 2],
  [/(?:rating|stars|score)$/u, 1, 5, 1],
  [/(?:tax|vat|shipping|shipping_cost|fee|fees|tip|discount)$/u, 0.5, 12, 2],
  [/(?:price|amount|cost|subtotal|revenue|balance|salary|fare|rate|worth)$/u, 5, 250, 2],
  [/(?:page|offset|page_number|index|rank|position)$/u, 1, 3, 0],
  [/(?:limit|page_size|per_page|size)$/u, 10, 50, 0],
  [/(?:total|count|quantity|qty|number|num|stock|pages|items|results|available)$/u, 1, 40, 0],
  [/(?:^|_)(?:stops|layovers|transfers)$/u, 0, 2, 0],
  [/(?:^|_)(?:guests|passengers|adults|rooms|nights|bedrooms|bathrooms|attempts|retries|priority|level)$/u, 1, 4, 0],
  [/(?:^|_)volume$/u, 10_000, 900_000, 0],
  [/(?:^|_)age$/u, 18, 80, 0],
  [/wind_speed$/u, 2, 40, 1],
  [/(?:^|_)pressure$/u, 990, 1_030, 0],
  [/(?:distance|length|width|height|weight|depth|speed)$/u, 1, 120, 1],
  [/(?:status|status_code|code)$/u, 200, 200, 0],
];

const MAX_KEPT = 5_000;
const kept = new Map<string, readonly [from: number, to: number, decimals: number]>();

function rangeFor(name: string): readonly [number, number, number] {
  const known = kept.get(name);
  if (known !== undefined) return known;
  const plain = plainName(name);
  const found = BY_NAME.find(([pattern]) => pattern.test(plain));
  const range = found === undefined ? ([1, 100, 2] as const) : ([found[1], found[2], found[3]] as const);
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(name, range);
  return range;
}

export interface NumberBounds {
  readonly whole: boolean;
  readonly minimum: number;
  readonly maximum: number;
  /** The bounds themselves are excluded. */
  readonly aboveMinimum: boolean;
  readonly belowMaximum: boolean;
  readonly multiplesOf: readonly number[];
}

/** A number within the bounds, where there is one that is easily found; undefined where there is none. */
export function plausibleNumber(name: string, bounds: NumberBounds, random: RandomStream): number | undefined {
  const found = numberWithin(name, bounds, random);
  return found === undefined ? undefined : found + 0; // JSON has no -0
}

function numberWithin(name: string, bounds: NumberBounds, random: RandomStream): number | undefined {
  const [from, to, decimals] = rangeFor(name);
  const wished = roundTo(from + random.next() * (to - from), bounds.whole ? 0 : decimals);
  if (bounds.multiplesOf.length > 0) return multipleNear(wished, bounds, random);
  if (isWithin(wished, bounds)) return wished;
  return within(bounds, random);
}

function isWithin(value: number, { whole, minimum, maximum, aboveMinimum, belowMaximum }: NumberBounds): boolean {
  if (whole && !Number.isInteger(value)) return false;
  return (aboveMinimum ? value > minimum : value >= minimum) && (belowMaximum ? value < maximum : value <= maximum);
}

function within(bounds: NumberBounds, random: RandomStream): number | undefined {
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

function multipleNear(wished: number, bounds: NumberBounds, random: RandomStream): number | undefined {
  const step = commonMultiple(bounds.whole ? [...bounds.multiplesOf, 1] : bounds.multiplesOf);
  if (!(step > 0)) return undefined;
  const near = isWithin(wished, bounds) ? wished : (within({ ...bounds, whole: false }, random) ?? 0);
  const count = Math.round(near / step);
  const first = Math.ceil(bounds.minimum / step);
  const tries = [count, count + 1, count - 1, first, first + 1, Math.floor(bounds.maximum / step), 0];
  return tries.map((times) => Number((times * step).toPrecision(15))).find((value) => Number.isFinite(value) && isWithin(value, bounds));
}

/** Exact for whole numbers and short decimals; otherwise the largest. */
function commonMultiple(steps: readonly number[]): number {
  const scale = 10 ** Math.max(...steps.map(decimalsOf));
  let result = 1;
  for (const step of steps) {
    const next = Math.round(step * scale);
    result = (result / divisor(result, next)) * next;
    if (!Number.isSafeInteger(result) || result === 0) return Math.max(...steps);
  }
  return result / scale;
}

function decimalsOf(step: number): number {
  for (let digits = 0; digits <= 9; digits++) if (Number.isInteger(Number((step * 10 ** digits).toPrecision(15)))) return digits;
  return 9;
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b);
}

function roundTo(value: number, decimals: number): number {
  const scale = 10 ** decimals;
  return Math.round(value * scale) / scale;
}
