/** Truncates a tool's answer to the size that a model is shown, keeping its JSON structure if it has one. */
import { detachText } from "../../core/base/detach-text.ts";
import type { ContentPart } from "../../core/content.ts";
import { readFileData } from "../../core/formats/data-uri.ts";
import { DEFAULT_MAX_DEPTH, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { plural } from "../../core/base/wording.ts";
import { withCachedJsonText } from "../../core/base/cached-json-text.ts";
import { partText } from "../../core/result.ts";

export interface ShownResult {
  readonly output: JsonValue | undefined;
  readonly content: readonly ContentPart[] | undefined;
  /** UTF-8 bytes of the whole text. Exact if it was cut, an upper bound if not, 0 if there is no limit. */
  readonly totalBytes: number;
  /** UTF-8 bytes of the text that is left, without the note. */
  readonly shownBytes: number;
  readonly cut: boolean;
}

/** Key of the note in a truncated object. */
const NOTE_KEY = "[cut]";
/** Key of the count of members that a truncated object lost. */
const MORE_KEY = "[more]";
/** A value is not cut below this many bytes but replaced by a marker that describes it; also the space reserved for such a marker. */
const MIN_SHARE = 64;
/** Largest file that is shown; a larger one is only named, since not every provider accepts it with each later request. */
const MAX_FILE_BYTES = 4_500_000;
const MAX_MENTION_LENGTH = 300;
/** Content is not cut for fewer bytes than a note has, or a sixteenth of the limit if that is less. */
const NOTE_BYTES = 256;

/**
 * Limits a result to `maxBytes` UTF-8 bytes; 0 = no limit.
 *
 * Text keeps its beginning, up to a whole code point. Objects keep all small members and the beginning of large ones, arrays keep their first
 * items; markers name what is missing, so the value stays JSON. If even that does not fit, the beginning of the JSON text is shown. A note
 * with the number of bytes left out and `readHint` is added on top of `maxBytes`. So content that is larger by no more than a note stays whole: a
 * server of Haft has cut it to the same limit, and its end is the server's note. If there is content, the model reads only that, so `output`
 * stays whole; images, audio and files with their bytes up to 4.5 MB are kept, and a larger file is replaced by its name, type and size.
 */
export function truncateResult(
  output: JsonValue | undefined,
  content: readonly ContentPart[] | undefined,
  maxBytes: number,
  readHint: (totalBytes: number) => string,
): ShownResult {
  if (maxBytes <= 0) return wholeResult(output, content, 0);
  if (content !== undefined) return truncateContent(output, content, maxBytes, readHint);
  if (output === undefined) return wholeResult(output, content, 0);
  return typeof output === "string" ? truncateText(output, output, maxBytes, readHint) : truncateJson(output, maxBytes, readHint);
}

function wholeResult(output: JsonValue | undefined, content: readonly ContentPart[] | undefined, bytes: number): ShownResult {
  return { output, content, totalBytes: bytes, shownBytes: bytes, cut: false };
}

/** Truncates a text. `text` is `output` as the model reads it. */
function truncateText(output: JsonValue, text: string, maxBytes: number, readHint: (totalBytes: number) => string): ShownResult {
  if (text.length * 3 <= maxBytes) return wholeResult(output, undefined, text.length * 3);
  const totalBytes = Buffer.byteLength(text);
  if (totalBytes <= maxBytes) return wholeResult(output, undefined, totalBytes);
  const head = truncateStart(text, maxBytes, false);
  const shownBytes = Buffer.byteLength(head);
  return { output: `${head}\n${formatNote(shownBytes, totalBytes, readHint)}`, content: undefined, totalBytes, shownBytes, cut: true };
}

function truncateJson(output: JsonValue, maxBytes: number, readHint: (totalBytes: number) => string): ShownResult {
  const bound = jsonBytes(output, maxBytes, false);
  if (bound <= maxBytes) return wholeResult(output, undefined, bound);
  const text = JSON.stringify(output);
  const totalBytes = Buffer.byteLength(text);
  if (totalBytes <= maxBytes) return wholeResult(output, undefined, totalBytes);
  return withCachedJsonText(output, text, () => cutJson(output, { text, totalBytes }, maxBytes, readHint));
}

function cutJson(
  output: JsonValue,
  { text, totalBytes }: { readonly text: string; readonly totalBytes: number },
  maxBytes: number,
  readHint: (totalBytes: number) => string,
): ShownResult {
  const kept = shrink(output, maxBytes, 0);
  const shownBytes = Buffer.byteLength(JSON.stringify(kept));
  if (shownBytes > maxBytes || typeof kept !== "object" || kept === null) return truncateText(output, text, maxBytes, readHint);
  const cutNote = formatNote(shownBytes, totalBytes, readHint);
  const shown = isJsonObject(kept) ? { ...kept, [NOTE_KEY]: cutNote } : [...kept, cutNote];
  return { output: shown, content: undefined, totalBytes, shownBytes, cut: true };
}

function truncateContent(
  output: JsonValue | undefined,
  content: readonly ContentPart[],
  maxBytes: number,
  readHint: (totalBytes: number) => string,
): ShownResult {
  let units = 0;
  for (const part of content) units += textUnits(part);
  if (units * 3 <= maxBytes) return wholeResult(output, content, units * 3);
  let totalBytes = 0;
  for (const part of content) totalBytes += textBytes(part);
  if (totalBytes <= maxBytes + Math.min(NOTE_BYTES, Math.floor(maxBytes / 16))) return wholeResult(output, content, totalBytes);
  const kept: ContentPart[] = [];
  let left = maxBytes;
  let shownBytes = 0;
  let hasMore = false;
  for (const part of content) {
    const bytes = textBytes(part);
    const shown = bytes <= left ? part : cutPart(part, left);
    hasMore ||= shown !== part && readFileData(part) === undefined; // the bytes of a file are not part of the pages that `read_result` returns
    if (shown === undefined) continue;
    kept.push(shown);
    const isPlaceholder = part.type === "file" && shown.type === "text";
    if (!isPlaceholder) shownBytes += shown === part ? bytes : textBytes(shown);
    left = shown === part ? left - bytes : 0;
  }
  const text = formatNote(shownBytes, totalBytes, readHint); // built in any case, since `readHint` stores the whole result for programs
  if (hasMore) kept.push({ type: "text", text });
  return { output, content: kept, totalBytes, shownBytes, cut: true };
}

function textUnits(part: ContentPart): number {
  if (part.type === "text") return part.text.length;
  return part.type === "file" ? (ownBytes(part) ?? part.uri.length + (part.text?.length ?? 0)) : 0;
}

function textBytes(part: ContentPart): number {
  if (part.type === "text") return Buffer.byteLength(part.text);
  return part.type === "file" ? (ownBytes(part) ?? Buffer.byteLength(part.uri) + Buffer.byteLength(part.text ?? "")) : 0;
}

/** Returns the size that counts for a file with bytes: 0, as for images, unless the file or its mention is too large to be shown. */
function ownBytes(part: ContentPart): number | undefined {
  const bytes = readFileData(part)?.bytes;
  if (bytes === undefined || bytes > MAX_FILE_BYTES) return bytes;
  const mention = partText(part);
  return mention.length <= MAX_MENTION_LENGTH ? 0 : Buffer.byteLength(mention);
}

/** Returns the beginning of a part whose text is larger than `left`; undefined if nothing of it is shown. */
function cutPart(part: ContentPart, left: number): ContentPart | undefined {
  if (part.type === "text") {
    const text = truncateStart(part.text, left, false);
    return text === "" ? undefined : { ...part, text };
  }
  if (part.type !== "file") return part;
  const roomForText = left - Buffer.byteLength(part.uri);
  if (part.text !== undefined && roomForText > 0) return { ...part, text: truncateStart(part.text, roomForText, false) };
  const name = (part.name ?? part.mediaType ?? "without a name").slice(0, 100);
  return { type: "text", text: `[file ${name}: ${textBytes(part)} bytes left out]` };
}

function formatNote(shownBytes: number, totalBytes: number, readHint: (totalBytes: number) => string): string {
  return `[${totalBytes - shownBytes} of ${totalBytes} bytes left out. ${readHint(totalBytes)}]`;
}

/** Returns a smaller value whose JSON text has at most `budget` bytes, if `budget` is at least `MIN_SHARE`. */
function shrink(value: JsonValue, budget: number, depth: number): JsonValue {
  if (typeof value === "string") return shrinkText(value, budget);
  if (typeof value !== "object" || value === null || jsonBytes(value, budget, true) <= budget) return value;
  const roomy = budget >= 2 * MIN_SHARE && depth < DEFAULT_MAX_DEPTH;
  if (isJsonObject(value))
    return roomy ? shrinkObject(value, budget - MIN_SHARE, depth) : `[object with ${plural(Object.keys(value).length, "key")}]`;
  return roomy ? shrinkArray(value, budget - MIN_SHARE, depth) : `[array of ${plural(value.length, "item")}]`;
}

function shrinkText(text: string, budget: number): string {
  if (jsonBytes(text, budget, true) <= budget) return text;
  const shown = truncateStart(text, budget - MIN_SHARE / 2, true);
  return `${shown}… [${text.length - shown.length} more]`;
}

/** Returns as much of a text as fits, copied so that it does not keep the whole text in memory. */
function truncateStart(text: string, maxBytes: number, escaped: boolean): string {
  return detachText(text.slice(0, prefixEnd(text, maxBytes, escaped)));
}

function shrinkArray(items: readonly JsonValue[], budget: number, depth: number): readonly JsonValue[] {
  const kept: JsonValue[] = [];
  let left = budget - 2;
  for (const item of items) {
    const bytes = jsonBytes(item, left, true) + 1;
    if (bytes <= left) {
      kept.push(item);
      left -= bytes;
      continue;
    }
    // a large item is shown in part if leaving it out would leave more than half of the space empty
    if (left > budget / 2) kept.push(shrink(item, left - 1, depth + 1));
    break;
  }
  if (kept.length < items.length) kept.push(`[${plural(items.length - kept.length, "more item")}]`);
  return kept;
}

/** Divides the budget so that small members stay whole and only the largest are cut. */
function shrinkObject(object: JsonObject, budget: number, depth: number): JsonObject {
  const keys = Object.keys(object);
  const members: { readonly key: string; readonly keyBytes: number; readonly valueBytes: number }[] = [];
  const candidates = keys.slice(0, Math.floor(budget / MIN_SHARE));
  for (const key of candidates) {
    const keyBytes = jsonBytes(key, budget, true) + 2;
    members.push({ key, keyBytes, valueBytes: jsonBytes(object[key] ?? null, budget, true) });
  }
  const shares = new Map<string, number>();
  let left = budget - 2;
  let waiting = members.length;
  for (const member of members.toSorted((a, b) => a.keyBytes + a.valueBytes - b.keyBytes - b.valueBytes)) {
    const share = Math.min(Math.floor(left / waiting--) - member.keyBytes, member.valueBytes);
    // a member without space for even a marker besides its key is left out
    if (share < member.valueBytes && share < MIN_SHARE) continue;
    shares.set(member.key, share);
    left -= share + member.keyBytes;
  }
  const kept: [string, JsonValue][] = [];
  for (const key of candidates) {
    const share = shares.get(key);
    if (share !== undefined) kept.push([key, shrink(object[key] ?? null, share, depth + 1)]);
  }
  if (kept.length < keys.length) kept.push([MORE_KEY, plural(keys.length - kept.length, "more key")]);
  return Object.fromEntries(kept);
}

/**
 * Returns the bytes of a value's JSON text, or some number above `limit` once it exceeds that.
 *
 * Without `exact`, an upper bound that does not look at the characters of strings: cheap enough for every result.
 */
function jsonBytes(value: JsonValue, limit: number, exact: boolean, depth = 0): number {
  if (typeof value === "string") {
    if (value.length + 2 > limit) return value.length + 2;
    return exact ? Buffer.byteLength(JSON.stringify(value)) : value.length * 6 + 2;
  }
  if (typeof value !== "object" || value === null) return exact ? String(value).length : 24;
  if (depth >= DEFAULT_MAX_DEPTH) return limit + 1;
  let bytes = 2;
  if (isJsonObject(value)) {
    for (const key of Object.keys(value)) {
      bytes += 2 + jsonBytes(key, limit - bytes, exact);
      if (bytes <= limit) bytes += jsonBytes(value[key] ?? null, limit - bytes, exact, depth + 1);
      if (bytes > limit) return bytes;
    }
    return bytes;
  }
  for (const item of value) {
    bytes += 1 + jsonBytes(item, limit - bytes, exact, depth + 1);
    if (bytes > limit) return bytes;
  }
  return bytes;
}

/** Returns where to cut a text so that at most `maxBytes` UTF-8 bytes stay and no code point is split; `escaped` counts the text as JSON. */
function prefixEnd(text: string, maxBytes: number, escaped: boolean): number {
  let bytes = 0;
  let index = 0;
  while (index < text.length) {
    const code = text.codePointAt(index) ?? 0;
    bytes += escaped ? escapedBytes(code) : utf8Bytes(code);
    if (bytes > maxBytes) break;
    index += code > 0xffff ? 2 : 1;
  }
  return index;
}

/** A lone surrogate is written as U+FFFD, in three bytes. */
function utf8Bytes(code: number): number {
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code > 0xffff ? 4 : 3;
}

function escapedBytes(code: number): number {
  if (code === 0x22 || code === 0x5c || (code >= 0x08 && code <= 0x0d && code !== 0x0b)) return 2;
  if (code < 0x20 || (code >= 0xd800 && code <= 0xdfff)) return 6;
  return utf8Bytes(code);
}
