/** The content of a message of Chat Completions: text, or chunks of text, thinking and pictures. */
import type { ContentPart } from "../../core/content.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";

/** Takes the content of a message, piece by piece. */
export interface ContentSink {
  text(text: string): void;
  reasoning(text: string): void;
  refusal(text: string): void;
  media(part: ContentPart): void;
}

export function readContent(content: JsonValue | undefined, sink: ContentSink): void {
  if (typeof content === "string") sink.text(content);
  else if (isJsonArray(content)) for (const chunk of content) if (isJsonObject(chunk)) readChunk(chunk, sink);
}

function readChunk(chunk: JsonObject, sink: ContentSink): void {
  const { type, text, refusal, thinking } = chunk;
  if (type === "thinking" || type === "reasoning") sink.reasoning(plainText(thinking ?? text));
  else if (typeof refusal === "string") sink.refusal(refusal);
  else if (type === "image_url") readImage(chunk, sink);
  else if (typeof text === "string") sink.text(text);
}

/** Thinking is text, or chunks of text. */
function plainText(value: JsonValue | undefined): string {
  if (typeof value === "string") return value;
  if (!isJsonArray(value)) return "";
  return value.map((chunk) => (isJsonObject(chunk) && typeof chunk["text"] === "string" ? chunk["text"] : "")).join("");
}

const DATA_URL = /^data:([a-z]+\/[a-z0-9.+-]{1,64});base64,/u;

/** A picture with its bytes; one that has only an address stays there. */
export function readImage({ image_url: image }: JsonObject, sink: ContentSink): void {
  const url = isJsonObject(image) ? image["url"] : image;
  if (typeof url !== "string") return;
  const [head, mediaType] = DATA_URL.exec(url.slice(0, 128)) ?? [];
  if (head !== undefined && mediaType !== undefined) sink.media({ type: "image", mediaType, data: url.slice(head.length) });
  else if (!url.startsWith("data:")) sink.media({ type: "file", uri: url });
}
