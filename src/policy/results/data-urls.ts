/** Finds base64 data URLs in a text (RFC 2397), in linear time. */
import { isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";

/** The scheme, in upper or lower case, as browsers accept it. */
const MARK = /[dD][aA][tT][aA]:/gu;
/** Sticky, and without the data: a pattern that matches megabytes overflows the stack of the regex engine. */
const HEAD = /data:\s{0,8}([a-z0-9.+-]{1,60}\/[a-z0-9.+-]{1,100})?((?:\s{0,8};[^,;"'<>\s]{1,200}){0,8}?)\s{0,8};\s{0,8}base64\s{0,8},/iuy;
const NON_BASE64 = /[^A-Za-z0-9+/_-]/gu;
const PADDING = /={0,2}/uy;
/** A further line of data that is wrapped, as the command `base64` and MIME wrap it (RFC 2045). The last line may be shorter. */
const WRAPPED_LINE = /\r?\n([A-Za-z0-9+/]{1,76}={0,2})(?=[\r\n"'`<>)\]}]|$)/uy;
/** Lengths of the lines that programs wrap base64 into. */
const WRAP_CHARS: ReadonlySet<number> = new Set([60, 64, 72, 76]);
const MAX_WRAP_CHARS = 76;
const NAME = /;(?:file)?name=([^;]+)/iu;
/** Minimum length of an image's base64. */
const MIN_IMAGE_CHARS = 16;
/** Minimum length of a file's base64, about 96 bytes; shorter data is shown as it is, since an id would take as much. */
const MIN_FILE_CHARS = 128;

/** Length of the shortest data URL that counts: an image whose type has one letter. */
const MIN_URL_CHARS = "data:image/x;base64,".length + MIN_IMAGE_CHARS;

/** False for a text without a data URL; if true, the text may contain one. */
export function mayHaveDataUrls(text: string): boolean {
  if (text.length < MIN_URL_CHARS) return false;
  return text.includes("base64,") || text.includes("BASE64,") || (/base64\s{0,8},/iu.test(text) && MARK_ONCE.test(text));
}

const MARK_ONCE = new RegExp(MARK.source, "u");

/** Replaces each data URL of a text; the same text if it has none. Data URLs below the minimum lengths stay. */
export function replaceDataUrls(text: string, replacement: (url: DataUrl) => string): string {
  if (!mayHaveDataUrls(text)) return text;
  let shown = "";
  let kept = 0;
  MARK.lastIndex = 0;
  for (let mark = MARK.exec(text); mark !== null; mark = MARK.exec(text)) {
    const url = parseDataUrl(text, mark.index);
    if (url === undefined) continue;
    shown += text.slice(kept, mark.index) + replacement(url);
    MARK.lastIndex = kept = url.end;
  }
  return kept === 0 ? text : shown + text.slice(kept);
}

/** Returns the value with each of its strings changed; keys stay as they are. */
export function mapTexts(value: JsonValue, change: (text: string) => string): JsonValue {
  if (typeof value === "string") return change(value);
  if (isJsonArray(value)) return value.map((item) => mapTexts(item, change));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, change)]));
}

export interface DataUrl {
  /** In lower case, without parameters. */
  readonly mediaType: string;
  readonly name: string | undefined;
  readonly data: string;
  /** Index directly after the URL. */
  readonly end: number;
}

function parseDataUrl(text: string, at: number): DataUrl | undefined {
  HEAD.lastIndex = at;
  const head = HEAD.exec(text);
  if (head === null) return undefined;
  const [, type = "text/plain", parameters = ""] = head;
  const mediaType = type.toLowerCase();
  const start = HEAD.lastIndex;
  NON_BASE64.lastIndex = start;
  const dataEnd = NON_BASE64.exec(text)?.index ?? text.length;
  if (dataEnd - start < (mediaType.startsWith("image/") ? MIN_IMAGE_CHARS : MIN_FILE_CHARS)) return undefined;
  PADDING.lastIndex = dataEnd;
  const lineEnd = dataEnd + (PADDING.exec(text)?.[0].length ?? 0);
  const end = findWrappedEnd(text, start, lineEnd);
  const data = text.slice(start, end);
  return { mediaType, name: NAME.exec(parameters)?.[1]?.slice(0, 200), data: end === lineEnd ? data : data.replace(LINE_ENDS, ""), end };
}

const LINE_ENDS = /[\r\n]+/gu;

/**
 * Returns the end of data whose first line is from `start` to `lineEnd`: further lines of one usual length belong to it, and a shorter one that
 * completes it. If the whole URL was wrapped, the first line is shorter as well, as it begins with the type.
 */
function findWrappedEnd(text: string, start: number, lineEnd: number): number {
  if (lineEnd - start > MAX_WRAP_CHARS) return lineEnd;
  let lineChars = WRAP_CHARS.has(lineEnd - start) ? lineEnd - start : undefined;
  let chars = lineEnd - start;
  for (let end = lineEnd; ;) {
    WRAPPED_LINE.lastIndex = end;
    const [whole = "", line = ""] = WRAPPED_LINE.exec(text) ?? [];
    lineChars ??= WRAP_CHARS.has(line.length) && line.length > chars ? line.length : 0;
    const isFull = line.length === lineChars;
    if (line === "" || line.length > lineChars || (!isFull && (chars + line.length) % 4 !== 0)) return end;
    end += whole.length;
    chars += line.length;
    if (!isFull || line.endsWith("=")) return end;
  }
}
