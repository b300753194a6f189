/** Reads the single array or object in a text: alone, in a code fence, in prose, or encoded as a string. */
import type { JsonValue } from "../../core/base/json.ts";
import { readDamaged, type DamagedJson } from "./damaged-reader.ts";
import { DamagedText } from "./damaged-text.ts";
import { Mends } from "./mend.ts";
import { parseSafeJson } from "./safe-json.ts";

import { Unreadable } from "./unreadable.ts";

export interface RepairedJson {
  readonly value: JsonValue;
  readonly mends: Mends;
}

const FENCE = "```";
/** A bracket, with its content if that is one word. */
const BRACKET = /[{[](?:[^\s{}[\]":,]+[}\]])?/gu;
/** Characters that occur in damaged JSON but hardly in prose. */
const STRUCTURE = /["“”„{}[\]]/u;
const MAX_ENCODINGS = 1;

/** The kind of text after a value. */
export type RestKind = "nothing" | "prose" | "structure" | "attached" | "value";

/**
 * Reads the value of a text, with all repairs that were needed.
 *
 * Strings are first read exactly. Only if that fails for the whole text are missing quotes and quotes inside strings guessed.
 *
 * @throws Unreadable if there is no value, several, or none that may be accepted
 */
export function readDamagedJson(text: string, maxDepth: number, encodings = 0): RepairedJson {
  const source = text.replace(/^\uFEFF/u, "").trim();
  const damaged = new DamagedText(source);
  const opens = isOpeningBracket(source[0]);
  const fencedFirst = /^[[{]\s{0,64}```/u.test(source);
  const exact = opens && !fencedFirst ? tryRead(damaged, { maxDepth, exactStrings: true }) : undefined;
  if (exact !== undefined && endsCleanly(damaged, exact)) return acceptWithRest(damaged, exact);
  const encoded = encodings < MAX_ENCODINGS ? readEncoded(source, maxDepth, encodings) : undefined;
  if (encoded !== undefined) return encoded;
  const guess = opens && !fencedFirst ? tryRead(damaged, { maxDepth }) : undefined;
  if (guess !== undefined && isCompleteValue(guess, exact) && endsCleanly(damaged, guess)) return acceptWithRest(damaged, guess);
  const fencedJson = readAroundFence(damaged, maxDepth);
  if (fencedJson !== undefined) return acceptWithRest(damaged, fencedJson);
  const fenced = readFenced(damaged, maxDepth, opens);
  if (fenced !== undefined) return fenced;
  const best = exact ?? guess;
  if (best !== undefined) return acceptWithRest(damaged, best);
  return readInProse(damaged, maxDepth);
}

/** Returns the kind of text after an offset. */
export function classifyRest({ source, spaces, budget }: DamagedText, end: number): RestKind {
  const at = spaces.skip(end, ",;`");
  if (at >= source.length) return "nothing";
  if (isOpeningBracket(source[at]) && (at > end || source[at] !== "(")) return "value";
  if (at === end && /[\p{L}\p{N}_$"']/u.test(source[at] ?? "")) return "attached";
  budget.spend(source.length - at);
  return STRUCTURE.test(source.slice(at)) ? "structure" : "prose";
}

interface AttemptOptions {
  readonly start?: number;
  readonly maxDepth: number;
  readonly exactStrings?: boolean;
}

/** Reads a value; undefined if another way of reading may help. */
function tryRead(text: DamagedText, options: AttemptOptions): DamagedJson | undefined {
  try {
    return readDamaged(text, options);
  } catch (thrown: unknown) {
    if (!(thrown instanceof Unreadable) || thrown.isFinal) throw thrown;
    return undefined;
  }
}

function endsCleanly(text: DamagedText, { end }: DamagedJson): boolean {
  const rest = classifyRest(text, end);
  return rest === "nothing" || rest === "prose";
}

/** Whether a value is neither cut off nor lacks its end, unless the other reading lacks its end too. */
function isCompleteValue({ mends }: DamagedJson, other: DamagedJson | undefined): boolean {
  return mends.certainty !== "cut" && (other === undefined || other.mends.has("end-missing") || !mends.has("end-missing"));
}

function acceptWithRest(text: DamagedText, { value, end, mends }: DamagedJson): RepairedJson {
  const rest = classifyRest(text, end);
  if (rest === "value") throw new Unreadable("another value follows the first", end);
  if (rest === "attached") throw new Unreadable("text directly follows the value", end);
  if (rest === "structure") mends.add("around-guess", end);
  else if (rest === "prose") mends.add(mends.has("extra-bracket") ? "around-guess" : "around", end);
  return { value, mends };
}

/** Reads JSON that is encoded as a JSON string, or whose quotes are all escaped. */
function readEncoded(source: string, maxDepth: number, encodings: number): RepairedJson | undefined {
  const quoted = source.startsWith('"') && source.endsWith('"') && source.length > 1;
  if (!quoted && !/^[{[](?:[\s{[]|\\[nrt]){0,64}\\"/u.test(source)) return undefined;
  const inner = parseSafeJson(quoted ? source : `"${source.replaceAll("\n", "\\n").replaceAll("\t", "\\t")}"`, maxDepth);
  if (typeof inner !== "string" || !isOpeningBracket(inner.trim()[0])) return undefined;
  const strict = parseSafeJson(inner, maxDepth);
  const { value, mends } = strict === undefined ? readDamagedJson(inner, maxDepth, encodings + 1) : { value: strict, mends: new Mends() };
  mends.add("encoded", 0);
  return { value, mends };
}

/** Reads the content of the first code fence. */
function readFenced(damaged: DamagedText, maxDepth: number, opens: boolean): RepairedJson | undefined {
  const { source } = damaged;
  const fence = source.indexOf(FENCE);
  if (fence < 0) return undefined;
  const [head = ""] = /^\w{0,16}\s{0,256}/u.exec(source.slice(fence + FENCE.length, fence + 300)) ?? [];
  const start = fence + FENCE.length + head.length;
  if (!isOpeningBracket(source[start])) return undefined;
  const read = tryRead(damaged, { start, maxDepth, exactStrings: true }) ?? tryRead(damaged, { start, maxDepth });
  if (read === undefined) return undefined;
  const behind = source.slice(read.end).trimStart();
  const isAlone = (behind === "" || behind.startsWith(FENCE)) && !STRUCTURE.test(behind) && !STRUCTURE.test(source.slice(0, fence));
  read.mends.add(!opens && isAlone ? "around" : "around-guess", fence);
  return { value: read.value, mends: read.mends };
}

function readInProse(damaged: DamagedText, maxDepth: number): RepairedJson {
  const { source } = damaged;
  const start = findJsonStart(source);
  if (start < 0) throw new Unreadable("there is no array or object in it", 0);
  const exact = tryRead(damaged, { start, maxDepth, exactStrings: true });
  const read =
    exact !== undefined && (endsCleanly(damaged, exact) || exact.mends.certainty === "sure")
      ? exact
      : readDamaged(damaged, { start, maxDepth });
  const meant = acceptWithRest(damaged, read);
  meant.mends.add(start > 0 && STRUCTURE.test(source.slice(0, start)) ? "around-guess" : "around", 0);
  return meant;
}

/** Reads an array or object in prose that contains the code fence in one of its strings. */
function readAroundFence(damaged: DamagedText, maxDepth: number): DamagedJson | undefined {
  const { source } = damaged;
  const fence = source.indexOf(FENCE);
  const start = source.search(/[{[]/u);
  if (start <= 0 || start > fence) return undefined;
  const read = tryRead(damaged, { start, maxDepth, exactStrings: true });
  if (read === undefined || read.end < fence || read.mends.certainty !== "sure" || !endsCleanly(damaged, read)) return undefined;
  read.mends.add(STRUCTURE.test(source.slice(0, start)) ? "around-guess" : "around", 0);
  return read;
}

/** Returns the offset of the first bracket; in prose of the first that is more than a placeholder or reference (`{name}`, `[1]`), if there is one. */
export function findJsonStart(text: string): number {
  if (isOpeningBracket(text[0])) return 0;
  const fence = text.indexOf(FENCE);
  const from = fence < 0 ? 0 : fence + FENCE.length;
  let first = -1;
  for (const { 0: bracket, index } of text.slice(from).matchAll(BRACKET)) {
    if (bracket.length === 1) return from + index;
    if (first < 0) first = from + index;
  }
  return first;
}

export function isOpeningBracket(char: string | undefined): boolean {
  return char === "{" || char === "[" || char === "(";
}
