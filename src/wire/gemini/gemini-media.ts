/** Converts Gemini's images and audio to content parts. */
import type { ContentPart } from "../../core/content.ts";
import { isJsonObject, type JsonValue } from "../../core/base/json.ts";

/** Returns the content part for a media type and base64 data; undefined if there are no bytes. */
export function mediaPart(mediaType: JsonValue | undefined, data: JsonValue | undefined): ContentPart | undefined {
  if (typeof mediaType !== "string" || typeof data !== "string" || data === "") return undefined;
  if (mediaType.startsWith("image/")) return { type: "image", mediaType, data };
  if (mediaType.startsWith("audio/")) return { type: "audio", mediaType, data };
  return { type: "file", uri: `data:${mediaType};base64,${data}`, mediaType };
}

export function filePart(inline: JsonValue | undefined, file: JsonValue | undefined): ContentPart | undefined {
  if (isJsonObject(inline)) return mediaPart(inline["mimeType"], inline["data"]);
  const { fileUri: uri, mimeType: mediaType } = isJsonObject(file) ? file : {};
  if (typeof uri !== "string") return undefined;
  return { type: "file", uri, ...(typeof mediaType === "string" ? { mediaType } : {}) };
}
