/** Strings of a format that match patterns as well. */
import { KNOWN_FORMATS } from "../format/known-formats.ts";
import type { PatternBudget } from "../pattern/pattern.ts";
import { formatText } from "./format-text.ts";
import { patternText } from "./pattern-text.ts";
import type { RandomStream } from "./random-stream.ts";

/** Number of strings of the format, and of each pattern, that are joined; fewer if a similar string is known. */
const TRIES = 40;
const TRIES_IF_SIMILAR = 12;
/** Longer strings are not divided: the number of their parts, and the check of each, grow with the length. */
const MAX_DIVIDED = 120;
/** Maximum number of strings that are checked with the patterns. */
const MAX_CHECKS = 200;
const CHARACTERS_PER_STEP = 4;

export interface FormattedTextOptions {
  readonly format: string;
  readonly patterns: readonly string[];
  /** Whether a string has the length, and matches all patterns. */
  readonly fits: (text: string, budget: PatternBudget) => boolean;
  /** For the checks of the format and of the patterns. */
  readonly budget: PatternBudget;
}

/**
 * Returns a string that fits and is of its format, else one that fits and is like a string of its format, such as a time without its offset.
 * Undefined if neither is found, and for formats that cannot be checked.
 */
export function formattedText(options: FormattedTextOptions, random: RandomStream): string | undefined {
  const { format, patterns, fits, budget } = options;
  const isValid = KNOWN_FORMATS.get(format)?.isValid;
  if (isValid === undefined) return undefined;
  let checksLeft = MAX_CHECKS;
  const isRight = (text: string): boolean => {
    budget.spend(text.length / CHARACTERS_PER_STEP);
    return isValid(text) && --checksLeft >= 0 && fits(text, budget);
  };
  let similar: string | undefined;
  for (let attempt = 0; attempt < (similar === undefined ? TRIES : TRIES_IF_SIMILAR) && checksLeft > 0 && !budget.isUsedUp; attempt++) {
    const stream = random.branch(attempt);
    const usual = formatText(format, stream) ?? "";
    if (usual.length > MAX_DIVIDED) return undefined;
    const joined = patterns.flatMap((pattern) => joinedTexts(usual, patternText(pattern, stream, attempt % 3) ?? ""));
    const found = [usual, usual.toUpperCase(), usual.toLowerCase(), ...joined].find(isRight);
    if (found !== undefined) return found;
    similar ??= similarTexts(usual).find((text) => fits(text, budget));
  }
  return similar;
}

/** Returns the strings that begin like one of the two and end like the other, those with most of the usual one first. */
function joinedTexts(usual: string, matching: string): readonly string[] {
  if (matching.length === 0 || matching.length > MAX_DIVIDED) return [];
  const texts: string[] = [matching];
  for (let kept = usual.length; kept > 0; kept--)
    texts.push(usual.slice(0, kept) + matching, matching + usual.slice(-kept), usual.slice(0, kept) + matching.slice(kept));
  for (let kept = matching.length; kept > 0; kept--) texts.push(matching.slice(0, kept) + usual.slice(kept));
  return texts;
}

/** Returns the beginnings of a string, the longest first, and the string without its punctuation. */
function similarTexts(usual: string): readonly string[] {
  const beginnings = Array.from({ length: Math.ceil(usual.length / 2) }, (_, cut) => usual.slice(0, usual.length - 1 - cut));
  return [...beginnings, usual.replaceAll(/[^\p{L}\p{N}]/gu, "")];
}
