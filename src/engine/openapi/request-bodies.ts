/** Reads the request body of an operation, of any version. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { BodyEncoding, HttpBody, HttpParameter } from "../rest/http-operation.ts";
import { isJsonType, isTextType, parseMediaType } from "../rest/media-type.ts";
import { readObjectFields } from "./body-fields.ts";
import { getOwn } from "../../core/base/get-own.ts";
import { ownString, ownStrings, type LocatedObject, type OpenApiDocument, type LocatedValue } from "./document.ts";
import { collectionStyle, type Parameters } from "./parameters.ts";
import { ANY_SCHEMA_PART, type SchemaConverter, type SchemaPart } from "./schema-converter.ts";
import { BASE64_NOTE, isBinary, addNote } from "./schema-keywords.ts";
import { childPlace, quote } from "./warnings.ts";
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

interface BodyContext {
  readonly document: OpenApiDocument;
  readonly converter: SchemaConverter;
}

const FORM = "application/x-www-form-urlencoded";
const MULTIPART = "multipart/form-data";
const MAX_MEDIA_TYPES = 50;

/** Reads the request body; undefined for an operation without one. */
export function readBody(context: BodyContext, operation: LocatedObject, parameters: Parameters): ReadBody | undefined {
  if (context.document.version === "2.0") return readSwaggerBody(context, operation, parameters.bodyParameters);
  const declared = getOwn(operation.value, "requestBody");
  if (declared === undefined) return undefined;
  const body = context.document.readObject(declared, childPlace(operation.place, "requestBody"), "the request body");
  if (body === undefined) return undefined;
  const offered = context.document
    .readMembers(body, "content")
    .filter(({ key }) => key.length <= 200)
    .slice(0, MAX_MEDIA_TYPES);
  const chosen = offered.toSorted((one, other) => mediaTypeRank(one.key) - mediaTypeRank(other.key))[0];
  if (chosen === undefined) return undefined;
  const content: LocatedObject = { value: isJsonObject(chosen.value) ? chosen.value : {}, place: chosen.place };
  const schema = getOwn(content.value, "schema");
  const required = getOwn(body.value, "required") === true;
  const described = describeContent(context, {
    required,
    mediaType: chosen.key,
    schema: schema === undefined ? undefined : { value: schema, place: childPlace(content.place, "schema") },
  });
  const encoding = readEncoding(context, content, described);
  return {
    required,
    mediaTypes: offered.map(({ key }) => key),
    ...described,
    description: ownString(body.value, "description") ?? described.description,
    encoding: Object.keys(encoding).length === 0 ? undefined : Object.freeze(encoding),
  };
}

/** Rank of a media type, the lowest is used: JSON, then forms, bytes, text, and then the others in the document's order. */
function mediaTypeRank(mediaType: string): number {
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

interface DeclaredContent {
  readonly mediaType: string;
  readonly schema: LocatedValue | undefined;
  /** Whether the body as a whole is required. */
  readonly required: boolean;
}

type ContentDescription = Pick<ReadBody, "mediaType" | "fields" | "whole" | "description" | "encoding" | "binary">;

function describeContent({ document, converter }: BodyContext, content: DeclaredContent): ContentDescription {
  const { type } = parseMediaType(content.mediaType);
  const { schema } = content;
  const raw = schema === undefined || !isJsonObject(schema.value) ? undefined : resolveReferences(document, schema.value);
  const isAnything = type.includes("*") || type === "";
  const isBytes = raw !== undefined && isBinary(raw);
  const mediaType = isAnything ? (isBytes ? "application/octet-stream" : "application/json") : content.mediaType;
  const isForm = type === FORM || type === MULTIPART || type === "multipart/mixed";
  if (!isForm && !isAnything && !isJsonType(type)) return { mediaType, ...rawBody(mediaType, isBytes), description: undefined };
  const whole = converter.convert(schema?.value, schema?.place ?? { parent: undefined, step: "" });
  const object = !isForm && raw !== undefined && isPolymorphicBase(raw) ? undefined : readObjectFields(whole, converter);
  document.countReads(object?.fields.size ?? 0);
  if (isForm && raw !== undefined && isNotObject(raw)) return { mediaType, ...FORM_FIELDS, description: undefined };
  if (object === undefined) return { mediaType, fields: undefined, whole, description: undefined, encoding: undefined };
  const binary: (readonly [string, BodyEncoding])[] = [];
  const fields = [...object.fields].map(([name, part]): ReadField => {
    const isFile = type.startsWith("multipart/") && containsBytes(part, converter);
    if (isFile) binary.push([name, { binary: true }]);
    const required = object.required.has(name);
    return { name, part: isFile ? withBase64Note(part) : part, required, isAlwaysNeeded: required && content.required };
  });
  return { mediaType, fields, whole, description: object.description, encoding: Object.fromEntries(binary) };
}

/** The schema of a form whose declared schema is not an object: a form always has named fields. */
const FORM_FIELDS: Pick<ContentDescription, "fields" | "whole" | "encoding"> = {
  fields: undefined,
  whole: { schema: Object.freeze({ type: "object", description: "The fields of the form, by name." }), references: [], weight: 1 },
  encoding: undefined,
};

/** Whether schemas extend it by allOf with further fields, selected by its discriminator. */
function isPolymorphicBase(raw: JsonObject): boolean {
  return Object.hasOwn(raw, "discriminator") && getOwn(raw, "oneOf") === undefined && getOwn(raw, "anyOf") === undefined;
}

function isNotObject(raw: JsonObject): boolean {
  const type = getOwn(raw, "type");
  return isBinary(raw) || (typeof type === "string" && type !== "object") || (isJsonArray(type) && !type.includes("object"));
}

/** The schema of a body that is not JSON: text is a string, whatever the document describes, bytes are base64. */
function rawBody(mediaType: string, isBytes: boolean): Pick<ContentDescription, "fields" | "whole" | "encoding" | "binary"> {
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

function readEncoding(
  { document }: BodyContext,
  content: LocatedObject,
  described: ContentDescription,
): Readonly<Record<string, BodyEncoding>> {
  const known = described.encoding ?? {};
  const given = getOwn(content.value, "encoding");
  if (!isJsonObject(given)) return known;
  const entries = (described.fields ?? []).flatMap(({ name }): readonly (readonly [string, BodyEncoding])[] => {
    const declared = getOwn(given, name);
    return isJsonObject(declared) ? [[name, { ...readFieldEncoding(document, declared, content), ...known[name] }]] : [];
  });
  return { ...known, ...Object.fromEntries(entries.filter(([, encoding]) => Object.keys(encoding).length > 0)) };
}

const STYLES: readonly HttpParameter["style"][] = ["form", "spaceDelimited", "pipeDelimited", "deepObject"];

function readFieldEncoding(document: OpenApiDocument, declared: JsonObject, content: LocatedObject): BodyEncoding {
  const contentType = ownString(declared, "contentType");
  const explode = getOwn(declared, "explode");
  const given = getOwn(declared, "style");
  const style = STYLES.find((known) => known === given);
  if (given !== undefined && style === undefined) {
    document.warnings.add(
      childPlace(content.place, "encoding"),
      `the style ${quote(given)} is not one of ${STYLES.join(", ")}; it is left out.`,
    );
  }
  return {
    ...omitUndefined({ contentType, style }),
    ...(typeof explode === "boolean" ? { explode } : {}),
    ...(getOwn(declared, "allowReserved") === true ? { allowReserved: true } : {}),
  };
}

/** Whether the part is bytes, an array of bytes, or a choice with bytes. In 3.1, bytes have a media type and no encoding. */
function containsBytes(part: SchemaPart, converter: SchemaConverter): boolean {
  const { schema } = part;
  if (!isJsonObject(schema) || Object.hasOwn(schema, "properties")) return false;
  if (part.isBytes === true || part.references.some((name) => converter.getDefinition(name).isBytes === true)) return true;
  const { contentMediaType, contentEncoding } = schema;
  return typeof contentMediaType === "string" && contentEncoding === undefined && !isTextType(parseMediaType(contentMediaType).type);
}

/** Notes that bytes are given as base64, unless the document says so. Examples are removed, as they are file names. */
function withBase64Note(part: SchemaPart): SchemaPart {
  const { schema } = part;
  if (!isJsonObject(schema)) return part;
  const members: Record<string, JsonValue> = { ...schema };
  delete members["examples"];
  if (typeof schema["contentMediaType"] === "string" && !Object.hasOwn(schema, "contentEncoding")) {
    members["contentEncoding"] = "base64";
    addNote({ members }, BASE64_NOTE);
  }
  return { ...part, schema: Object.freeze(members) };
}

function resolveReferences(document: OpenApiDocument, raw: JsonObject): JsonObject {
  let at: JsonObject = raw;
  for (let count = 0; count < 20; count++) {
    const reference = getOwn(at, "$ref");
    const target = typeof reference === "string" ? document.resolveReference(reference)?.value : undefined;
    if (!isJsonObject(target)) return at;
    at = target;
  }
  return at;
}

function readSwaggerBody(context: BodyContext, operation: LocatedObject, parameters: Parameters["bodyParameters"]): ReadBody | undefined {
  const { document } = context;
  const consumes = (ownStrings(operation.value, "consumes") ?? ownStrings(document.root, "consumes") ?? []).slice(0, MAX_MEDIA_TYPES);
  const body = parameters.find((parameter) => parameter.in === "body");
  if (body !== undefined) {
    const mediaTypes = consumes.length === 0 ? ["application/json"] : consumes;
    const mediaType = mediaTypes.toSorted((one, other) => mediaTypeRank(one) - mediaTypeRank(other))[0] ?? "application/json";
    const schema = getOwn(body.value, "schema");
    const required = getOwn(body.value, "required") === true;
    const described = describeContent(context, {
      required,
      mediaType,
      schema: schema === undefined ? undefined : { value: schema, place: childPlace(body.place, "schema") },
    });
    const description = ownString(body.value, "description") ?? described.description;
    return { required, mediaTypes, ...described, description };
  }
  return parameters.length === 0 ? undefined : readForm(context, parameters, consumes);
}

/** Reads the `in: formData` parameters as a body. Files require a multipart form. */
function readForm({ converter }: BodyContext, parameters: Parameters["bodyParameters"], consumes: readonly string[]): ReadBody {
  const hasFile = parameters.some(({ value }) => getOwn(value, "type") === "file");
  const forms = consumes.filter((type) => parseMediaType(type).type === FORM || type.startsWith("multipart/"));
  const fallback = hasFile ? MULTIPART : FORM;
  const mediaType = (hasFile ? forms.find((type) => type.startsWith("multipart/")) : forms[0]) ?? fallback;
  const encoding: (readonly [string, BodyEncoding])[] = [];
  const fields = parameters.map(({ name, value, place }): ReadField => {
    if (getOwn(value, "type") === "array") encoding.push([name, collectionStyle(value, "query")]);
    else if (getOwn(value, "type") === "file") encoding.push([name, { binary: true }]);
    const required = getOwn(value, "required") === true;
    return { name, required, isAlwaysNeeded: required, part: converter.convert(value, place) };
  });
  return {
    required: false,
    mediaType,
    mediaTypes: consumes.length === 0 ? [mediaType] : consumes,
    fields,
    whole: ANY_SCHEMA_PART,
    description: undefined,
    encoding: encoding.length === 0 ? undefined : Object.freeze(Object.fromEntries(encoding)),
  };
}
