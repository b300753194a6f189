/** Takes the data URLs out of what a tool answered, so that no base64 reaches a model as text: images follow as images, files are named. */
import { type ContentPart, valueText } from "../../core/content.ts";
import type { JsonValue } from "../../core/base/json.ts";
import { partText } from "../../core/result.ts";
import { changeTexts, mayHoldData, replaceDataUrls, type DataUrl } from "./data-urls.ts";

/** The images that every provider takes, and how their base64 begins: one image that is none has every later request refused. */
const BEGINNINGS: ReadonlyMap<string, string> = new Map([
  ["image/png", "iVBORw0KGgo"],
  ["image/jpeg", "/9j/"],
  ["image/gif", "R0lGOD"],
  ["image/webp", "UklGR"],
]);
const PDF = "application/pdf";
const PDF_BEGINNING = "JVBERi0";
/** The media type that some providers take as a file: called so, a damaged one has requests refused as well. */
const ANY_BYTES = "application/octet-stream";
const MAX_IMAGES = 16;
const MAX_FILES = 16;

/**
 * The content of an answer whose text holds data URLs in base64, for a model; undefined where there is none, and the text is shown as it is.
 *
 * An image is replaced by `[image 1]`, and follows as an image. Images beyond the sixteenth, of a type that some providers do
 * not take, or that are cut or no such image are replaced by `[image]`. Any other file of at least 96 bytes is replaced by its name, type and size;
 * a PDF file follows as a file, as does a part of the content, where the result would else lose its bytes: sixteen of them.
 */
export function liftData(output: JsonValue | undefined, content: readonly ContentPart[] | undefined): readonly ContentPart[] | undefined {
  if (content === undefined) {
    if (output === undefined) return undefined;
    const lifted = new Lifted(false);
    const text = valueText(lifted.inJson(output));
    return lifted.found ? [{ type: "text", text }, ...lifted.parts] : undefined;
  }
  if (!content.some((part) => part.type === "text" && mayHoldData(part.text))) return undefined;
  const lifted = new Lifted(true);
  const parts = content.map((part) => (part.type === "text" ? { ...part, text: lifted.inText(part.text) } : part));
  return lifted.found ? [...parts, ...lifted.parts] : undefined;
}

class Lifted {
  readonly parts: ContentPart[] = [];
  found = false;
  readonly #keepsFiles: boolean;
  #images = 0;
  #files = 0;

  /** @param keepsFiles whether files other than PDF follow as parts */
  constructor(keepsFiles: boolean) {
    this.#keepsFiles = keepsFiles;
  }

  inText(text: string): string {
    return replaceDataUrls(text, (url) => this.#lift(url));
  }

  inJson(value: JsonValue): JsonValue {
    return changeTexts(value, (text) => this.inText(text));
  }

  #lift(url: DataUrl): string {
    this.found = true;
    return url.mediaType.startsWith("image/") ? this.#liftImage(url) : this.#liftFile(url);
  }

  #liftImage({ mediaType, data }: DataUrl): string {
    if (this.#images >= MAX_IMAGES || !isImage(mediaType, data)) return "[image]";
    this.parts.push({ type: "image", mediaType, data });
    return `[image ${++this.#images}]`;
  }

  #liftFile({ mediaType, name, data }: DataUrl): string {
    const wholePdf = isPdf(mediaType, data);
    const type = mediaType === PDF && !wholePdf ? ANY_BYTES : mediaType;
    const named = name === undefined ? {} : { name };
    const part = { type: "file", uri: `data:${type};base64,${data}`, mediaType: type, ...named } as const;
    if ((wholePdf || this.#keepsFiles) && this.#files < MAX_FILES) {
      this.#files++;
      this.parts.push(part);
    }
    return partText({ ...part, mediaType });
  }
}

/** Whether it is an image that every provider takes, as far as its beginning says. */
export function isImage(mediaType: string, data: string): boolean {
  const beginning = BEGINNINGS.get(mediaType);
  return beginning !== undefined && data.length % 4 === 0 && data.startsWith(beginning);
}

/** Whether every provider takes images of this type. */
export function isImageType(mediaType: string): boolean {
  return BEGINNINGS.has(mediaType);
}

/** The media type that the beginning of the base64 of an image says; undefined for what no provider takes. */
export function imageType(data: string): string | undefined {
  for (const [mediaType, beginning] of BEGINNINGS) if (data.startsWith(beginning)) return mediaType;
  return undefined;
}

/** Whether it is a PDF file, as far as its beginning says. */
export function isPdf(mediaType: string, data: string): boolean {
  return mediaType === PDF && data.length % 4 === 0 && data.startsWith(PDF_BEGINNING);
}
