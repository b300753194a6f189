/** Files that contain their bytes, as `data:` URIs (RFC 2397). */
import type { ContentPart } from "../content.ts";

export interface DataUri {
  /** In lower case, without parameters. */
  readonly mediaType: string;
  /** The base64 data; undefined if the bytes are encoded in another way. */
  readonly base64: string | undefined;
  /** The size of the file in bytes; approximate if the data is not base64. */
  readonly bytes: number;
}

/** Longer than any media type with its parameters. */
const MAX_HEAD_LENGTH = 1_000;
const MAX_TYPE_LENGTH = 100;
const SCHEME = /^\s*data:/iu;
const BASE64 = /;\s*base64\s*$/iu;

/** Reads a `data:` URI; undefined for any other URI. Scans only the beginning, however long the URI is. */
export function readDataUri(uri: string): DataUri | undefined {
  const head = uri.slice(0, MAX_HEAD_LENGTH);
  const scheme = SCHEME.exec(head)?.[0];
  if (scheme === undefined) return undefined;
  const comma = head.indexOf(",");
  const parameters = comma < 0 ? "" : head.slice(scheme.length, comma);
  const mediaType = (parameters.split(";", 1)[0] ?? "").trim().toLowerCase().slice(0, MAX_TYPE_LENGTH);
  const data = comma < 0 ? "" : uri.slice(comma + 1);
  const base64 = BASE64.test(parameters) ? data : undefined;
  const bytes = comma < 0 ? uri.length - scheme.length : base64 === undefined ? data.length : countBase64Bytes(data);
  return { mediaType: mediaType === "" ? "text/plain" : mediaType, base64, bytes };
}

/** Returns the data of a file that contains its own bytes and no text, to be sent to a provider as a file. */
export function readFileData(part: ContentPart): (DataUri & { readonly base64: string }) | undefined {
  if (part.type !== "file" || part.text !== undefined) return undefined;
  const data = readDataUri(part.uri);
  return data?.base64 === undefined ? undefined : { ...data, base64: data.base64 };
}

/** Returns the base64 of a PDF file; undefined for any other part. */
export function readPdfData(part: ContentPart): string | undefined {
  const data = readFileData(part);
  return data?.mediaType === "application/pdf" ? data.base64 : undefined;
}

function countBase64Bytes(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return Math.max(0, Math.floor((base64.length * 3) / 4) - padding);
}
