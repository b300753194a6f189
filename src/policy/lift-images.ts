/** Makes images of the data URLs in what a tool answered, so that no base64 reaches a model as text. */
import type { ContentPart } from "../core/content.ts";
import { valueText } from "../core/content.ts";
import { isJsonArray, isJsonObject } from "../core/json.ts";
import type { JsonValue } from "../core/json.ts";

const MARK = "data:image/";
/** The images that every provider takes; base64 of fewer characters is none. */
const DATA_URL = /data:(image\/(?:png|jpeg|gif|webp));base64,([A-Za-z0-9+/]{16,}={0,2})/gu;
const MAX_IMAGES = 16;

/**
 * What a model is shown of an answer whose text holds images as data URLs: each stands as `[image 1]` where it was, and follows as an
 * image. Undefined where there is none, and what was there is shown. Images beyond the sixteenth stand as `[image]`.
 */
export function liftImages(output: JsonValue | undefined, content: readonly ContentPart[] | undefined): readonly ContentPart[] | undefined {
  const lifted = new Lifted();
  if (content === undefined) {
    if (output === undefined || !holdsMark(output)) return undefined;
    const text = valueText(lifted.inJson(output));
    return lifted.images.length === 0 ? undefined : [{ type: "text", text }, ...lifted.images];
  }
  if (!content.some((part) => part.type === "text" && part.text.includes(MARK))) return undefined;
  const parts = content.map((part) => (part.type === "text" ? { ...part, text: lifted.inText(part.text) } : part));
  return lifted.images.length === 0 ? undefined : [...parts, ...lifted.images];
}

function holdsMark(value: JsonValue): boolean {
  if (typeof value === "string") return value.includes(MARK);
  if (isJsonArray(value)) return value.some(holdsMark);
  return isJsonObject(value) && Object.values(value).some(holdsMark);
}

class Lifted {
  readonly images: ContentPart[] = [];

  inText(text: string): string {
    return text.replaceAll(DATA_URL, (_, mediaType: string, data: string) => {
      if (this.images.length >= MAX_IMAGES) return "[image]";
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
