/** Decodes bytes that a model gives as base64. */
import { ToolError } from "../../core/error.ts";
import type { JsonValue } from "../../core/base/json.ts";

export interface DecodedBytes {
  readonly bytes: Uint8Array;
  /** The media type in a data: URI. */
  readonly mediaType: string | undefined;
  /** The `name` in a data: URI, percent-decoded. */
  readonly filename: string | undefined;
}

const DATA_URI = /^data:([^;,]{0,200})((?:;[^;,]{0,200}){0,5});base64,/iu;
const ALPHABET = /^[A-Za-z0-9+/_-]*={0,2}$/u;

/** Reads base64, base64url or a data: URI. @throws ToolError `invalid_input` for anything else */
export function readBase64(value: JsonValue, key: string): DecodedBytes {
  if (typeof value !== "string") throw notBase64Error(key, "it is not a string");
  const uri = DATA_URI.exec(value);
  const text = (uri === null ? value : value.slice(uri[0].length)).replaceAll(/[\t\n\r ]/gu, "");
  if (!ALPHABET.test(text) || text.replaceAll("=", "").length % 4 === 1) throw notBase64Error(key, "it is not base64");
  return { bytes: Buffer.from(text, "base64"), mediaType: uri?.[1] === "" ? undefined : uri?.[1], filename: parseFilename(uri?.[2] ?? "") };
}

/** The `name` of `data:audio/mpeg;name=talk.mp3;base64,…`, as browsers write it. */
function parseFilename(parameters: string): string | undefined {
  const name = /;name=([^;,]+)/iu.exec(parameters)?.[1];
  try {
    return name === undefined ? undefined : decodeURIComponent(name);
  } catch {
    return name; // a literal percent sign
  }
}

function notBase64Error(key: string, problem: string): ToolError {
  return new ToolError("invalid_input", `${JSON.stringify(key)} is sent as bytes, and ${problem}; nothing was sent.`, {
    hint: "Give the bytes in base64.",
  });
}
