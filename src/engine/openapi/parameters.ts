/** Reads the parameters of an operation, of any version. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { HttpParameter } from "../rest/http-operation.ts";
import { own } from "../../core/base/own.ts";
import { ownText, type Found, type OpenApiDocument, type Target } from "./document.ts";
import { below, quote } from "./warnings.ts";

/** A parameter in the address, a header or a cookie; its `key` is chosen once all are known. */
export interface ReadParameter {
  readonly http: Omit<HttpParameter, "key">;
  /** Undefined for an undeclared placeholder. */
  readonly found: Found | undefined;
  /** The schema of its value. */
  readonly schema: Target | undefined;
}

export interface Parameters {
  readonly parameters: readonly ReadParameter[];
  /** The parameters of Swagger 2.0 with `in: formData` or `in: body`. */
  readonly bodyParameters: readonly (Found & { readonly name: string; readonly in: "formData" | "body" })[];
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
export function readParameters(document: OpenApiDocument, item: Found, operation: Found, path: string): Parameters {
  const found = new Map<string, Found & { readonly name: string; readonly in: string }>();
  for (const level of [operation, item]) {
    const here = new Set<string>();
    for (const { value, place } of document.items(level, "parameters").slice(0, MAX_PARAMETERS)) {
      const parameter = identify(document, value, place);
      if (parameter === undefined) continue;
      const identity = `${parameter.in} ${parameter.in === "header" ? parameter.name.toLowerCase() : parameter.name}`;
      if (here.has(identity))
        document.warnings.add(place, `the parameter ${quote(parameter.name)} is declared twice; the first one is used.`);
      here.add(identity);
      if (!found.has(identity)) found.set(identity, parameter);
    }
  }
  const all = [...found.values()];
  const names = placeholders(path);
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

function identify(
  document: OpenApiDocument,
  value: JsonValue,
  place: Found["place"],
): (Found & { readonly name: string; readonly in: string }) | undefined {
  const found = document.object(value, place, "a parameter");
  if (found === undefined) return undefined;
  const name = ownText(found.value, "name");
  const where = ownText(found.value, "in");
  const isKnown = where !== undefined && (isPlace(where) || (document.version === "2.0" && (where === "formData" || where === "body")));
  if (name !== undefined && name !== "" && name.length <= 1_000 && isKnown) return { ...found, name, in: where };
  document.warnings.add(
    place,
    `a parameter needs a name and a place; one with ${named("name", name)} and ${named("in", where)} is left out.`,
  );
  return undefined;
}

function named(key: string, text: string | undefined): string {
  return text === undefined ? `no string as ${key}` : `the ${key} ${quote(text)}`;
}

function isPlace(where: string): where is Place {
  return Object.hasOwn(STYLES, where);
}

function bodyParameter(parameter: Found & { readonly name: string; readonly in: string }): Parameters["bodyParameters"] {
  const where = parameter.in;
  return where === "formData" || where === "body" ? [{ ...parameter, in: where }] : [];
}

/** The names of the placeholders, without the operators of RFC 6570 that some documents use: `{+name}` and `{name*}` are `name`. */
function placeholders(path: string): ReadonlySet<string> {
  const names = [...path.matchAll(/\{([^{}]+)\}/gu)].map(([, name = ""]) => name.replace(/^[+#./;?&]/u, "").replace(/\*$/u, ""));
  return new Set(names.filter((name) => name !== ""));
}

function readParameter(document: OpenApiDocument, parameter: Found & { readonly name: string }, where: Place): ReadParameter {
  const { value, place, name } = parameter;
  const required = where === "path" || own(value, "required") === true;
  if (document.version === "2.0") {
    const http = { name, in: where, required, ...collectionStyle(value, where) };
    return { http, found: parameter, schema: { value, place } };
  }
  const content = contentOf(document, parameter);
  if (content !== undefined) {
    const http = { name, in: where, required, style: defaultStyle(where), explode: false, mediaType: content.mediaType };
    return { http, found: parameter, schema: content.schema };
  }
  const schema = own(value, "schema");
  const reserved = own(value, "allowReserved") === true ? { allowReserved: true } : {};
  const http = { name, in: where, required, ...styleOf(document, parameter, where), ...reserved };
  return { http, found: parameter, schema: schema === undefined ? undefined : { value: schema, place: below(place, "schema") } };
}

function contentOf(
  document: OpenApiDocument,
  parameter: Found,
): { readonly mediaType: string; readonly schema: Target | undefined } | undefined {
  const first = document.members(parameter, "content")[0];
  if (first === undefined) return undefined;
  const schema = isJsonObject(first.value) ? own(first.value, "schema") : undefined;
  return { mediaType: first.key, schema: schema === undefined ? undefined : { value: schema, place: below(first.place, "schema") } };
}

function defaultStyle(where: Place): Style {
  return STYLES[where][0] ?? "simple";
}

function styleOf(document: OpenApiDocument, { value, place }: Found, where: Place): Pick<HttpParameter, "style" | "explode"> {
  const given = own(value, "style");
  const known = STYLES[where].find((style) => style === given);
  if (given !== undefined && known === undefined) {
    document.warnings.add(place, `the style ${quote(given)} is not one of ${STYLES[where].join(", ")}; ${defaultStyle(where)} is used.`);
  }
  const style = known ?? defaultStyle(where);
  const explode = own(value, "explode");
  return { style, explode: typeof explode === "boolean" ? explode : style === "form" };
}

/** The style of an array in Swagger 2.0, which joins items with commas unless `collectionFormat` says otherwise. */
export function collectionStyle(value: JsonObject, where: Place): Pick<HttpParameter, "style" | "explode"> {
  const isForm = where === "query" || where === "cookie";
  switch (own(value, "collectionFormat")) {
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
export function exampleOf({ value }: Found): JsonValue | undefined {
  const example = own(value, "example");
  if (example !== undefined) return example;
  const examples = own(value, "examples");
  const first = isJsonObject(examples) ? Object.values(examples)[0] : isJsonArray(examples) ? examples[0] : undefined;
  return isJsonObject(first) ? own(first, "value") : undefined;
}
