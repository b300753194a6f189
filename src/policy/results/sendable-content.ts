/** Removes from a request the files that providers reject: one of them in a conversation would make every later request fail. */
import type { ContentPart } from "../../core/content.ts";
import { readFileData, readPdfData, readDataUri } from "../../core/formats/data-uri.ts";
import { getContentParts, type ModelMessage } from "../../core/message.ts";
import { partText, type ToolResult } from "../../core/result.ts";
import { mapTexts } from "./data-urls.ts";
import { imageType, isImageType, isValidImage } from "../../core/formats/image-type.ts";
import { isValidPdf } from "./extract-data-urls.ts";
import { MAX_MEDIA_BYTES } from "./media-limits.ts";

/** The form of each message that is sent, cached so that a round only processes new messages. */
const SENDABLE = new WeakMap<ModelMessage, ModelMessage>();

/** Each message with its files replaced by mentions. */
const WITHOUT_FILES = new WeakMap<ModelMessage, ModelMessage>();
/** The length of the base64 in each message. */
const FILE_CHARS = new WeakMap<ModelMessage, number>();

/** Maximum length of base64 in a request: the strictest provider accepts 20 MB. @see https://ai.google.dev/gemini-api/docs/image-understanding */
const MAX_CHARS = 16_000_000;
/** Media types of files that are sent to at least one provider; all others are only mentioned. */
const SENT_TYPES = /^(?:text\/|application\/(?:pdf$|json$|msword$|vnd\.))/u;
/** Minimum length of text in a provider's native form that counts as base64; shorter text is an id or a signature. */
const MIN_OWN_CHARS = 1_000;
const NON_DATA = /[^A-Za-z0-9+/=_:;,.-]/u;

/**
 * Returns the messages with images under the type that their bytes show, and with text in place of images, sounds and PDF files that are
 * empty, damaged, too large, or too old to fit into one request. The same array if nothing changes.
 */
export function sendableMessages(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  const sendable = messages.map(sendableMessage);
  dropOldestFiles(sendable);
  return sendable.some((message, index) => message !== messages[index]) ? sendable : messages;
}

/** Drops the oldest files until half of the limit is free. Replays the conversation, so that later requests begin with the same messages. */
function dropOldestFiles(messages: ModelMessage[]): void {
  const shown: { readonly index: number; readonly chars: number }[] = [];
  let chars = 0;
  for (const [index, message] of messages.entries()) {
    const own = fileChars(message);
    if (own === 0) continue;
    shown.push({ index, chars: own });
    chars += own;
    if (chars <= MAX_CHARS) continue;
    while (chars > MAX_CHARS / 2 && shown.length > 1) {
      const oldest = shown.shift();
      if (oldest === undefined) break;
      chars -= oldest.chars;
      const whole = messages[oldest.index];
      if (whole !== undefined) messages[oldest.index] = replaceFilesByMentions(whole);
    }
  }
}

/** Returns a result whose files providers accept, for a program that keeps the conversation itself. The same result if nothing changes. */
export function sendableResult(result: ToolResult): ToolResult {
  const parts = result.content?.map(sendablePart);
  return parts === undefined || isSame(parts, result.content) ? result : { ...result, content: parts };
}

/** Whether the message has a part that is not text. */
export function hasFiles(message: ModelMessage): boolean {
  return getContentParts(message).some(({ type }) => type !== "text");
}

function fileChars(message: ModelMessage): number {
  return getOrCompute(FILE_CHARS, message, () => countChars(message));
}

function countChars(message: ModelMessage): number {
  if (message.role !== "assistant") return getContentParts(message).reduce((sum, part) => sum + partChars(part), 0);
  let chars = 0; // a model's own images are sent back only in native form; without it they are mentioned
  for (const block of hasFiles(message) ? (message.native?.blocks ?? []) : [])
    mapTexts(block, (text) => {
      if (text.length >= MIN_OWN_CHARS && !NON_DATA.test(text)) chars += text.length;
      return text;
    });
  return chars;
}

function partChars(part: ContentPart): number {
  if (part.type === "image") return isImageType(part.mediaType) ? part.data.length : 0;
  if (part.type === "audio") return part.data.length;
  const data = readFileData(part);
  return data !== undefined && SENT_TYPES.test(data.mediaType) ? data.base64.length : 0;
}

function replaceFilesByMentions(message: ModelMessage): ModelMessage {
  return getOrCompute(WITHOUT_FILES, message, () => withoutNative(withParts(message, toMention)));
}

function toMention(part: ContentPart): ContentPart {
  return part.type === "text" ? part : { type: "text", text: partText(part) };
}

function withoutNative(message: ModelMessage): ModelMessage {
  if (message.role !== "assistant") return message;
  const { native: _native, ...rest } = message;
  return rest;
}

/** Returns the message with its last files, as many as fit into a request. */
function fitFiles(message: ModelMessage): ModelMessage {
  if (message.role === "assistant") return message;
  let excessChars = fileChars(message) - MAX_CHARS;
  if (excessChars <= 0) return message;
  return withParts(message, (part) => {
    const chars = partChars(part);
    if (excessChars <= 0 || chars === 0) return part;
    excessChars -= chars;
    return toMention(part);
  });
}

function sendableMessage(message: ModelMessage): ModelMessage {
  return getOrCompute(SENDABLE, message, () => fitFiles(withParts(message, sendablePart)));
}

function getOrCompute<Made>(known: WeakMap<ModelMessage, Made>, message: ModelMessage, make: () => Made): Made {
  let made = known.get(message);
  if (made === undefined) known.set(message, (made = make()));
  return made;
}

/** Returns the same message if no part changes. */
function withParts(message: ModelMessage, change: (part: ContentPart) => ContentPart): ModelMessage {
  if (message.role === "call" || message.role === "job") return message;
  if (message.role === "result") {
    const { content } = message.result;
    const parts = content?.map(change);
    return parts === undefined || isSame(parts, content) ? message : { ...message, result: { ...message.result, content: parts } };
  }
  if (typeof message.content === "string") return message;
  const parts = message.content.map(change);
  return isSame(parts, message.content) ? message : { ...message, content: parts };
}

function isSame(parts: readonly ContentPart[], others: readonly ContentPart[] | undefined): boolean {
  return parts.every((part, index) => part === others?.[index]);
}

/** Returns the part, an image under the type that its bytes show, or a text in place of a file that is empty, damaged or too large. */
export function sendablePart(part: ContentPart): ContentPart {
  if (part.type === "image") return sendableImage(part);
  if (part.type === "audio") return sendableAudio(part);
  const pdf = part.type === "file" ? readPdfData(part) : undefined;
  if (pdf === undefined || part.type !== "file") return part;
  const data = plainBase64(pdf);
  if (!isValidPdf("application/pdf", data) || (readFileData(part)?.bytes ?? 0) > MAX_MEDIA_BYTES.pdf)
    return { type: "text", text: partText(part) };
  return data === pdf ? part : { ...part, uri: `data:application/pdf;base64,${data}` };
}

function sendableAudio(part: ContentPart & { readonly type: "audio" }): ContentPart {
  const data = plainBase64(part.data);
  if (data === "") return { type: "text", text: `[audio ${part.mediaType}, 0 bytes]` };
  return data === part.data ? part : { ...part, data };
}

function sendableImage(part: ContentPart & { readonly type: "image" }): ContentPart {
  const data = plainBase64(part.data);
  const mediaType = imageType(data);
  if (mediaType !== undefined && isValidImage(mediaType, data) && data.length <= (MAX_MEDIA_BYTES.image * 4) / 3)
    return data === part.data && mediaType === part.mediaType ? part : { type: "image", mediaType, data };
  if (!isImageType(part.mediaType)) return part; // not sent to any provider as an image
  const why = mediaType === undefined ? "its bytes are not an image of this type" : "it is too large";
  return { type: "text", text: `[image ${part.mediaType}, ${Math.floor((data.length * 3) / 4)} bytes, not shown: ${why}]` };
}

/** Returns base64 as providers accept it: without line breaks, padded, and not as a data URL. */
function plainBase64(text: string): string {
  const data = readDataUri(text)?.base64 ?? text;
  return data.length % 4 === 0 && !/[^A-Za-z0-9+/=]/u.test(data) ? data : Buffer.from(data, "base64").toString("base64");
}
