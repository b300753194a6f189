/** Decodes the bytes of an answer, even if the declared encoding is wrong. */
import type { MediaType } from "./media-type.ts";
import { truncateText } from "../../core/base/truncate-text.ts";

/** Decodes text without its byte order mark; undefined if the encoding is unknown. */
export function decodeText(bytes: Uint8Array, { charset }: Pick<MediaType, "charset">): string | undefined {
  const marked = detectCharset(bytes);
  if (marked !== undefined) return new TextDecoder(marked).decode(bytes);
  if (charset === undefined || charset === "utf-8" || charset === "utf8")
    return decodeUtf8(bytes) ?? new TextDecoder("windows-1252").decode(bytes);
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return undefined; // RangeError: unknown encoding
  }
}

/** Decodes UTF-8; undefined if the bytes are not valid. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** @see https://encoding.spec.whatwg.org/#bom-sniff */
function detectCharset([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : undefined;
}

/** The beginning of a text on one line, without control characters. */
export function excerpt(text: string, maxLength: number): string {
  const line = text
    .slice(0, maxLength * 4)
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim();
  return truncateText(line, maxLength);
}
