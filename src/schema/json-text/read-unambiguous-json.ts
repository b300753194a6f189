/** Reads damaged JSON for callers that accept a value only if no other can be meant, or that need the places of values. */
import { DEFAULT_MAX_DEPTH, type JsonValue } from "../../core/base/json.ts";
import { readDamaged, type DamagedJson, type DamagedJsonOptions } from "./damaged-reader.ts";
import { isQuote } from "./damaged-string.ts";
import { DamagedText, MAX_DAMAGED_CHARS } from "./damaged-text.ts";
import { readWord } from "./damaged-word.ts";
import { MENDS, type Mends } from "./mend.ts";
import { Outline } from "./outline.ts";
import { copySafeJson } from "./safe-json.ts";
import { isOpeningBracket } from "./read-damaged-json.ts";
import { Unreadable } from "./unreadable.ts";

export interface UnambiguousJson {
  /** Deeply frozen. */
  readonly value: JsonValue;
  /** A description of the repair, for people. */
  readonly note: string;
}

/** Returns the value of a whole text that is not strict JSON but can only mean this value; else undefined. */
export function readUnambiguousJson(text: string): UnambiguousJson | undefined {
  const source = text.trim();
  if (!isOpeningBracket(source[0])) return undefinedIfUnreadable(() => readUnambiguousScalar(source));
  const read = readWholeText(source, { maxDepth: DEFAULT_MAX_DEPTH, exactStrings: true });
  if (read?.mends.certainty !== "sure") return undefined;
  const value = copySafeJson(read.value, DEFAULT_MAX_DEPTH);
  return value === undefined ? undefined : { value, note: read.mends.describe() };
}

function readUnambiguousScalar(source: string): UnambiguousJson | undefined {
  if (!isQuote(source[0] ?? "")) {
    const word = readWord(source, 0);
    if (word === undefined) return undefined;
    const info = word.mend === undefined ? undefined : MENDS[word.mend];
    return info?.certainty === "guess" ? undefined : { value: word.value, note: info?.note ?? "" };
  }
  const read = new DamagedText(source).strings.readExact(0);
  if (read?.end !== source.length || read.mends.some((kind) => MENDS[kind].certainty !== "sure")) return undefined;
  return { value: read.text, note: read.mends.map((kind) => MENDS[kind].note).join(", ") };
}

export interface OutlinedJson {
  /** The last of duplicate keys wins; numbers that would lose digits are strings. */
  readonly value: JsonValue;
  readonly mends: Mends;
  readonly outline: Outline;
  /** The text that the outline's offsets refer to. */
  readonly source: string;
}

/** Reads an array or object with the places of its values, even with values that must not be accepted; undefined if it is incomplete. */
export function readOutline(text: string): OutlinedJson | undefined {
  const source = text.trim();
  if (!isOpeningBracket(source[0])) return undefined;
  const exact = new Outline();
  const read = readWholeText(source, { exactStrings: true, outline: exact });
  if (read !== undefined) return { value: read.value, mends: read.mends, outline: exact, source };
  if (source.length > MAX_DAMAGED_CHARS) return undefined;
  const outline = new Outline();
  const guess = readWholeText(source, { outline });
  return guess === undefined ? undefined : { value: guess.value, mends: guess.mends, outline, source };
}

function readWholeText(source: string, options: DamagedJsonOptions): DamagedJson | undefined {
  const text = new DamagedText(source);
  const read = undefinedIfUnreadable(() => readDamaged(text, options));
  return read !== undefined && text.spaces.skip(read.end, ",;") >= source.length ? read : undefined;
}

function undefinedIfUnreadable<T>(read: () => T | undefined): T | undefined {
  try {
    return read();
  } catch (thrown: unknown) {
    if (thrown instanceof Unreadable) return undefined;
    throw thrown;
  }
}
