/** Removes data URLs from a tool's answer, so that no base64 reaches a model as text: images are added as image parts, files are named. */
import { type ContentPart, valueText } from "../../core/content.ts";
import type { JsonValue } from "../../core/base/json.ts";
import { isValidImage } from "../../core/formats/image-type.ts";
import { partText } from "../../core/result.ts";
import { mapTexts, mayHaveDataUrls, replaceDataUrls, type DataUrl } from "./data-urls.ts";

const PDF = "application/pdf";
const PDF_SIGNATURE = "JVBERi0";
/** Media type given to a damaged PDF: as a PDF, which some providers accept as a file, it would make requests fail too. */
const ANY_BYTES = "application/octet-stream";
const MAX_IMAGES = 16;
const MAX_FILES = 16;

/**
 * Returns the content of an answer whose text has base64 data URLs, for a model; undefined if there are none, and the text is shown as it is.
 *
 * An image is replaced by `[image 1]` and added as an image part. An image beyond the sixteenth, of a type that some provider rejects, or that
 * is cut off or invalid is replaced by `[image]`. Any other file of at least 96 bytes is replaced by its name, type and size. A PDF is added
 * as a file part, and so is any file of a text in `content`, whose bytes the result would otherwise lose: at most sixteen.
 */
export function extractDataUrls(
  output: JsonValue | undefined,
  content: readonly ContentPart[] | undefined,
): readonly ContentPart[] | undefined {
  if (content === undefined) {
    if (output === undefined) return undefined;
    const lifted = new DataUrlExtractor(false);
    const text = valueText(lifted.extractFromJson(output));
    return lifted.found ? [{ type: "text", text }, ...lifted.parts] : undefined;
  }
  if (!content.some((part) => part.type === "text" && mayHaveDataUrls(part.text))) return undefined;
  const lifted = new DataUrlExtractor(true);
  const parts = content.map((part) => (part.type === "text" ? { ...part, text: lifted.extractFromText(part.text) } : part));
  return lifted.found ? [...parts, ...lifted.parts] : undefined;
}

class DataUrlExtractor {
  readonly parts: ContentPart[] = [];
  found = false;
  readonly #keepsFiles: boolean;
  #images = 0;
  #files = 0;

  /** @param keepsFiles whether files other than PDF are added as parts */
  constructor(keepsFiles: boolean) {
    this.#keepsFiles = keepsFiles;
  }

  extractFromText(text: string): string {
    return replaceDataUrls(text, (url) => this.#extract(url));
  }

  extractFromJson(value: JsonValue): JsonValue {
    return mapTexts(value, (text) => this.extractFromText(text));
  }

  #extract(url: DataUrl): string {
    this.found = true;
    return url.mediaType.startsWith("image/") ? this.#extractImage(url) : this.#extractFile(url);
  }

  #extractImage({ mediaType, data }: DataUrl): string {
    if (this.#images >= MAX_IMAGES || !isValidImage(mediaType, data)) return "[image]";
    this.parts.push({ type: "image", mediaType, data });
    return `[image ${++this.#images}]`;
  }

  #extractFile({ mediaType, name, data }: DataUrl): string {
    const wholePdf = isValidPdf(mediaType, data);
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

/** Whether the data is a PDF file, judging by its first bytes. */
export function isValidPdf(mediaType: string, data: string): boolean {
  return mediaType === PDF && data.length % 4 === 0 && data.startsWith(PDF_SIGNATURE);
}
