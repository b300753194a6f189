/** Generates strings that match patterns, formats and lengths, and suit the name if possible. */
import type { PatternBudget } from "../pattern/pattern.ts";
import { KNOWN_FORMATS } from "../format/known-formats.ts";
import { formatText, shortFormatText } from "./format-text.ts";
import { formattedText } from "./formatted-text.ts";
import { longFormatText } from "./long-format-text.ts";
import { patternText } from "./pattern-text.ts";
import { type TextNames, plausibleText } from "./plausible-text.ts";
import type { RandomStream } from "./random-stream.ts";

export interface StringBounds {
  readonly minLength: number;
  readonly maxLength: number;
  readonly patterns: readonly string[];
  readonly format: string | undefined;
}

/** Maximum length of a generated string. */
const MAX_LENGTH = 100_000;
const PATTERN_TRIES = 12;

/** Budgets for the texts of one example. */
export interface TextBudget {
  /** For the patterns of strings and property names. */
  readonly patterns: PatternBudget;
  /** For strings of a format that match patterns as well; a string only matches the patterns when it is used up. */
  readonly formats: PatternBudget;
}

/** Returns a string within the bounds; undefined if none is found. Lengths count code points. */
export function plausibleString(bounds: StringBounds, names: TextNames, random: RandomStream, budget: TextBudget): string | undefined {
  const { minLength, maxLength, patterns, format } = bounds;
  if (minLength > maxLength || minLength > MAX_LENGTH) return undefined;
  const plain = (format === undefined ? undefined : textOfFormat(format, bounds, random)) ?? plausibleText(names, random);
  const fitted = toLength(plain, minLength, maxLength);
  if (patterns.length === 0) return fitted;
  const fits = (text: string, from: PatternBudget = budget.patterns): boolean =>
    isLength(text, minLength, maxLength) && patterns.every((pattern) => from.matches(pattern, text));
  const isFitting = fits(fitted);
  if (isFitting && fitsFormat(fitted, format)) return fitted;
  const formatted =
    format === undefined ? undefined : formattedText({ format, patterns, fits, budget: budget.formats }, random.branch("format"));
  return formatted ?? (isFitting ? fitted : generateFromPatterns(bounds, random, (text) => fits(text)));
}

/** Whether a string is of the format; true for formats that cannot be checked. */
function fitsFormat(text: string, format: string | undefined): boolean {
  return format === undefined || KNOWN_FORMATS.get(format)?.isValid(text) !== false;
}

function textOfFormat(format: string, { minLength, maxLength }: StringBounds, random: RandomStream): string | undefined {
  const text = formatText(format, random);
  if (text === undefined) return undefined;
  const length = lengthOf(text);
  if (length > maxLength) return shortFormatText(format, maxLength, random) ?? text;
  return length < minLength ? (longFormatText(format, minLength, random) ?? text) : text;
}

function generateFromPatterns(
  { patterns, minLength, maxLength }: StringBounds,
  random: RandomStream,
  fits: (text: string) => boolean,
): string | undefined {
  const generosities = [2, 0, 1, 5, minLength, Math.ceil(minLength / 2), 12];
  for (let attempt = 0; attempt < PATTERN_TRIES; attempt++) {
    const generosity = Math.min(generosities[attempt % generosities.length] ?? 0, MAX_LENGTH);
    for (const pattern of patterns) {
      const text = patternText(pattern, random, generosity);
      if (text === undefined) continue;
      const fitting = [text, toLength(text, minLength, maxLength), toLengthInFront(text, minLength)].find(fits);
      if (fitting !== undefined) return fitting;
    }
  }
  for (const pattern of patterns) {
    const fitting = lengthenedTexts(pattern, minLength, random).find(fits);
    if (fitting !== undefined) return fitting;
  }
  return undefined;
}

/** Returns texts of a pattern with as many repetitions as the length needs. */
function lengthenedTexts(pattern: string, minLength: number, random: RandomStream): readonly string[] {
  const shortest = lengthOf(patternText(pattern, random, 0, { isExact: true }) ?? "");
  const step = lengthOf(patternText(pattern, random, 1, { isExact: true }) ?? "") - shortest;
  if (step <= 0) return [];
  const extra = Math.min(Math.max(0, Math.ceil((minLength - shortest) / step)), MAX_LENGTH);
  return [0, 1, 2].flatMap(() => patternText(pattern, random, extra, { isExact: true }) ?? []);
}

function isLength(text: string, minLength: number, maxLength: number): boolean {
  const length = lengthOf(text);
  return length >= minLength && length <= maxLength;
}

function lengthOf(text: string): number {
  return Array.from(text).length;
}

function toLengthInFront(text: string, minLength: number): string {
  const missing = minLength - lengthOf(text);
  return missing > 0 ? toLength("", missing, missing) + text : text;
}

function toLength(text: string, minLength: number, maxLength: number): string {
  const length = lengthOf(text);
  if (length > maxLength) return Array.from(text).slice(0, maxLength).join("");
  return length < minLength
    ? text + "abcdefghijklmnopqrstuvwxyz".repeat(Math.ceil((minLength - length) / 26)).slice(0, minLength - length)
    : text;
}
