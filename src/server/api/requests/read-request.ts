/** Validates a request by the schemas of its route, and describes each problem. */
import { unescapePointerStep } from "../../../core/base/json-pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../core/base/json.ts";
import { didYouMean } from "../../../core/base/near-names.ts";
import { parseJson } from "../../../core/base/parse-json.ts";
import { ToolError, describeThrown } from "../../../core/error.ts";
import { compileSchema, type SchemaProblem, type Validator } from "../../../schema/compile-schema.ts";
import { API, OPERATION_IDS, type OperationId } from "../../api.ts";
import { CLIENT_JSON } from "../../http/body.ts";
import type { RequestHead } from "../../http/request-head.ts";
import { HttpError } from "../../http/http-error.ts";
import type { SentRequest } from "./api-request.ts";
import { COMPONENTS } from "../openapi/components.ts";
import type { Parameters, Route } from "./route.ts";
import { getOrAdd } from "../../../core/base/get-or-add.ts";

export interface RequestParts {
  readonly params: JsonObject;
  readonly query: JsonObject;
  readonly body: JsonValue | undefined;
}

interface Validators {
  readonly params: Validator;
  readonly query: Validator;
  readonly body: Validator | undefined;
  /** The query of a request that has none. */
  readonly defaults: JsonObject;
}

const validatorCache = new Map<OperationId, Validators>();

/** Reads and validates a request. @throws ToolError `invalid_argument`, `too_large`; HttpError 415; as a rejection */
export async function readRequest(
  id: OperationId,
  request: SentRequest,
  { params, maxBodyBytes }: { readonly params: Readonly<Record<string, string>>; readonly maxBodyBytes: number },
): Promise<RequestParts> {
  const route: Route = API[id];
  const validators = getOrAdd(validatorCache, id, validatorsOf);
  if (route.params !== undefined) checkValid(validators.params, params, "path");
  const query = request.url.includes("?") ? queryOf(request.url, route, validators) : validators.defaults;
  if (validators.body === undefined) {
    if (route.bodyType !== undefined) checkContentType(request, route.bodyType);
    return { params, query, body: undefined };
  }
  const body = await readJson(request, { maxBodyBytes, isOptional: route.bodyOptional === true });
  checkValid(validators.body, body, "body");
  return { params, query, body };
}

function queryOf(url: string, { query: declared = {} }: Route, { query: validator, defaults }: Validators): JsonObject {
  const given = readQuery(declared, new URL(url).searchParams);
  checkValid(validator, given, "query");
  return { ...defaults, ...given };
}

function validatorsOf(id: OperationId): Validators {
  const route: Route = API[id];
  return {
    params: compileSchema({ type: "object", properties: route.params ?? {} }),
    query: compileSchema({ type: "object", properties: route.query ?? {}, additionalProperties: false }),
    body: route.body === undefined ? undefined : compileSchema({ ...route.body, components: { schemas: COMPONENTS } }),
    defaults: Object.freeze(defaultsOf(route.query ?? {})),
  };
}

/** Converts a query to the types of its schemas. A repeated parameter becomes an array, which no schema accepts. */
function readQuery(declared: Parameters, given: URLSearchParams): JsonObject {
  const query: [string, JsonValue][] = [];
  for (const name of new Set(given.keys())) {
    const texts = given.getAll(name);
    const [text = ""] = texts;
    query.push([name, texts.length > 1 ? texts : parseParameter(text, Object.hasOwn(declared, name) ? declared[name] : undefined)]);
  }
  return Object.fromEntries(query);
}

function parseParameter(text: string, schema: object | undefined): JsonValue {
  const type: unknown = schema === undefined ? undefined : Reflect.get(schema, "type");
  if (type === "integer" && /^-?\d{1,16}$/u.test(text)) return Number(text);
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}

function defaultsOf(declared: Parameters): JsonObject {
  const defaults = Object.entries(declared).flatMap(([name, schema]): [string, JsonValue][] => {
    const value: unknown = Reflect.get(schema, "default");
    return typeof value === "number" ? [[name, value]] : [];
  });
  return Object.fromEntries(defaults);
}

async function readJson(
  request: SentRequest,
  { maxBodyBytes, isOptional }: { readonly maxBodyBytes: number; readonly isOptional: boolean },
): Promise<JsonValue> {
  if (isOptional && request.headers.get("content-type") === null) {
    if ((await readText(request, maxBodyBytes)) === "") return {};
  }
  checkContentType(request, "application/json");
  const text = await readText(request, maxBodyBytes);
  if (text === "" && isOptional) return {};
  if (text === "" && Number(request.headers.get("content-length")) > 0)
    throw new ToolError("invalid_argument", "The body of the request was read before it reached this server.", {
      hint: "Mount the server before middleware that parses bodies, such as express.json().",
    });
  try {
    return parseJson(text, CLIENT_JSON);
  } catch (thrown: unknown) {
    const { code, hint } = ToolError.fromUnknown(thrown);
    const isTooLarge = code === "too_large";
    const message = `The body ${isTooLarge ? "cannot be read" : "is not JSON"}: ${describeThrown(thrown)}`;
    throw new ToolError(isTooLarge ? code : "invalid_argument", message, hint === undefined ? {} : { hint });
  }
}

/** @throws ToolError `too_large`, as a rejection */
async function readText(request: SentRequest, maxBodyBytes: number): Promise<string> {
  const text = await request.text(maxBodyBytes);
  if (text === undefined) throw new ToolError("too_large", `The body is larger than ${maxBodyBytes} bytes.`);
  return text;
}

/** Requires the media type in UTF-8: another reader could decode other charsets differently. HTML forms cannot send it. @throws HttpError 415 */
function checkContentType({ headers }: RequestHead, wanted: string): void {
  const [type = "", ...parameters] = (headers.get("content-type") ?? "")
    .toLowerCase()
    .split(";")
    .map((part) => part.trim());
  const encoding = headers.get("content-encoding");
  const isRight = type === wanted && parameters.every((parameter) => /^charset="?utf-?8"?$/u.test(parameter));
  if (isRight && (encoding === null || encoding === "identity")) return;
  const problem = isRight ? "The body must not be compressed." : `The body must be ${wanted}, in UTF-8.`;
  throw new HttpError(415, "invalid_argument", problem, { hint: `Send Content-Type: ${wanted}.` });
}

/** @throws ToolError `invalid_argument` that lists each problem */
function checkValid(validator: Validator, value: unknown, place: "path" | "query" | "body"): void {
  const problems = validator.problems(value);
  const [first] = problems;
  if (first === undefined) return;
  const details = problems.map((problem) => `${problem.path}: ${problem.message}`);
  const hint = suggestField(problems, validator.schema);
  const where = place === "body" ? "body" : `${place} parameters`;
  throw new HttpError(400, "invalid_argument", `The ${where} of the request cannot be used: ${details[0] ?? ""}.`, {
    details,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** The hint for an unknown field: the nearest known field, or all of them. */
function suggestField(problems: readonly SchemaProblem[], schema: unknown): string | undefined {
  const unknown = problems.find(({ keyword }) => keyword === "additionalProperties");
  if (unknown === undefined) return undefined;
  const steps = unknown.pointer.split("/").slice(1);
  const field = unescapePointerStep(steps.at(-1) ?? "");
  const known = listFieldsAt(schema, steps.slice(0, -1));
  return didYouMean(field, known) ?? (known.length === 0 ? "It takes no fields." : `Known fields: ${known.join(", ")}.`);
}

function listFieldsAt(schema: unknown, steps: readonly string[]): readonly string[] {
  let at: unknown = schema;
  for (const step of steps) at = resolveReference(/^\d+$/u.test(step) ? fieldOf(at, "items") : fieldOf(fieldOf(at, "properties"), step));
  const properties = fieldOf(resolveReference(at), "properties");
  return isJsonObject(properties) ? Object.keys(properties) : [];
}

function resolveReference(schema: unknown): unknown {
  const target = fieldOf(schema, "$ref");
  return typeof target === "string" ? fieldOf(COMPONENTS, target.slice(target.lastIndexOf("/") + 1)) : schema;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
}

const EMPTY_ID_HINT = "The path has an empty segment in place of an id or a name.";

/** The error for a path without a route, with a similar path as hint. */
export function noRoute(method: string, path: string): HttpError {
  const routes = OPERATION_IDS.map((id): Route => API[id]);
  const methods = routes.filter((route) => matchesTemplate(route.path, path)).map((route) => route.method);
  if (methods.length > 0) {
    const allow = [...new Set(methods.flatMap((each) => (each === "GET" ? [each, "HEAD"] : [each])))].join(", ");
    return new HttpError(405, "invalid_argument", `${method.slice(0, 20)} is not supported at this path.`, {
      hint: `Use ${allow}.`,
      headers: { allow },
    });
  }
  const known = new Set(routes.map((route) => fillTemplate(route.path, path)));
  return new HttpError(404, "not_found", "There is nothing at this path.", {
    hint: known.has(path) ? EMPTY_ID_HINT : (didYouMean(path, known, String) ?? "GET /openapi.json describes every route."),
  });
}

function matchesTemplate(template: string, path: string): boolean {
  const [steps, given] = [template.split("/"), path.split("/")];
  return steps.length === given.length && steps.every((step, at) => (step.startsWith("{") ? given[at] !== "" : step === given[at]));
}

/** The template with its parameters replaced by the given segments, so that only misspelt fixed segments count as different. */
function fillTemplate(template: string, path: string): string {
  const given = path.split("/");
  return template
    .split("/")
    .map((step, at) => (step.startsWith("{") ? (given[at] ?? step) : step))
    .join("/");
}
