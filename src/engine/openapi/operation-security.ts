/** Reads the security requirements of an operation. */
import { isJsonArray, isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { HttpParameter, SecurityRequirement, SecurityScheme, SecurityUse } from "../rest/http-operation.ts";
import { getOwn } from "../../core/base/get-own.ts";
import { ownString, ownStrings, type LocatedObject, type OpenApiDocument } from "./document.ts";
import { ROOT, childPlace, truncateText, quote } from "./warnings.ts";

const MAX_REQUIREMENTS = 50;

/** The operation's requirements, else those of the document; undefined if neither has any. `[[]]` = no credentials are needed. */
export function operationSecurity(document: OpenApiDocument, operation: LocatedObject): readonly SecurityRequirement[] | undefined {
  const holder = getOwn(operation.value, "security") === undefined ? { value: document.root, place: ROOT } : operation;
  const declared = getOwn(holder.value, "security");
  if (declared === undefined) return undefined;
  if (isJsonArray(declared) && declared.length === 0) return [[]];
  const requirements = document.readItems(holder, "security").slice(0, MAX_REQUIREMENTS);
  return requirements.flatMap(({ value, place }): readonly SecurityRequirement[] => {
    if (!isJsonObject(value)) {
      document.warnings.add(place, `a security requirement must be an object, not ${quote(value)}; it is left out.`);
      return [];
    }
    const names = Object.keys(value).slice(0, MAX_REQUIREMENTS);
    document.countReads(names.length);
    return [names.map((name) => readSecurityUse(document, name, value, place))];
  });
}

function readSecurityUse(document: OpenApiDocument, name: string, requirement: JsonObject, place: LocatedObject["place"]): SecurityUse {
  const scopes = ownStrings(requirement, name) ?? [];
  const steps = document.version === "2.0" ? ["securityDefinitions"] : ["components", "securitySchemes"];
  let schemes: JsonObject | undefined = document.root;
  for (const step of steps) {
    const next: unknown = schemes === undefined ? undefined : getOwn(schemes, step);
    schemes = isJsonObject(next) ? next : undefined;
  }
  const declared = schemes === undefined ? undefined : getOwn(schemes, name);
  if (declared === undefined) {
    document.warnings.add(place, `the security scheme ${quote(name)} is not declared.`);
    return { name, scopes, scheme: { type: "other", described: "a scheme that the document does not declare" } };
  }
  const found = document.readObject(declared, childPlace(ROOT, ...steps, name), "a security scheme");
  return {
    name,
    scopes,
    scheme: found === undefined ? { type: "other", described: "a scheme that cannot be read" } : readScheme(found.value),
  };
}

function readScheme(scheme: JsonObject): SecurityScheme {
  const type = ownString(scheme, "type");
  if (type === "basic") return { type: "http", scheme: "basic" }; // Swagger 2.0
  if (type === "http") return { type: "http", scheme: (ownString(scheme, "scheme") ?? "").toLowerCase() };
  if (type === "oauth2") {
    const tokenUrl = tokenUrlOf(scheme);
    return { type: "oauth2", ...(tokenUrl === undefined ? {} : { tokenUrl }) };
  }
  const where = getOwn(scheme, "in");
  const name = ownString(scheme, "name");
  if (type === "apiKey" && name !== undefined && (where === "header" || where === "query" || where === "cookie")) {
    return { type: "apiKey", in: where, name };
  }
  return { type: "other", described: truncateText(type ?? "no type", 100) };
}

/** The token address of the flow without a person. */
function tokenUrlOf(scheme: JsonObject): string | undefined {
  if (getOwn(scheme, "flow") === "application") return ownString(scheme, "tokenUrl");
  const flows = getOwn(scheme, "flows");
  const flow = isJsonObject(flows) ? getOwn(flows, "clientCredentials") : undefined;
  return isJsonObject(flow) ? ownString(flow, "tokenUrl") : undefined;
}

/** Headers that are not parameters since 3.0, even if declared. @see https://spec.openapis.org/oas/v3.1.1.html#parameter-object */
const NON_PARAMETER_HEADERS: ReadonlySet<string> = new Set(["accept", "content-type", "authorization"]);

/** Whether the parameter carries a credential of the operation's security, or is set by the engine, so that the model is not asked for it. */
export function isSupplied(
  document: OpenApiDocument,
  security: readonly SecurityRequirement[] | undefined,
  parameter: Pick<HttpParameter, "name" | "in">,
): boolean {
  const name = parameter.name.toLowerCase();
  if (parameter.in === "header" && document.version !== "2.0" && NON_PARAMETER_HEADERS.has(name)) return true;
  return (security ?? []).flat().some(({ scheme }) => {
    if (scheme.type === "apiKey") {
      return scheme.in === parameter.in && (scheme.in === "header" ? scheme.name.toLowerCase() === name : scheme.name === parameter.name);
    }
    return parameter.in === "header" && name === "authorization" && scheme.type !== "other";
  });
}
