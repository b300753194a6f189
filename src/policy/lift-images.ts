/** Makes images of the data URLs in what a tool answered, so that no base64 reaches a model as text. */
import type { ContentPart } from "../core/content.ts";
import { valueText } from "../core/content.ts";
import { isJsonArray, isJsonObject } from "../core/json.ts";
import type { JsonValue } from "../core/json.ts";

const MARK = "data:image/";
/** Sticky, and without the data: a pattern that takes in megabytes overflows the stack of the engine that matches it. */
const HEAD = /data:(image\/[a-z0-9.+-]{1,40});base64,/uy;
const BEYOND_BASE64 = /[^A-Za-z0-9+/]/gu;
const PADDING = /={0,2}/uy;
/** Base64 of fewer characters is no image. */
const MIN_BASE64_CHARS = 16;
/** The images that every provider takes, and how their base64 begins: one image that is none has every later request refused. */
const BEGINNINGS: ReadonlyMap<string, string> = new Map([
  ["image/png", "iVBORw0KGgo"],
  ["image/jpeg", "/9j/"],
  ["image/gif", "R0lGOD"],
  ["image/webp", "UklGR"],
]);
const MAX_IMAGES = 16;

/**
 * What a model is shown of an answer whose text holds images as data URLs: each stands as `[image 1]` where it was, and follows as an
 * image. Undefined where there is none, and what was there is shown. Images beyond the sixteenth, of a type that some providers do not
 * take, or that are cut or no such image stand as `[image]`.
 */
export function liftImages(output: JsonValue | undefined, content: readonly ContentPart[] | undefined): readonly ContentPart[] | undefined {
  const lifted = new Lifted();
  if (content === undefined) {
    if (output === undefined || !holdsMark(output)) return undefined;
    const text = valueText(lifted.inJson(output));
    return lifted.found ? [{ type: "text", text }, ...lifted.images] : undefined;
  }
  if (!content.some((part) => part.type === "text" && part.text.includes(MARK))) return undefined;
  const parts = content.map((part) => (part.type === "text" ? { ...part, text: lifted.inText(part.text) } : part));
  return lifted.found ? [...parts, ...lifted.images] : undefined;
}

function holdsMark(value: JsonValue): boolean {
  if (typeof value === "string") return value.includes(MARK);
  if (isJsonArray(value)) return value.some(holdsMark);
  return isJsonObject(value) && Object.values(value).some(holdsMark);
}

class Lifted {
  readonly images: ContentPart[] = [];
  found = false;

  inText(text: string): string {
    let shown = "";
    let kept = 0;
    for (let at = text.indexOf(MARK); at !== -1; at = text.indexOf(MARK, at)) {
      const url = readDataUrl(text, at);
      if (url === undefined) {
        at += MARK.length;
        continue;
      }
      shown += text.slice(kept, at) + this.#lift(url);
      at = kept = url.end;
    }
    return kept === 0 ? text : shown + text.slice(kept);
  }

  #lift({ mediaType, data }: DataUrl): string {
    this.found = true;
    if (this.images.length >= MAX_IMAGES || !isImage(mediaType, data)) return "[image]";
    this.images.push({ type: "image", mediaType, data });
    return `[image ${this.images.length}]`;
  }

  inJson(value: JsonValue): JsonValue {
    if (typeof value === "string") return this.inText(value);
    if (isJsonArray(value)) return value.map((item) => this.inJson(item));
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.inJson(item)]));
  }
}

interface DataUrl {
  readonly mediaType: string;
  readonly data: string;
  /** Where the text goes on. */
  readonly end: number;
}

function readDataUrl(text: string, at: number): DataUrl | undefined {
  HEAD.lastIndex = at;
  const mediaType = HEAD.exec(text)?.[1];
  if (mediaType === undefined) return undefined;
  const start = HEAD.lastIndex;
  BEYOND_BASE64.lastIndex = start;
  const dataEnd = BEYOND_BASE64.exec(text)?.index ?? text.length;
  if (dataEnd - start < MIN_BASE64_CHARS) return undefined;
  PADDING.lastIndex = dataEnd;
  const end = dataEnd + (PADDING.exec(text)?.[0].length ?? 0);
  return { mediaType, data: text.slice(start, end), end };
}

function isImage(mediaType: string, data: string): boolean {
  const beginning = BEGINNINGS.get(mediaType);
  return beginning !== undefined && data.length % 4 === 0 && data.startsWith(beginning);
}
