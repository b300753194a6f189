/** Recognizes the kind of an example value by sets: 'AAPL' is a ticker, so any other ticker is possible. */
import { inferMask, formatDate } from "./date-mask.ts";
import { digitsText, formatText, hexText } from "./format-text.ts";
import { CITIES, DOLLAR_VALUES, distinctCityValues } from "./cities.ts";
import type { RandomStream } from "./random-stream.ts";
import * as words from "./words.ts";

export type Maker = (random: RandomStream) => string;

interface WordSet {
  readonly words: readonly string[];
  /** If a value is in several sets, the name of the property decides. */
  readonly names?: RegExp;
}

const CODES = distinctCityValues("code");
const SETS: readonly WordSet[] = [
  { words: words.US_STATES, names: /(?:^|_)(?:us_)?states?(?:_|$)/u },
  { words: words.LANGUAGES, names: /lang|locale|translat/u },
  { words: words.US_STATE_NAMES, names: /(?:^|_)(?:us_)?states?(?:_|$)/u },
  { words: [...new Set([...CODES, ...words.COUNTRY_CODES])] },
  { words: words.LANGUAGES },
  { words: distinctCityValues("code3") },
  { words: [...DOLLAR_VALUES.keys()] },
  { words: [...new Set([...distinctCityValues("airport"), ...words.AIRPORTS])] },
  { words: words.TICKERS },
  { words: words.COINS },
  { words: words.COIN_NAMES },
  { words: words.CURRENCY_PAIRS },
  { words: words.COIN_PAIRS },
  { words: distinctCityValues("timeZone") },
  { words: distinctCityValues("city") },
  { words: distinctCityValues("country") },
  { words: words.WEEKDAYS },
  { words: words.MONTHS },
  { words: words.LANGUAGE_NAMES },
  { words: words.LOCALES },
  { words: words.COLOURS },
  { words: words.SPORTS },
  { words: words.GENRES },
];
const EXACT = indexWords((word) => word);
const LOWER = indexWords((word) => word.toLowerCase());

function indexWords(toKey: (word: string) => string): ReadonlyMap<string, readonly WordSet[]> {
  const index = new Map<string, WordSet[]>();
  for (const set of SETS)
    for (const word of set.words) {
      const sets = index.get(toKey(word));
      if (sets === undefined) index.set(toKey(word), [set]);
      else if (!sets.includes(set)) sets.push(set);
    }
  return index;
}

/** Returns a maker of values like the example; undefined if its kind is unknown. @param name of the property, its words joined by `_` */
export function makerLikeExample(example: string, name: string): Maker | undefined {
  const exact = chooseSet(EXACT.get(example), name);
  if (exact !== undefined) return (random) => random.pick(exact.words);
  const applyCase = detectCase(example);
  const folded =
    applyCase === undefined ? undefined : chooseSet(LOWER.get(example.toLowerCase().replaceAll(/[-_]/gu, (mark) => mark)), name);
  if (folded !== undefined && applyCase !== undefined) return (random) => applyCase(random.pick(folded.words));
  return findShapeMaker(example);
}

function chooseSet(sets: readonly WordSet[] | undefined, name: string): WordSet | undefined {
  return sets?.find(({ names }) => names?.test(name) === true) ?? sets?.find(({ names }) => names === undefined);
}

function detectCase(example: string): ((text: string) => string) | undefined {
  if (example === example.toLowerCase()) return (text) => text.toLowerCase();
  return example === example.toUpperCase() ? (text) => text.toUpperCase() : undefined;
}

function findShapeMaker(example: string): Maker | undefined {
  const mask = inferMask(example);
  if (mask !== undefined) return (random) => formatDate(mask, randomMoment(random));
  const found = SHAPES.find(([pattern]) => pattern.test(example));
  return found?.[1];
}

/** Returns a time from 2024 to 2026, at a full five minutes. */
export function randomMoment(random: RandomStream): number {
  const day = Date.UTC(random.integer(2024, 2026), random.integer(0, 11), random.integer(1, 28));
  return day + (random.integer(7, 21) * 60 + random.integer(0, 11) * 5) * 60_000;
}

const format =
  (name: string): Maker =>
  (random) =>
    formatText(name, random) ?? "";
const HEX_COLOUR: Maker = (random) => hexText(random, 6).toUpperCase();
const SHAPES: readonly (readonly [RegExp, Maker])[] = [
  [/^[\w.+-]+@[\w-]+\.\w+/u, format("email")],
  [/^(?:\d{1,3}\.){3}\d{1,3}$/u, format("ipv4")],
  [/^[0-9a-f]{8}-[0-9a-f]{4}-/iu, format("uuid")],
  [/^#[0-9a-f]{6}$/iu, (random) => `#${HEX_COLOUR(random)}`],
  [/^(?=.*\d)[0-9A-F]{6}$|^F{6}$/u, HEX_COLOUR],
  [/^(?:19|20)\d\d$/u, (random) => String(random.integer(2_018, 2_026))],
  [/^1[5-8]\d{8}$/u, (random) => String(random.integer(1_704_067_200, 1_798_761_600))],
  [/^1[5-8]\d{11}$/u, (random) => String(random.integer(1_704_067_200, 1_798_761_600) * 1_000)],
];

/** Returns another id of the same form: other digits for digits; if it is a hash, any hash. */
export function similarId(example: string, random: RandomStream): string {
  if (/^(?=.*\d)(?=.*[a-f])[0-9a-f]{8,64}$/u.test(example)) return hexText(random, example.length);
  return example.replaceAll(/\d+/gu, (digits) => (digits.length > 18 ? digits : digitsText(random, digits.length)));
}

export function randomZipCode(random: RandomStream): string {
  return random.pick(CITIES).zip.replaceAll("#", () => String(random.integer(0, 9)));
}
