/** Reads the request body of an operation, of any version. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { BodyEncoding, HttpBody, HttpParameter } from "../rest/http-operation.ts";
import { isJsonType, isTextType, parseMediaType } from "../rest/media-type.ts";
import { fieldsOf } from "./body-fields.ts";
import { own } from "../../core/base/own.ts";
import { ownText, ownTexts, type Found, type OpenApiDocument, type Target } from "./document.ts";
import { collectionStyle, type Parameters } from "./parameters.ts";
import { OPEN, type SchemaConverter, type SchemaPart } from "./schema-converter.ts";
import { BASE64_NOTE, isBinary, note } from "./schema-keywords.ts";
import { below, quote } from "./warnings.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";

/** A body whose fields have no keys yet. */
export interface ReadBody extends Pick<HttpBody, "required" | "mediaType" | "mediaTypes" | "binary"> {
  /** Undefined if the body is a single value. */
  readonly fields: readonly ReadField[] | undefined;
  /** The schema of the single value. */
  readonly whole: SchemaPart;
  readonly description: string | undefined;
  readonly encoding: Readonly<Record<string, BodyEncoding>> | undefined;
}

export interface ReadField {
  readonly name: string;
  /** Whether a body must have the field. */
  readonly required: boolean;
  readonly isAlwaysNeeded: boolean;
  readonly part: SchemaPart;
}

interface Reading {
  readonly document: OpenApiDocument;
  readonly converter: SchemaConverter;
}

const FORM = "application/x-www-form-urlencoded";
const MULTIPART = "multipart/form-data";
const MAX_MEDIA_TYPES = 50;

/** Reads the request body; undefined for an operation without one. */
export function readBody(reading: Reading, operation: Found, parameters: Parameters): ReadBody | undefined {
  if (reading.document.version === "2.0") return readSwaggerBody(reading, operation, parameters.bodyParameters);
  const declared = own(operation.value, "requestBody");
  if (declared === undefined) return undefined;
  const body = reading.document.object(declared, below(operation.place, "requestBody"), "the request body");
  if (body === undefined) return undefined;
  const offered = reading.document
    .members(body, "content")
    .filter(({ key }) => key.length <= 200)
    .slice(0, MAX_MEDIA_TYPES);
  const chosen = offered.toSorted((one, other) => rank(one.key) - rank(other.key))[0];
  if (chosen === undefined) return undefined;
  const content: Found = { value: isJsonObject(chosen.value) ? chosen.value : {}, place: chosen.place };
  const schema = own(content.value, "schema");
  const required = own(body.value, "required") === true;
  const described = describe(reading, {
    required,
    mediaType: chosen.key,
    schema: schema === undefined ? undefined : { value: schema, place: below(content.place, "schema") },
  });
  const encoding = readEncoding(reading, content, described);
  return {
    required,
    mediaTypes: offered.map(({ key }) => key),
    ...described,
    description: ownText(body.value, "description") ?? described.description,
    encoding: Object.keys(encoding).length === 0 ? undefined : Object.freeze(encoding),
  };
}

/** Rank of a media type, the lowest is used: JSON, then forms, bytes, text, and then the others in the document's order. */
function rank(mediaType: string): number {
  const { type } = parseMediaType(mediaType);
  if (type === "application/json") return 0;
  if (type === "*/*" || type === "application/*" || type === "") return 1;
  if (type === "application/merge-patch+json") return 2; // it takes a part of the object; a json-patch takes an array of steps
  if (type === "application/json-patch+json") return 4;
  if (isJsonType(type)) return 3;
  if (type === FORM) return 5;
  if (type === MULTIPART) return 6;
  if (type === "application/octet-stream") return 7;
  return type.startsWith("text/") ? 8 : 9;
}

interface Content {
  readonly mediaType: string;
  readonly schema: Target | undefined;
  /** Whether the body as a whole is required. */
  readonly required: boolean;
}

type Described = Pick<ReadBody, "mediaType" | "fields" | "whole" | "description" | "encoding" | "binary">;

function describe({ document, converter }: Reading, content: Content): Described {
  const { type } = parseMediaType(content.mediaType);
  const { schema } = content;
  const raw = schema === undefined || !isJsonObject(schema.value) ? undefined : resolved(document, schema.value);
  const isAnything = type.includes("*") || type === "";
  const isBytes = raw !== undefined && isBinary(raw);
  const mediaType = isAnything ? (isBytes ? "application/octet-stream" : "application/json") : content.mediaType;
  const isForm = type === FORM || type === MULTIPART || type === "multipart/mixed";
  if (!isForm && !isAnything && !isJsonType(type)) return { mediaType, ...textOrBytes(mediaType, isBytes), description: undefined };
  const whole = converter.convert(schema?.value, schema?.place ?? { parent: undefined, step: "" });
  const object = !isForm && raw !== undefined && isBase(raw) ? undefined : fieldsOf(whole, converter);
  document.look(object?.fields.size ?? 0);
  if (isForm && raw !== undefined && isNoObject(raw)) return { mediaType, ...FORM_FIELDS, description: undefined };
  if (object === undefined) return { mediaType, fields: undefined, whole, description: undefined, encoding: undefined };
  const binary: (readonly [string, BodyEncoding])[] = [];
  const fields = [...object.fields].map(([name, part]): ReadField => {
    const isFile = type.startsWith("multipart/") && holdsBytes(part, converter);
    if (isFile) binary.push([name, { binary: true }]);
    const required = object.required.has(name);
    return { name, part: isFile ? asBase64(part) : part, required, isAlwaysNeeded: required && content.required };
  });
  return { mediaType, fields, whole, description: object.description, encoding: Object.fromEntries(binary) };
}

/** The schema of a form whose declared schema is not an object: a form always has named fields. */
const FORM_FIELDS: Pick<Described, "fields" | "whole" | "encoding"> = {
  fields: undefined,
  whole: { schema: Object.freeze({ type: "object", description: "The fields of the form, by name." }), references: [], weight: 1 },
  encoding: undefined,
};

/** Whether schemas extend it by allOf with further fields, selected by its discriminator. */
function isBase(raw: JsonObject): boolean {
  return Object.hasOwn(raw, "discriminator") && own(raw, "oneOf") === undefined && own(raw, "anyOf") === undefined;
}

function isNoObject(raw: JsonObject): boolean {
  const type = own(raw, "type");
  return isBinary(raw) || (typeof type === "string" && type !== "object") || (isJsonArray(type) && !type.includes("object"));
}

/** The schema of a body that is not JSON: text is a string, whatever the document describes, bytes are base64. */
function textOrBytes(mediaType: string, isBytes: boolean): Pick<Described, "fields" | "whole" | "encoding" | "binary"> {
  const { type } = parseMediaType(mediaType);
  const isText = isTextType(type) && !isBytes;
  const schema: JsonObject = isText
    ? { type: "string", description: `The body, as text of the type ${mediaType}.` }
    : { type: "string", contentEncoding: "base64", description: `The body: the bytes of the type ${mediaType}, in Base64.` };
  return {
    fields: undefined,
    whole: { schema: Object.freeze(schema), references: [], weight: 1 },
    encoding: undefined,
    binary: isTextType(type) && isBytes,
  };
}

function readEncoding({ document }: Reading, content: Found, described: Described): Readonly<Record<string, BodyEncoding>> {
  const known = described.encoding ?? {};
  const given = own(content.value, "encoding");
  if (!isJsonObject(given)) return known;
  const entries = (described.fields ?? []).flatMap(({ name }): readonly (readonly [string, BodyEncoding])[] => {
    const declared = own(given, name);
    return isJsonObject(declared) ? [[name, { ...encodingOf(document, declared, content), ...known[name] }]] : [];
  });
  return { ...known, ...Object.fromEntries(entries.filter(([, encoding]) => Object.keys(encoding).length > 0)) };
}

const STYLES: readonly HttpParameter["style"][] = ["form", "spaceDelimited", "pipeDelimited", "deepObject"];

function encodingOf(document: OpenApiDocument, declared: JsonObject, content: Found): BodyEncoding {
  const contentType = ownText(declared, "contentType");
  const explode = own(declared, "explode");
  const given = own(declared, "style");
  const style = STYLES.find((known) => known === given);
  if (given !== undefined && style === undefined) {
    document.warnings.add(
      below(content.place, "encoding"),
      `the style ${quote(given)} is not one of ${STYLES.join(", ")}; it is left out.`,
    );
  }
  return {
    ...omitUndefined({ contentType, style }),
    ...(typeof explode === "boolean" ? { explode } : {}),
    ...(own(declared, "allowReserved") === true ? { allowReserved: true } : {}),
  };
}

/** Whether the part is bytes, an array of bytes, or a choice with bytes. In 3.1, bytes have a media type and no encoding. */
function holdsBytes(part: SchemaPart, converter: SchemaConverter): boolean {
  const { schema } = part;
  if (!isJsonObject(schema) || Object.hasOwn(schema, "properties")) return false;
  if (part.isBytes === true || part.references.some((name) => converter.definition(name).isBytes === true)) return true;
  const { contentMediaType, contentEncoding } = schema;
  return typeof contentMediaType === "string" && contentEncoding === undefined && !isTextType(parseMediaType(contentMediaType).type);
}

/** Notes that bytes are given as base64, unless the document says so. Examples are removed, as they are file names. */
function asBase64(part: SchemaPart): SchemaPart {
  const { schema } = part;
  if (!isJsonObject(schema)) return part;
  const members: Record<string, JsonValue> = { ...schema };
  delete members["examples"];
  if (typeof schema["contentMediaType"] === "string" && !Object.hasOwn(schema, "contentEncoding")) {
    members["contentEncoding"] = "base64";
    note({ members }, BASE64_NOTE);
  }
  return { ...part, schema: Object.freeze(members) };
}

function resolved(document: OpenApiDocument, raw: JsonObject): JsonObject {
  let at: JsonObject = raw;
  for (let count = 0; count < 20; count++) {
    const reference = own(at, "$ref");
    const target = typeof reference === "string" ? document.lookUp(reference)?.value : undefined;
    if (!isJsonObject(target)) return at;
    at = target;
  }
  return at;
}

function readSwaggerBody(reading: Reading, operation: Found, parameters: Parameters["bodyParameters"]): ReadBody | undefined {
  const { document } = reading;
  const consumes = (ownTexts(operation.value, "consumes") ?? ownTexts(document.root, "consumes") ?? []).slice(0, MAX_MEDIA_TYPES);
  const body = parameters.find((parameter) => parameter.in === "body");
  if (body !== undefined) {
    const mediaTypes = consumes.length === 0 ? ["application/json"] : consumes;
    const mediaType = mediaTypes.toSorted((one, other) => rank(one) - rank(other))[0] ?? "application/json";
    const schema = own(body.value, "schema");
    const required = own(body.value, "required") === true;
    const described = describe(reading, {
      required,
      mediaType,
      schema: schema === undefined ? undefined : { value: schema, place: below(body.place, "schema") },
    });
    const description = ownText(body.value, "description") ?? described.description;
    return { required, mediaTypes, ...described, description };
  }
  return parameters.length === 0 ? undefined : readForm(reading, parameters, consumes);
}

/** Reads the `in: formData` parameters as a body. Files require a multipart form. */
function readForm({ converter }: Reading, parameters: Parameters["bodyParameters"], consumes: readonly string[]): ReadBody {
  const hasFile = parameters.some(({ value }) => own(value, "type") === "file");
  const forms = consumes.filter((type) => parseMediaType(type).type === FORM || type.startsWith("multipart/"));
  const fallback = hasFile ? MULTIPART : FORM;
  const mediaType = (hasFile ? forms.find((type) => type.startsWith("multipart/")) : forms[0]) ?? fallback;
  const encoding: (readonly [string, BodyEncoding])[] = [];
  const fields = parameters.map(({ name, value, place }): ReadField => {
    if (own(value, "type") === "array") encoding.push([name, collectionStyle(value, "query")]);
    else if (own(value, "type") === "file") encoding.push([name, { binary: true }]);
    const required = own(value, "required") === true;
    return { name, required, isAlwaysNeeded: required, part: converter.convert(value, place) };
  });
  return {
    required: false,
    mediaType,
    mediaTypes: consumes.length === 0 ? [mediaType] : consumes,
    fields,
    whole: OPEN,
    description: undefined,
    encoding: encoding.length === 0 ? undefined : Object.freeze(Object.fromEntries(encoding)),
  };
}
