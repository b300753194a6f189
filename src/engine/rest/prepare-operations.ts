/** Prepares imported operations for the service: their base addresses, the values that the program supplies, and overridden effects. */
import { ToolError } from "../../core/error.ts";
import { isJsonObject } from "../../core/base/json.ts";
import type { JsonSchema, Tool } from "../../core/tool.ts";
import type { ImportedOperation } from "../openapi/import-openapi.ts";
import type { HttpOperation, HttpParameter } from "./http-operation.ts";
import { isAddressLiteral } from "./private-hosts.ts";
import { isAddress } from "./read-document.ts";
import { bodyKeys } from "./request-body.ts";
import { resolveKeyPlace } from "./credentials.ts";
import { authEntries, type RestOptions } from "./rest-options.ts";
import { EffectOverrides } from "../effect-overrides.ts";
import { applyRenames } from "../rename-tools.ts";

/** An operation, and the address before its path, without a trailing slash. */
export interface PlacedOperation {
  readonly operation: HttpOperation;
  readonly base: string;
}

export interface PreparedOperations {
  readonly tools: readonly Tool[];
  readonly placed: ReadonlyMap<Tool, PlacedOperation>;
  /** Operations by tool name. */
  readonly operations: ReadonlyMap<string, PlacedOperation>;
  /** The origin of every request. */
  readonly origin: string;
  readonly warnings: readonly string[];
}

/** @throws ToolError `invalid_config` if the address of the service is missing */
export function prepareOperations(
  imported: readonly ImportedOperation[],
  options: RestOptions,
  documentOrigin: string,
): PreparedOperations {
  const placed = imported.map((each) => ({ ...each, base: resolveBaseUrl(each.operation, options, documentOrigin) }));
  const origin = commonOrigin(placed.map(({ base }) => base));
  if (origin === undefined && imported.length > 0) throw noServerError(documentOrigin);
  const taken: Tool[] = [];
  const places: PlacedOperation[] = [];
  const elsewhere: string[] = [];
  const effects = new EffectOverrides(options.effects ?? {});
  for (const { tool, operation, base } of placed) {
    if (base === undefined || new URL(base).origin !== origin) {
      elsewhere.push(tool.name);
      continue;
    }
    taken.push(effects.apply(withoutSupplied(tool, operation, options), operationIdOf(tool)));
    places.push({ operation, base });
  }
  const tools = applyRenames(taken, options.rename, { source: documentOrigin, otherName: operationIdOf });
  const byTool = new Map<Tool, PlacedOperation>();
  for (const [index, at] of places.entries()) {
    const tool = tools[index];
    if (tool !== undefined) byTool.set(tool, at);
  }
  return {
    tools,
    placed: byTool,
    operations: new Map(Array.from(byTool, ([{ name }, at]) => [name, at])),
    origin: origin ?? "",
    warnings: [
      ...unencryptedWarning(origin, options),
      ...unusedAuthWarning(imported, options),
      ...otherOriginWarning(elsewhere, origin),
      ...effects.warnings(),
    ],
  };
}

function noServerError(documentOrigin: string): ToolError {
  return new ToolError(
    "invalid_config",
    `${documentOrigin} does not say where the service is: it names no server with a whole http(s) address.`,
    { hint: 'Set baseUrl, such as "https://api.example.com/v1".' },
  );
}

/** Whether an input that was checked for one operation has the same meaning for the other. */
export function isSameOperation(one: PlacedOperation, other: PlacedOperation): boolean {
  if (one === other) return true;
  const { method, path } = one.operation;
  return (
    one.base === other.base &&
    method === other.operation.method &&
    path === other.operation.path &&
    String(keysOf(one.operation)) === String(keysOf(other.operation))
  );
}

function keysOf({ parameters, body }: HttpOperation): readonly string[] {
  return [...parameters.map(({ key }) => key), ...bodyKeys(body)].toSorted();
}

/**
 * Keeps a document that was fetched again from sending credentials to another server than before.
 *
 * @throws ToolError `invalid_config`
 */
export function checkOriginUnchanged(before: string | undefined, now: string, { document, baseUrl, auth, headers }: RestOptions): void {
  const isFetched = typeof document === "string" && isAddress(document);
  const hasSecrets = authEntries(auth).length > 0 || headers !== undefined;
  if (before === undefined || before === "" || now === "" || now === before || baseUrl !== undefined || !isFetched || !hasSecrets) return;
  throw new ToolError(
    "invalid_config",
    `The OpenAPI document now sends calls to ${now}, no longer to ${before}. Credentials are not sent to the new address.`,
    {
      hint: `If ${now} is right, set baseUrl to it.`,
    },
  );
}

/** The base address of an operation: the program's, else the document's. */
function resolveBaseUrl({ server }: HttpOperation, { baseUrl }: RestOptions, documentOrigin: string): string | undefined {
  const address = baseUrl ?? server ?? (isAddress(documentOrigin) ? new URL(documentOrigin).origin : undefined);
  if (address === undefined || !URL.canParse(address)) return undefined;
  const url = new URL(address);
  const usable = (url.protocol === "http:" || url.protocol === "https:") && url.username === "" && url.password === "";
  return usable ? url.origin + url.pathname.replace(/(?<!\/)\/+$/u, "") : undefined;
}

/** The origin of most operations, so that a single one with another server does not decide for all. */
function commonOrigin(bases: readonly (string | undefined)[]): string | undefined {
  const counts = new Map<string, number>();
  for (const base of bases) {
    if (base === undefined) continue;
    const { origin } = new URL(base);
    counts.set(origin, (counts.get(origin) ?? 0) + 1);
  }
  const [most] = [...counts].toSorted(([, one], [, other]) => other - one);
  return most?.[0];
}

/** Warns of credentials that are sent unencrypted. */
function unencryptedWarning(origin: string | undefined, { auth, headers }: RestOptions): readonly string[] {
  const url = origin === undefined ? undefined : new URL(origin);
  if (url?.protocol !== "http:" || isAddressLiteral(url.hostname) || (authEntries(auth).length === 0 && headers === undefined)) return [];
  return [`Calls go to ${url.origin} unencrypted, and their credentials with them. Use https.`];
}

/** Warns of credentials for a scheme that the document does not have: they are never sent, so every call that needs them would be refused. */
function unusedAuthWarning(imported: readonly ImportedOperation[], { auth }: RestOptions): readonly string[] {
  if (imported.some(({ operation }) => operation.security === undefined)) return [];
  const known = new Set(imported.flatMap(({ operation }) => (operation.security ?? []).flat().map(({ name }) => name)));
  return authEntries(auth).flatMap(([scheme]) => {
    if (scheme === undefined || known.has(scheme) || imported.length === 0) return [];
    const names = [...known].slice(0, 5).map((name) => JSON.stringify(name));
    return [
      `auth has ${JSON.stringify(scheme)}, which is not a security scheme of any operation${names.length === 0 ? "" : `; known schemes: ${names.join(", ")}`}.`,
    ];
  });
}

function otherOriginWarning(names: readonly string[], origin: string | undefined): readonly string[] {
  if (names.length === 0) return [];
  const more = names.length > 3 ? ` and ${names.length - 3} more` : "";
  return [
    `${names.slice(0, 3).join(", ")}${more} left out: the document sends them to another server than ${origin ?? ""}. Give them a toolset of their own, with include and baseUrl.`,
  ];
}

/** The tool without the parameters that the engine supplies: a model does not know an API key and is not asked for one. */
function withoutSupplied(tool: Tool, operation: HttpOperation, options: RestOptions): Tool {
  const keys = operation.parameters.filter((parameter) => isSupplied(parameter, options, operation)).map((parameter) => parameter.key);
  return keys.length === 0 ? tool : { ...tool, inputSchema: withoutKeys(tool.inputSchema, new Set(keys)) };
}

/** Whether the program supplies the value of the parameter. */
export function isSupplied(parameter: HttpParameter, { headers = {}, auth }: RestOptions, operation: HttpOperation): boolean {
  const name = parameter.name.toLowerCase();
  if (parameter.in === "header" && Object.keys(headers).some((header) => header.toLowerCase() === name)) return true;
  return authEntries(auth).some(([scheme, each]) => {
    if (each.type !== "apiKey") return parameter.in === "header" && name === "authorization";
    const place = resolveKeyPlace(each, scheme, operation);
    return place?.in === parameter.in && (place.in === "header" ? place.name.toLowerCase() === name : place.name === parameter.name);
  });
}

function withoutKeys(schema: JsonSchema, keys: ReadonlySet<string>): JsonSchema {
  if (typeof schema === "boolean") return schema;
  const { properties, required } = schema;
  const left = isJsonObject(properties) ? Object.entries(properties).filter(([key]) => !keys.has(key)) : undefined;
  return {
    ...schema,
    ...(left === undefined ? {} : { properties: Object.fromEntries(left) }),
    ...(Array.isArray(required) ? { required: required.filter((key) => !keys.has(String(key))) } : {}),
  };
}

function operationIdOf({ metadata }: Tool): string | undefined {
  const http = metadata?.["http"];
  const id: unknown = isJsonObject(http) ? http["operationId"] : undefined;
  return typeof id === "string" ? id : undefined;
}
