/** Builds the input schema of an operation's tool, one object with all parameters and the body, and maps its keys to the request. */
import { pushAll } from "../../core/collections/push-all.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "../../core/base/json.ts";
import type { JsonSchema } from "../../core/tool.ts";
import type { HttpBody, HttpParameter } from "../rest/http-operation.ts";
import { findExample, type Parameters, type ReadParameter } from "./parameters.ts";
import type { ReadBody } from "./request-bodies.ts";
import { ANY_SCHEMA_PART, type SchemaPart } from "./schema-converter.ts";
import { addNote } from "./schema-keywords.ts";
import type { ToolSchemas } from "./tool-schema.ts";
import { truncateText } from "./warnings.ts";
import { hash } from "node:crypto";

export interface OperationInput {
  readonly inputSchema: JsonSchema;
  readonly parameters: readonly HttpParameter[];
  readonly body: HttpBody | undefined;
}

export interface OperationInputOptions {
  readonly schemas: ToolSchemas;
  /** Whether the program supplies the parameter, so that the model is not asked for it. */
  readonly isSupplied: (parameter: ReadParameter["http"]) => boolean;
}

interface Property {
  readonly key: string;
  readonly part: SchemaPart;
  readonly required: boolean;
}

const MAX_DESCRIPTION = 1_000;
/** Maximum weight of all properties together, without their definitions. */
const MAX_WEIGHT = 10_000;

/** The input schema refuses unknown keys: a value that the request cannot carry would be lost silently. */
export function operationInput(options: OperationInputOptions, { parameters }: Parameters, body: ReadBody | undefined): OperationInput {
  const named = [
    ...parameters.map(({ http }) => http),
    ...(body === undefined ? [] : (body.fields ?? [{ name: "body" }]).map(({ name }) => ({ name, in: "body" }))),
  ];
  const keys = inputKeys(named);
  const properties: Property[] = [];
  const httpParameters = parameters.map((parameter, index): HttpParameter => {
    const { http } = parameter;
    const key = keys[index] ?? http.name;
    if (http.supplied === true || options.isSupplied(http)) return { ...http, key, supplied: true };
    properties.push({ key, part: withWireName(parameterPart(options, parameter), key, http), required: http.required });
    return { ...http, key };
  });
  const bodyKeys = keys.slice(parameters.length);
  if (body !== undefined) pushAll(properties, bodyProperties(body, bodyKeys));
  return {
    inputSchema: options.schemas.withDefinitions(objectSchemaPart(properties)),
    parameters: httpParameters,
    body: body === undefined ? undefined : httpBody(body, bodyKeys),
  };
}

/** The object schema of the properties. If it is too large for a validator, the heaviest properties accept any value. */
function objectSchemaPart(all: readonly Property[]): SchemaPart {
  const weight = all.reduce((sum, { part }) => sum + part.weight, 1);
  const properties =
    weight <= MAX_WEIGHT
      ? all
      : all.map((each) => (each.part.weight > MAX_WEIGHT / all.length ? { ...each, part: ANY_SCHEMA_PART } : each));
  const required = properties.filter((property) => property.required).map(({ key }) => key);
  const schema: JsonObject = {
    type: "object",
    properties: Object.freeze(Object.fromEntries(properties.map(({ key, part }) => [key, part.schema]))),
    ...(required.length === 0 ? {} : { required: Object.freeze(required) }),
    additionalProperties: false,
  };
  return { schema: Object.freeze(schema), references: [...new Set(properties.flatMap(({ part }) => part.references))], weight };
}

function parameterPart({ schemas }: OperationInputOptions, { found, schema }: ReadParameter): SchemaPart {
  const part = schema === undefined ? ANY_SCHEMA_PART : schemas.converter.convert(schema.value, schema.place);
  if (found === undefined || found.value === schema?.value) return part;
  const description = found.value["description"];
  const example = findExample(found);
  return withAnnotations(part, {
    ...(typeof description === "string" && description !== "" ? { description: truncateText(description, MAX_DESCRIPTION) } : {}),
    ...(isShowableExample(example) && !hasKeyword(part, "examples") ? { examples: Object.freeze([example]) } : {}),
    ...(found.value["deprecated"] === true ? { deprecated: true } : {}),
  });
}

function isShowableExample(example: JsonValue | undefined): example is string | number | boolean {
  return typeof example === "number" || typeof example === "boolean" || (typeof example === "string" && example.length <= 120);
}

function hasKeyword({ schema }: SchemaPart, keyword: string): boolean {
  return isJsonObject(schema) && Object.hasOwn(schema, keyword);
}

/** The part with other annotations. */
function withAnnotations(part: SchemaPart, annotations: JsonObject): SchemaPart {
  if (part.schema === false || Object.keys(annotations).length === 0) return part;
  return { ...part, schema: Object.freeze({ ...(part.schema === true ? {} : part.schema), ...annotations }) };
}

/** The properties of the body. If the body is optional, its required fields are not required, and say so in their descriptions. */
function bodyProperties(body: ReadBody, keys: readonly string[]): readonly Property[] {
  if (body.fields === undefined) {
    const description = body.description === undefined ? {} : { description: truncateText(body.description, MAX_DESCRIPTION) };
    const part = hasKeyword(body.whole, "description") ? body.whole : withAnnotations(body.whole, description);
    return [{ key: keys[0] ?? "body", part, required: body.required }];
  }
  return body.fields.map(({ name, part, required, isAlwaysNeeded }, index) => {
    const key = keys[index] ?? name;
    const named = withWireName(part, key, { name, in: "body" });
    const isNoted = required && !isAlwaysNeeded;
    return { key, part: isNoted ? withNote(named, "Required when a body is sent.") : named, required: isAlwaysNeeded };
  });
}

const MAX_SHOWN_NAME = 200;
const PLACES: Readonly<Record<string, string>> = {
  path: "in the path",
  query: "as the query parameter",
  header: "as the header",
  cookie: "as the cookie",
  body: "as the field",
};

/** Notes the real name if the key differs from it: `StartTime<` and `StartTime>` may differ in nothing else. */
function withWireName(part: SchemaPart, key: string, { name, in: place }: NamedParameter): SchemaPart {
  if (key === name) return part;
  return withNote(
    part,
    `Sent ${PLACES[place] ?? "as"} ${JSON.stringify(truncateText(name, MAX_SHOWN_NAME))}${place === "body" ? " of the body" : ""}.`,
  );
}

function withNote(part: SchemaPart, sentence: string): SchemaPart {
  if (part.schema === false) return part;
  const members = part.schema === true ? {} : { ...part.schema };
  addNote({ members }, sentence);
  return { ...part, schema: Object.freeze(members) };
}

function httpBody(body: ReadBody, keys: readonly string[]): HttpBody {
  const { required, mediaType, mediaTypes, fields, encoding, binary } = body;
  return {
    required,
    mediaType,
    mediaTypes,
    fields:
      fields === undefined
        ? { key: keys[0] ?? "body" }
        : fields.map((field, index) => ({ name: field.name, key: keys[index] ?? field.name, required: field.required })),
    ...(binary === true ? { binary: true } : {}),
    ...(encoding === undefined || Object.keys(encoding).length === 0 ? {} : { encoding }),
  };
}

interface NamedParameter {
  /** The name in the request. */
  readonly name: string;
  /** `path`, `query`, `header`, `cookie` or `body`. */
  readonly in: string;
}

const PLACE_NAMES = Object.keys(PLACES);
/** Property names that every provider allows. */
const ALLOWED = /^[A-Za-z0-9_.-]{1,64}$/u;

/**
 * Returns a unique key for each name, in the given order, depending only on the operation.
 *
 * A key is the name itself if possible. Of several with one name, the first by place (path, query, header, cookie, body) keeps it, and the others
 * become `name__query`, `name__body`. Characters that providers refuse become `_`.
 */
function inputKeys(all: readonly NamedParameter[]): readonly string[] {
  const keys = new Map<NamedParameter, string>();
  const taken = new Set<string>();
  const inOrder = all.toSorted((one, other) => PLACE_NAMES.indexOf(one.in) - PLACE_NAMES.indexOf(other.in));
  // valid names get their keys first, so that an adapted name never takes one of them
  for (const isFitting of [true, false]) {
    for (const named of inOrder) {
      if (isAllowedName(named.name) !== isFitting) continue;
      const key = isFitting && !taken.has(named.name) ? named.name : freeKey(named, taken);
      taken.add(key);
      keys.set(named, key);
    }
  }
  return all.map((named) => keys.get(named) ?? named.name);
}

function isAllowedName(name: string): boolean {
  return ALLOWED.test(name) && name !== "__proto__";
}

function freeKey({ name, in: place }: NamedParameter, taken: ReadonlySet<string>): string {
  const fit = isAllowedName(name) ? name : toAllowedName(name);
  const digest = hash("sha256", JSON.stringify([place, name])).slice(0, 8);
  const candidates = [...(fit.length <= 64 ? [fit] : []), `${fit.slice(0, 56)}__${place}`, `${fit.slice(0, 54)}__${digest}`];
  return candidates.find((candidate) => !taken.has(candidate)) ?? candidates.join("_");
}

/** `expand[]` becomes `expand`, `filter[name]` becomes `filter_name`. */
function toAllowedName(name: string): string {
  const fit = name
    .slice(0, 200)
    .replaceAll(/[^A-Za-z0-9_.-]+/gu, "_")
    .replace(/(?<=.)_$/u, "");
  return isAllowedName(fit) || fit.length > 64 ? fit : "value";
}
