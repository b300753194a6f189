/** Writes multipart/form-data in the way of browsers. */
import { createHash } from "node:crypto";
import { ToolError } from "../../core/error.ts";
import { isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { ownString } from "../openapi/document.ts";
import { readBase64 } from "./base64.ts";
import type { BodyEncoding } from "./http-operation.ts";
import { isTextType, parseMediaType } from "./media-type.ts";
import { valueText } from "../../core/content.ts";

export interface FormField {
  readonly name: string;
  /** The property of the input with its value. */
  readonly key: string;
  readonly value: JsonValue;
  readonly encoding: BodyEncoding | undefined;
}

interface Part {
  readonly head: string;
  readonly bytes: Uint8Array;
}

export interface Multipart {
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/**
 * Writes one part for each value, and several for an array. @see
 * https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data
 */
export function writeMultipart(mediaType: string, fields: readonly FormField[]): Multipart {
  const parts = fields.flatMap(toParts);
  const boundary = boundaryOf(parts);
  const pieces: Uint8Array[] = [];
  for (const { head, bytes } of parts) pieces.push(Buffer.from(`--${boundary}\r\n${head}\r\n\r\n`), bytes, Buffer.from("\r\n"));
  pieces.push(Buffer.from(`--${boundary}--\r\n`));
  return { contentType: `${mediaType}; boundary=${boundary}`, bytes: Buffer.concat(pieces) };
}

/** A boundary from a hash of the parts, so that no part can contain it on purpose. */
function boundaryOf(parts: readonly Part[]): string {
  const hash = createHash("sha256");
  for (const { head, bytes } of parts) hash.update(`${head.length}:${bytes.length}:${head}`).update(bytes);
  return `haft-${hash.digest("hex").slice(0, 40)}`;
}

function toParts(field: FormField): readonly Part[] {
  const { value } = field;
  if (value === null) return [];
  if (isJsonArray(value) && !isSentAsJson(field)) return value.flatMap((item) => (item === null ? [] : [toPart(field, item)]));
  return [toPart(field, value)];
}

/** Whether an array is sent as one JSON text. */
function isSentAsJson({ encoding }: FormField): boolean {
  return encoding?.contentType !== undefined && parseMediaType(encoding.contentType).type === "application/json";
}

function toPart(field: FormField, value: JsonValue): Part {
  if (field.encoding?.binary === true) return filePart(field, value);
  const isNested = typeof value === "object" && value !== null;
  const declared = concreteType(field.encoding?.contentType);
  const contentType = declared ?? (isNested ? "application/json" : undefined);
  const text = valueText(value);
  return { head: partHead(field.name, { contentType }), bytes: Buffer.from(text) };
}

/** The part of a file, given as base64 or as an object that also names it: `{filename, contentType, data}`. */
function filePart(field: FormField, value: JsonValue): Part {
  const named = isJsonObject(value) ? value : undefined;
  const data = named === undefined ? value : (ownString(named, "data") ?? ownString(named, "base64") ?? null);
  const { bytes, mediaType, filename: filenameOfData } = readBase64(data, field.key);
  const given = named === undefined ? undefined : (ownString(named, "contentType") ?? ownString(named, "content_type"));
  const contentType =
    concreteType(given) ?? concreteType(mediaType) ?? concreteType(field.encoding?.contentType) ?? "application/octet-stream";
  const filename =
    (named === undefined ? filenameOfData : ownString(named, "filename")) ?? (isTextType(contentType) ? `${field.name}.txt` : field.name);
  return { head: partHead(field.name, { contentType, filename }), bytes };
}

/** The first media type of a list without wildcards. */
function concreteType(contentType: string | undefined): string | undefined {
  const first = contentType
    ?.split(",")
    .map((each) => each.trim())
    .find((each) => each !== "" && !each.includes("*"));
  if (first === undefined) return undefined;
  if (parseMediaType(first).type === "" || !/^[\x20-\x7e]+$/u.test(first)) {
    throw new ToolError("invalid_input", `${JSON.stringify(first.slice(0, 100))} is not a media type; nothing was sent.`);
  }
  return first;
}

function partHead(
  name: string,
  { contentType, filename }: { readonly contentType?: string | undefined; readonly filename?: string },
): string {
  const file = filename === undefined ? "" : `; filename="${quoteParameter(filename)}"`;
  const type = contentType === undefined ? "" : `\r\nContent-Type: ${contentType}`;
  return `Content-Disposition: form-data; name="${quoteParameter(name)}"${file}${type}`;
}

function quoteParameter(text: string): string {
  return text.replaceAll("\n", "%0A").replaceAll("\r", "%0D").replaceAll('"', "%22");
}
