/** Encodes the body of a request in the media type of its operation. */
import { getOwn } from "../../core/base/get-own.ts";
import { ToolError } from "../../core/error.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { readBase64 } from "./base64.ts";
import type { BodyEncoding, HttpBody } from "./http-operation.ts";
import { isJsonType, isTextType, parseMediaType } from "./media-type.ts";
import { writeMultipart, type FormField } from "./multipart.ts";
import { percentEncode } from "./percent-encode.ts";
import { queryPairs } from "./serialize-value.ts";
import { valueText } from "../../core/content.ts";

export interface RequestBody {
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** The keys of the input that belong to the body. */
export function bodyKeys(body: HttpBody | undefined): readonly string[] {
  if (body === undefined) return [];
  return "key" in body.fields ? [body.fields.key] : body.fields.map((field) => field.key);
}

/** The encoded body; undefined if it is optional and not given. @throws ToolError `invalid_input` for a value that cannot be sent */
export function requestBody(body: HttpBody, input: JsonObject): RequestBody | undefined {
  const { type } = parseMediaType(body.mediaType);
  const value = bodyValue(body, input);
  if (value === undefined) return undefined;
  if (type.startsWith("multipart/")) return writeMultipart(type, formFields(body, value));
  if (type === "application/x-www-form-urlencoded") {
    const pairs = formFields(body, value).flatMap(formPairs);
    return { contentType: type, bytes: Buffer.from(pairs.join("&").replaceAll("%20", "+")) };
  }
  if (body.binary === true) return bytesBody(body, value);
  // a server that accepts a range of types most often accepts JSON
  if (isJsonType(type) || (type.includes("*") && typeof value !== "string") || type === "") {
    return {
      contentType: type.includes("*") || type === "" ? "application/json" : body.mediaType,
      bytes: Buffer.from(JSON.stringify(value)),
    };
  }
  return isTextType(type) ? textBody(body, value) : bytesBody(body, value);
}

/** The value of the body from the input; fields have their names in the body. */
function bodyValue(body: HttpBody, input: JsonObject): JsonValue | undefined {
  if ("key" in body.fields) {
    const value = getOwn(input, body.fields.key);
    if (value === undefined && body.required)
      throw new ToolError("invalid_input", `The body ${JSON.stringify(body.fields.key)} is missing; nothing was sent.`);
    return value;
  }
  const table: Record<string, JsonValue> = Object.create(null); // a field may be named "__proto__"
  for (const { name, key } of body.fields) {
    const value = getOwn(input, key);
    if (value !== undefined) table[name] = value;
  }
  return body.required || Object.keys(table).length > 0 ? table : undefined;
}

function formFields(body: HttpBody, value: JsonValue): readonly FormField[] {
  if (!isJsonObject(value))
    throw new ToolError("invalid_input", `A body of ${body.mediaType} must be an object of its fields; nothing was sent.`);
  const keys = new Map("key" in body.fields ? [] : body.fields.map((field) => [field.name, field.key]));
  return Object.entries(value).map(([name, item]) => ({
    name,
    key: keys.get(name) ?? name,
    value: item,
    encoding: body.encoding !== undefined && Object.hasOwn(body.encoding, name) ? body.encoding[name] : undefined,
  }));
}

/** Encodes a field by its style, if it has one, else by its media type. @see https://spec.openapis.org/oas/v3.1.1.html#encoding-object */
function formPairs({ name, value, encoding }: FormField): readonly string[] {
  if (value === null) return [];
  if (encoding?.style !== undefined || encoding?.explode !== undefined || encoding?.allowReserved !== undefined) {
    return queryPairs({ name, ...styleOf(encoding) }, value);
  }
  const isWhole = encoding?.contentType !== undefined && isJsonType(parseMediaType(encoding.contentType).type);
  if (isJsonArray(value) && !isWhole) return queryPairs({ name, style: "form", explode: true }, value);
  return [`${percentEncode(name)}=${percentEncode(isWhole ? JSON.stringify(value) : valueText(value))}`];
}

function styleOf(encoding: BodyEncoding): Pick<Required<BodyEncoding>, "style" | "explode" | "allowReserved"> {
  const { style = "form" } = encoding;
  return { style, explode: encoding.explode ?? style === "form", allowReserved: encoding.allowReserved ?? false };
}

function textBody(body: HttpBody, value: JsonValue): RequestBody {
  if (typeof value === "object" && value !== null) {
    throw new ToolError("invalid_input", `A body of ${body.mediaType} must be given as text; nothing was sent.`, {
      hint: `Write the ${body.mediaType} yourself, as one string.`,
    });
  }
  return { contentType: `${parseMediaType(body.mediaType).type}; charset=utf-8`, bytes: Buffer.from(valueText(value)) };
}

function bytesBody(body: HttpBody, value: JsonValue): RequestBody {
  const { bytes, mediaType } = readBase64(value, "key" in body.fields ? body.fields.key : "body");
  const named = body.mediaType.includes("*") ? mediaType : body.mediaType;
  return { contentType: named ?? "application/octet-stream", bytes };
}
