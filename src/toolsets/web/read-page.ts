/** Converts the body of a response to text for a model, by its media type. */
import { singleLine } from "../../core/base/wording.ts";
import { sliceChars } from "../../core/base/truncate-text.ts";
import { ToolOutput } from "../../core/content.ts";
import { ToolError } from "../../core/error.ts";
import { decodeText } from "../../engine/rest/answer-text.ts";
import { isTextType, parseMediaType, type MediaType } from "../../engine/rest/media-type.ts";
import type { HttpResponse } from "../../net/http-request.ts";
import { convertDocument } from "../convert/convert-document.ts";
import { detectMedia } from "../files/detect-binary.ts";
import { isDamaged } from "../files/whole-media.ts";
import { MAX_MEDIA_BYTES } from "../../policy/results/media-limits.ts";

const MAX_CHARS = 100_000;
const IMAGES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/** Statuses of successful responses without a body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205]);
const PAGES: ReadonlySet<string> = new Set(["text/html", "application/xhtml+xml"]);

export interface ReadPageOptions {
  readonly signal: AbortSignal;
  readonly from: number;
  /** Maximum number of characters that are shown. @default 100_000 */
  readonly maxChars?: number;
}

/** @throws ToolError `execution_failed` for a type without text, `too_large`, and the errors of `convertDocument`, as a rejection */
export async function readPage(response: HttpResponse, { from, maxChars = MAX_CHARS, signal }: ReadPageOptions): Promise<ToolOutput> {
  const mediaType = parseMediaType(response.headers.get("content-type")?.[0]);
  const { type } = mediaType;
  const url = response.url.href;
  if (WITHOUT_BODY.has(response.status)) {
    response.discard();
    return toPageOutput("", { url, from, maxChars });
  }
  if (IMAGES.has(type)) return toImageOutput(await response.bytes(), type, url);
  if (PAGES.has(type)) {
    const html = decodePage(await response.bytes(), mediaType);
    const { text, title } = await convertDocument({ kind: "html", bytes: new TextEncoder().encode(html), url }, signal);
    return toPageOutput(text, { url, title, from, maxChars });
  }
  if (type === "application/pdf") {
    const { text } = await convertDocument({ kind: "pdf", bytes: await response.bytes() }, signal);
    return toPageOutput(text, { url, from, maxChars });
  }
  if (!isTextType(type)) {
    response.discard();
    throw unreadableError(url, `it is ${type === "" ? "of unknown type" : type}`);
  }
  const text = decodeText(await response.bytes(), mediaType);
  if (text === undefined) throw unreadableError(url, `its encoding ${String(mediaType.charset)} is unknown`);
  return toPageOutput(text, { url, from, maxChars });
}

/** The encoding in `<meta charset>`, in the content of `<meta http-equiv>`, or in the first line of XML. */
const OWN_CHARSET = /<meta\s[^>]{0,200}?charset\s*=\s*["']?([\w:.-]{1,40})|^\s*<\?xml\s[^>]{0,100}?encoding\s*=\s*["']([\w:.-]{1,40})/iu;

/**
 * Decodes a page. If its content type names no known encoding, the encoding declared in its first 1,024 bytes is used.
 *
 * @see https://html.spec.whatwg.org/multipage/parsing.html#prescan-a-byte-stream-to-determine-its-encoding
 */
function decodePage(bytes: Uint8Array, { charset }: Pick<MediaType, "charset">): string {
  const known = charset === undefined ? undefined : decodeText(bytes, { charset });
  if (known !== undefined) return known;
  const [, ofMeta, ofXml] = OWN_CHARSET.exec(Buffer.from(bytes.subarray(0, 1_024)).toString("latin1")) ?? [];
  const declared = (ofMeta ?? ofXml)?.toLowerCase();
  const isReadable = declared !== undefined && !declared.startsWith("utf-16"); // the declaration was readable as single bytes, so this is not UTF-16
  return (isReadable ? decodeText(bytes, { charset: declared }) : undefined) ?? decodeText(bytes, { charset: undefined }) ?? "";
}

interface PageText {
  readonly url: string;
  readonly title?: string | undefined;
  readonly from: number;
  readonly maxChars: number;
}

function toPageOutput(text: string, { url, title = "", from: asked, maxChars }: PageText): ToolOutput {
  const { text: units, from } = sliceChars(text, asked, maxChars);
  const part = units.toWellFormed();
  const end = from + part.length;
  const line = singleLine(title); // with line ends, it could look like another address
  const heading = `${line === "" ? "" : `${line}\n`}${url}\n\n`;
  const rest = end < text.length ? `\n\n(${text.length - end} more characters; continue with from: ${end})` : "";
  const none = text === "" ? "(no text)" : `(no text from there on: it has ${text.length} characters)`;
  return new ToolOutput({
    content: [{ type: "text", text: `${heading}${part === "" ? none : part}${rest}` }],
    output: { url, title, text: part, from, length: text.length },
  });
}

/** Shows an image with the type that its bytes have. With a wrong type, or with a part missing, providers would refuse every later request of the session. */
function toImageOutput(bytes: Uint8Array, sentAs: string, url: string): ToolOutput {
  if (bytes.length > MAX_MEDIA_BYTES.image)
    throw new ToolError("too_large", `The image ${url} has ${bytes.length} bytes; at most ${MAX_MEDIA_BYTES.image} are shown.`, {
      outcome: "failed",
    });
  const body = Buffer.from(bytes);
  const media = detectMedia(body);
  if (media?.kind !== "image")
    throw new ToolError("execution_failed", `${url} cannot be shown: it is sent as ${sentAs}, but is not an image.`, { outcome: "failed" });
  const { mediaType } = media;
  if (isDamaged(body, mediaType))
    throw new ToolError("execution_failed", `${url} cannot be shown: the image is damaged or incomplete.`, { outcome: "failed" });
  return new ToolOutput({
    content: [
      { type: "text", text: url },
      { type: "image", mediaType, data: body.toString("base64") },
    ],
    output: { url, mediaType, bytes: bytes.length },
  });
}

function unreadableError(url: string, reason: string): ToolError {
  return new ToolError("execution_failed", `${url} cannot be shown as text: ${reason}.`, { outcome: "failed" });
}
