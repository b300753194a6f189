/** Reads the parameters of an operation, of any version. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { HttpParameter } from "../rest/http-operation.ts";
import { getOwn } from "../../core/base/get-own.ts";
import { ownString, type LocatedObject, type OpenApiDocument, type LocatedValue } from "./document.ts";
import { childPlace, quote } from "./warnings.ts";

/** A parameter in the address, a header or a cookie; its `key` is chosen once all are known. */
export interface ReadParameter {
  readonly http: Omit<HttpParameter, "key">;
  /** Undefined for an undeclared placeholder. */
  readonly found: LocatedObject | undefined;
  /** The schema of its value. */
  readonly schema: LocatedValue | undefined;
}

export interface Parameters {
  readonly parameters: readonly ReadParameter[];
  /** The parameters of Swagger 2.0 with `in: formData` or `in: body`. */
  readonly bodyParameters: readonly (LocatedObject & { readonly name: string; readonly in: "formData" | "body" })[];
}

type Place = HttpParameter["in"];
type Style = HttpParameter["style"];

const STYLES: Readonly<Record<Place, readonly Style[]>> = {
  path: ["simple", "label", "matrix"],
  query: ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
  header: ["simple"],
  cookie: ["form"],
};
const MAX_PARAMETERS = 1_000;

/** Reads the parameters of the operation, those of its path that it does not replace, and undeclared placeholders. */
export function readParameters(document: OpenApiDocument, item: LocatedObject, operation: LocatedObject, path: string): Parameters {
  const found = new Map<string, LocatedObject & { readonly name: string; readonly in: string }>();
  for (const level of [operation, item]) {
    const here = new Set<string>();
    for (const { value, place } of document.readItems(level, "parameters").slice(0, MAX_PARAMETERS)) {
      const parameter = readIdentity(document, value, place);
      if (parameter === undefined) continue;
      const identity = `${parameter.in} ${parameter.in === "header" ? parameter.name.toLowerCase() : parameter.name}`;
      if (here.has(identity))
        document.warnings.add(place, `the parameter ${quote(parameter.name)} is declared twice; the first one is used.`);
      here.add(identity);
      if (!found.has(identity)) found.set(identity, parameter);
    }
  }
  const all = [...found.values()];
  const names = pathPlaceholders(path);
  const parameters = all.flatMap((parameter) => {
    if (!isPlace(parameter.in)) return [];
    const read = readParameter(document, parameter, parameter.in);
    if (parameter.in !== "path" || names.has(parameter.name)) return [read];
    document.warnings.add(
      parameter.place,
      `the path ${quote(path)} has no placeholder for the parameter ${quote(parameter.name)}; it is left out of the input.`,
    );
    return [{ ...read, http: { ...read.http, supplied: true } }];
  });
  for (const name of names) {
    if (parameters.some(({ http }) => http.in === "path" && http.name === name)) continue;
    parameters.push({
      http: { name, in: "path", required: true, style: "simple", explode: false },
      found: undefined,
      schema: { value: { type: "string" }, place: operation.place },
    });
  }
  return { parameters, bodyParameters: all.flatMap(bodyParameter) };
}

function readIdentity(
  document: OpenApiDocument,
  value: JsonValue,
  place: LocatedObject["place"],
): (LocatedObject & { readonly name: string; readonly in: string }) | undefined {
  const found = document.readObject(value, place, "a parameter");
  if (found === undefined) return undefined;
  const name = ownString(found.value, "name");
  const where = ownString(found.value, "in");
  const isKnown = where !== undefined && (isPlace(where) || (document.version === "2.0" && (where === "formData" || where === "body")));
  if (name !== undefined && name !== "" && name.length <= 1_000 && isKnown) return { ...found, name, in: where };
  document.warnings.add(
    place,
    `a parameter needs a name and a place; one with ${describeField("name", name)} and ${describeField("in", where)} is left out.`,
  );
  return undefined;
}

function describeField(key: string, text: string | undefined): string {
  return text === undefined ? `no string as ${key}` : `the ${key} ${quote(text)}`;
}

function isPlace(where: string): where is Place {
  return Object.hasOwn(STYLES, where);
}

function bodyParameter(parameter: LocatedObject & { readonly name: string; readonly in: string }): Parameters["bodyParameters"] {
  const where = parameter.in;
  return where === "formData" || where === "body" ? [{ ...parameter, in: where }] : [];
}

/** The names of the placeholders, without the operators of RFC 6570 that some documents use: `{+name}` and `{name*}` are `name`. */
function pathPlaceholders(path: string): ReadonlySet<string> {
  const names = [...path.matchAll(/\{([^{}]+)\}/gu)].map(([, name = ""]) => name.replace(/^[+#./;?&]/u, "").replace(/\*$/u, ""));
  return new Set(names.filter((name) => name !== ""));
}

function readParameter(document: OpenApiDocument, parameter: LocatedObject & { readonly name: string }, where: Place): ReadParameter {
  const { value, place, name } = parameter;
  const required = where === "path" || getOwn(value, "required") === true;
  if (document.version === "2.0") {
    const http = { name, in: where, required, ...collectionStyle(value, where) };
    return { http, found: parameter, schema: { value, place } };
  }
  const content = readContent(document, parameter);
  if (content !== undefined) {
    const http = { name, in: where, required, style: defaultStyle(where), explode: false, mediaType: content.mediaType };
    return { http, found: parameter, schema: content.schema };
  }
  const schema = getOwn(value, "schema");
  const reserved = getOwn(value, "allowReserved") === true ? { allowReserved: true } : {};
  const http = { name, in: where, required, ...readStyle(document, parameter, where), ...reserved };
  return { http, found: parameter, schema: schema === undefined ? undefined : { value: schema, place: childPlace(place, "schema") } };
}

function readContent(
  document: OpenApiDocument,
  parameter: LocatedObject,
): { readonly mediaType: string; readonly schema: LocatedValue | undefined } | undefined {
  const first = document.readMembers(parameter, "content")[0];
  if (first === undefined) return undefined;
  const schema = isJsonObject(first.value) ? getOwn(first.value, "schema") : undefined;
  return { mediaType: first.key, schema: schema === undefined ? undefined : { value: schema, place: childPlace(first.place, "schema") } };
}

function defaultStyle(where: Place): Style {
  return STYLES[where][0] ?? "simple";
}

function readStyle(document: OpenApiDocument, { value, place }: LocatedObject, where: Place): Pick<HttpParameter, "style" | "explode"> {
  const given = getOwn(value, "style");
  const known = STYLES[where].find((style) => style === given);
  if (given !== undefined && known === undefined) {
    document.warnings.add(place, `the style ${quote(given)} is not one of ${STYLES[where].join(", ")}; ${defaultStyle(where)} is used.`);
  }
  const style = known ?? defaultStyle(where);
  const explode = getOwn(value, "explode");
  return { style, explode: typeof explode === "boolean" ? explode : style === "form" };
}

/** The style of an array in Swagger 2.0, which joins items with commas unless `collectionFormat` says otherwise. */
export function collectionStyle(value: JsonObject, where: Place): Pick<HttpParameter, "style" | "explode"> {
  const isForm = where === "query" || where === "cookie";
  switch (getOwn(value, "collectionFormat")) {
    case "multi":
      return { style: defaultStyle(where), explode: isForm };
    case "ssv":
      return { style: isForm ? "spaceDelimited" : defaultStyle(where), explode: false };
    case "pipes":
      return { style: isForm ? "pipeDelimited" : defaultStyle(where), explode: false };
    case "tsv":
      return { style: isForm ? "tabDelimited" : defaultStyle(where), explode: false };
    default:
      return { style: defaultStyle(where), explode: false };
  }
}

/** An example next to the schema of a parameter. */
export function findExample({ value }: LocatedObject): JsonValue | undefined {
  const example = getOwn(value, "example");
  if (example !== undefined) return example;
  const examples = getOwn(value, "examples");
  const first = isJsonObject(examples) ? Object.values(examples)[0] : isJsonArray(examples) ? examples[0] : undefined;
  return isJsonObject(first) ? getOwn(first, "value") : undefined;
}
