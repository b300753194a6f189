/** Takes the data URLs out of what a tool answered, so that no base64 reaches a model as text: images follow as images, files are named. */
import { type ContentPart, valueText } from "../core/content.ts";
import { isJsonArray, isJsonObject, type JsonValue } from "../core/base/json.ts";
import { partText } from "../core/result.ts";

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

/** False for a text that holds no data URL; a text for which it is true may hold one. */
export function mayHoldData(text: string): boolean {
  return text.includes("base64,") || text.includes("BASE64,") || (/base64\s{0,8},/iu.test(text) && MARK_ONCE.test(text));
}

const MARK_ONCE = new RegExp(MARK.source, "u");

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
    if (!mayHoldData(text)) return text;
    let shown = "";
    let kept = 0;
    MARK.lastIndex = 0;
    for (let mark = MARK.exec(text); mark !== null; mark = MARK.exec(text)) {
      const url = readDataUrl(text, mark.index);
      if (url === undefined) continue;
      shown += text.slice(kept, mark.index) + this.#lift(url);
      MARK.lastIndex = kept = url.end;
    }
    return kept === 0 ? text : shown + text.slice(kept);
  }

  inJson(value: JsonValue): JsonValue {
    if (typeof value === "string") return this.inText(value);
    if (isJsonArray(value)) return value.map((item) => this.inJson(item));
    if (!isJsonObject(value)) return value;
    const shown: Record<string, JsonValue> = {};
    for (const key of Object.keys(value)) shown[key] = this.inJson(value[key] ?? null);
    return shown;
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
    const isPdf = mediaType === PDF && data.length % 4 === 0 && data.startsWith(PDF_BEGINNING);
    const type = mediaType === PDF && !isPdf ? ANY_BYTES : mediaType;
    const named = name === undefined ? {} : { name };
    const part = { type: "file", uri: `data:${type};base64,${data}`, mediaType: type, ...named } as const;
    if ((isPdf || this.#keepsFiles) && this.#files < MAX_FILES) {
      this.#files++;
      this.parts.push(part);
    }
    return partText({ ...part, mediaType });
  }
}

interface DataUrl {
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

function isImage(mediaType: string, data: string): boolean {
  const beginning = BEGINNINGS.get(mediaType);
  return beginning !== undefined && data.length % 4 === 0 && data.startsWith(beginning);
}
