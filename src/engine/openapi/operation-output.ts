/** Reads the answers of an operation: the media types for the Accept header, and the schema of the JSON. */
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { JsonSchema } from "../../core/tool.ts";
import { isJsonType, parseMediaType } from "../rest/media-type.ts";
import { getOwn } from "../../core/base/get-own.ts";
import { ownStrings, type LocatedObject, type OpenApiDocument, type LocatedValue } from "./document.ts";
import { ANY_SCHEMA_PART, type SchemaPart } from "./schema-converter.ts";
import type { ToolSchemas } from "./tool-schema.ts";
import { childPlace } from "./warnings.ts";

export interface OperationOutput {
  readonly accepts: readonly string[];
  readonly outputSchema: JsonSchema | undefined;
}

/** One successful answer of an operation. */
interface ResponseContent {
  readonly mediaTypes: readonly string[];
  /** The schema of its JSON; undefined if it is not JSON, or has no schema. */
  readonly schema: LocatedValue | undefined;
  /** Whether it declares no body. */
  readonly isEmpty: boolean;
}

const NULL_PART: SchemaPart = Object.freeze({ schema: Object.freeze({ type: "null" }), references: Object.freeze([]), weight: 1 });
const MAX_MEDIA_TYPES = 50;
/** Statuses whose answers have no body. Answers with other statuses may have a body that the document does not declare. */
const NO_BODY = /^20[45]$/u;

/**
 * Reads the successful answers, or `default` if there are none.
 *
 * There is an output schema only if each of them is JSON with a known schema, or empty (null). Several schemas become alternatives, the lowest status
 * first. If all answers are 204 or 205, the schema is null. A schema that some correct answers violate would make those answers `partial`.
 */
export function operationOutput(
  document: OpenApiDocument,
  schemas: ToolSchemas,
  operation: LocatedObject,
  method: string,
): OperationOutput {
  const answers = successResponses(document, operation).map(({ status, response }) => {
    const answer = readResponse(document, operation, response);
    return { ...answer, hasNoBody: answer.isEmpty && NO_BODY.test(status) };
  });
  const mediaTypes = [...new Set(answers.flatMap((answer) => answer.mediaTypes))].slice(0, MAX_MEDIA_TYPES);
  const accepts = mediaTypes.toSorted((one, other) => Number(isJson(other)) - Number(isJson(one)));
  const isNothing = answers.length > 0 && answers.every(({ hasNoBody }) => hasNoBody);
  const isKnown =
    isNothing ||
    (answers.some(({ schema }) => schema !== undefined) && answers.every(({ schema, isEmpty }) => schema !== undefined || isEmpty));
  if (!isKnown || method === "HEAD") return { accepts, outputSchema: undefined };
  const parts = new Map<unknown, SchemaPart>();
  for (const { schema, isEmpty } of answers) {
    const part = isEmpty || schema === undefined ? NULL_PART : schemas.converter.convert(schema.value, schema.place);
    // a definition is the same part however often it is referred to
    const identity = isJsonObject(part.schema) && typeof part.schema["$ref"] === "string" ? part.schema["$ref"] : part.schema;
    if (!parts.has(identity)) parts.set(identity, part);
  }
  const outputSchema = schemas.withDefinitions(anyOfParts([...parts.values()]));
  const isOpen = outputSchema === true || (isJsonObject(outputSchema) && Object.keys(outputSchema).length === 0);
  return { accepts, outputSchema: isOpen ? undefined : outputSchema };
}

function anyOfParts(parts: readonly SchemaPart[]): SchemaPart {
  const [first = ANY_SCHEMA_PART] = parts;
  if (parts.length < 2) return first;
  const schema: JsonObject = Object.freeze({ anyOf: Object.freeze(parts.map((part) => part.schema)) });
  return {
    schema,
    references: [...new Set(parts.flatMap(({ references }) => references))],
    weight: parts.reduce((sum, { weight }) => sum + weight, 1),
  };
}

interface SuccessResponse {
  readonly status: string;
  readonly response: LocatedObject;
}

/** The successful responses by status, `2XX` after the others. */
function successResponses(document: OpenApiDocument, operation: LocatedObject): readonly SuccessResponse[] {
  const all = document.readMembers(operation, "responses");
  const statuses = all
    .filter(({ key }) => /^2(?:\d\d|XX)$/iu.test(key))
    .toSorted((one, other) => (one.key.toUpperCase() < other.key.toUpperCase() ? -1 : 1));
  const chosen = statuses.length > 0 ? statuses : all.filter(({ key }) => key === "default");
  return chosen.flatMap(({ key, value, place }) => {
    const response = document.readObject(value, place, "a response");
    return response === undefined ? [] : [{ status: key, response }];
  });
}

function readResponse(document: OpenApiDocument, operation: LocatedObject, response: LocatedObject): ResponseContent {
  if (document.version === "2.0") return readSwaggerResponse(document, operation, response);
  const content = document.readMembers(response, "content");
  const mediaTypes = content.map(({ key }) => key).filter(isShortType);
  const json =
    content.find(({ key }) => parseMediaType(key).type === "application/json") ?? content.find(({ key }) => isJson(key) || key === "*/*");
  const schema = isJsonObject(json?.value) ? getOwn(json.value, "schema") : undefined;
  return {
    mediaTypes,
    schema: json === undefined || schema === undefined ? undefined : { value: schema, place: childPlace(json.place, "schema") },
    isEmpty: content.length === 0,
  };
}

function readSwaggerResponse(document: OpenApiDocument, operation: LocatedObject, response: LocatedObject): ResponseContent {
  const produces = (ownStrings(operation.value, "produces") ?? ownStrings(document.root, "produces") ?? []).filter(isShortType);
  const schema = getOwn(response.value, "schema");
  const isJsonAnswer = produces.length === 0 || produces.some((type) => isJson(type) || type === "*/*");
  const isFile = isJsonObject(schema) && getOwn(schema, "type") === "file";
  return {
    mediaTypes: schema === undefined ? [] : produces,
    schema: schema === undefined || isFile || !isJsonAnswer ? undefined : { value: schema, place: childPlace(response.place, "schema") },
    isEmpty: schema === undefined,
  };
}

function isShortType(mediaType: string): boolean {
  return mediaType.length <= 200;
}

function isJson(mediaType: string): boolean {
  return isJsonType(parseMediaType(mediaType).type);
}
