/** Finds the data URLs in base64 in a text (RFC 2397), in linear time. */
import { isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";

/** As browsers read it, in upper and lower case. */
const MARK = /[dD][aA][tT][aA]:/gu;
/** Sticky, and without the data: a pattern that takes in megabytes overflows the stack of the engine that matches it. */
const HEAD = /data:\s{0,8}([a-z0-9.+-]{1,60}\/[a-z0-9.+-]{1,100})?((?:\s{0,8};[^,;"'<>\s]{1,200}){0,8}?)\s{0,8};\s{0,8}base64\s{0,8},/iuy;
const BEYOND_BASE64 = /[^A-Za-z0-9+/_-]/gu;
const PADDING = /={0,2}/uy;
const NAME = /;(?:file)?name=([^;]+)/iu;
/** Base64 of fewer characters is no image. */
const MIN_IMAGE_CHARS = 16;
/** Base64 of fewer characters, some 96 bytes, is shown as it is: no more than an id takes. */
const MIN_FILE_CHARS = 128;

/** An image without a longer name for its type, such as `data:image/x;base64,`, has the shortest URL that counts. */
const LEAST_URL_CHARS = "data:image/x;base64,".length + MIN_IMAGE_CHARS;

/** False for a text that holds no data URL; a text for which it is true may hold one. */
export function mayHoldData(text: string): boolean {
  if (text.length < LEAST_URL_CHARS) return false;
  return text.includes("base64,") || text.includes("BASE64,") || (/base64\s{0,8},/iu.test(text) && MARK_ONCE.test(text));
}

const MARK_ONCE = new RegExp(MARK.source, "u");

/** The text with each data URL replaced; the same text where it holds none. A short one is text like any other. */
export function replaceDataUrls(text: string, replacement: (url: DataUrl) => string): string {
  if (!mayHoldData(text)) return text;
  let shown = "";
  let kept = 0;
  MARK.lastIndex = 0;
  for (let mark = MARK.exec(text); mark !== null; mark = MARK.exec(text)) {
    const url = readDataUrl(text, mark.index);
    if (url === undefined) continue;
    shown += text.slice(kept, mark.index) + replacement(url);
    MARK.lastIndex = kept = url.end;
  }
  return kept === 0 ? text : shown + text.slice(kept);
}

/** A value with each of its texts changed; keys stay as they are. */
export function changeTexts(value: JsonValue, change: (text: string) => string): JsonValue {
  if (typeof value === "string") return change(value);
  if (isJsonArray(value)) return value.map((item) => changeTexts(item, change));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, changeTexts(item, change)]));
}

export interface DataUrl {
  /** In lower case, without parameters. */
  readonly mediaType: string;
  readonly name: string | undefined;
  readonly data: string;
  /** Where the text continues. */
  readonly end: number;
}

function readDataUrl(text: string, at: number): DataUrl | undefined {
  HEAD.lastIndex = at;
  const head = HEAD.exec(text);
  if (head === null) return undefined;
  const [, type = "text/plain", parameters = ""] = head;
  const mediaType = type.toLowerCase();
  const start = HEAD.lastIndex;
  BEYOND_BASE64.lastIndex = start;
  const dataEnd = BEYOND_BASE64.exec(text)?.index ?? text.length;
  if (dataEnd - start < (mediaType.startsWith("image/") ? MIN_IMAGE_CHARS : MIN_FILE_CHARS)) return undefined;
  PADDING.lastIndex = dataEnd;
  const end = dataEnd + (PADDING.exec(text)?.[0].length ?? 0);
  return { mediaType, name: NAME.exec(parameters)?.[1]?.slice(0, 200), data: text.slice(start, end), end };
}
