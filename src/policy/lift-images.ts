/** Makes images of the data URLs in what a tool answered, so that no base64 reaches a model as text. */
import type { ContentPart } from "../core/content.ts";
import { valueText } from "../core/content.ts";
import { isJsonArray, isJsonObject } from "../core/json.ts";
import type { JsonValue } from "../core/json.ts";

const MARK = "data:image/";
/** Base64 of fewer characters is no image. */
const DATA_URL = /data:(image\/[a-z0-9.+-]{1,40});base64,([A-Za-z0-9+/]{16,}={0,2})/gu;
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
    return text.replaceAll(DATA_URL, (_, mediaType: string, data: string) => {
      this.found = true;
      if (this.images.length >= MAX_IMAGES || !isImage(mediaType, data)) return "[image]";
      this.images.push({ type: "image", mediaType, data });
      return `[image ${this.images.length}]`;
    });
  }

  inJson(value: JsonValue): JsonValue {
    if (typeof value === "string") return this.inText(value);
    if (isJsonArray(value)) return value.map((item) => this.inJson(item));
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.inJson(item)]));
  }
}

function isImage(mediaType: string, data: string): boolean {
  const beginning = BEGINNINGS.get(mediaType);
  return beginning !== undefined && data.length % 4 === 0 && data.startsWith(beginning);
}
