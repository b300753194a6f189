import { checkMs } from "../../core/call-settings.ts";
import type { Effects } from "../../core/resources/effects.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, findUnknownKeyError, type OptionNames } from "../../core/known-keys.ts";
import { isJsonObject, type JsonObject, isStringArray } from "../../core/base/json.ts";
import type { HttpClientOptions } from "../../net/http-request.ts";
import { CONNECTION_HEADERS } from "../../net/request-head.ts";
import { checkRename } from "../rename-tools.ts";
import type { ImportOptions } from "../openapi/import-openapi.ts";

/** Credentials of calls. */
export type RestAuth =
  | { readonly type: "bearer"; readonly token: string }
  | { readonly type: "basic"; readonly username: string; readonly password: string }
  | ApiKey
  | OAuthClient;

/** An API key. Its place and name are taken from the document's security scheme, unless they are given here. */
export interface ApiKey {
  readonly type: "apiKey";
  readonly value: string;
  /** The name of the header, query parameter or cookie. @default as in the document */
  readonly name?: string;
  /** @default as in the document for this name, else "header" */
  readonly in?: "header" | "query" | "cookie";
}

/**
 * OAuth 2 client credentials. The token is fetched for the first call, shared by all, and kept until 30 s before it expires. After an answer 401, a
 * new one is fetched once.
 */
export interface OAuthClient {
  readonly type: "oauth2";
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes?: readonly string[];
  readonly audience?: string;
  /** Whether id and secret are sent in the Authorization header or in the form. @default "basic" */
  readonly send?: "basic" | "body";
}

/** Options of a `restEngine`: the API and how it is called. */
export interface RestOptions
  extends
    Pick<HttpClientOptions, "maxBytes" | "maxRedirects" | "verifyTls">,
    Pick<ImportOptions, "include" | "exclude" | "trustExtensions"> {
  /** The OpenAPI document (2.0, 3.0, 3.1): the path of a file, an http(s) address, or the document itself. JSON, or YAML up to about 16 MB. */
  readonly document: string | JsonObject;
  /** The address before the paths; overrides the document's. @default the first server of the document */
  readonly baseUrl?: string;
  /**
   * Credentials: one for every operation, an array that is sent together, or one for each security scheme of the document, by its name. They are sent
   * only to the origin of `baseUrl`, and not to operations that need none according to the document. Without `baseUrl`, a refreshed document from an
   * address is refused if it names another server.
   */
  readonly auth?: RestAuth | readonly RestAuth[] | Readonly<Record<string, RestAuth>>;
  /** Sent with every call; a model cannot override them. Treated as secrets. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Effects by tool name or operationId, `*` for any characters, in place of those that follow from the method; the first match is used. */
  readonly effects?: Readonly<Record<string, Effects>>;
  /**
   * New names of tools, by tool name or operationId. `include`, `exclude` and `effects` use the old names, and everything else, such as `permission`,
   * the new ones. A name that no included operation has, or that two would have, is an error.
   */
  readonly rename?: Readonly<Record<string, string>>;
  /**
   * Hosts that may have private addresses: `localhost:8080`, `billing.corp.example`, `10.0.0.0/8`. A literal private address in `baseUrl`, `document`
   * or a token address is allowed without being listed.
   */
  readonly allowPrivate?: readonly string[];
  /** Certificate authorities in place of the system's: PEM text, or the path of a file. */
  readonly ca?: string;
  /** Sent only when the document is fetched. Treated as secrets. */
  readonly documentHeaders?: Readonly<Record<string, string>>;
  /** The header for the call's idempotency key in calls that may write, such as `Idempotency-Key`. @default false: not sent */
  readonly idempotencyHeader?: string | false;
  /** Further values to redact in errors and logs, by name, such as a secret part of `document` or `baseUrl`. */
  readonly secrets?: Readonly<Record<string, string>>;
}

export const REST_OPTIONS: OptionNames<RestOptions> = {
  document: true,
  baseUrl: true,
  include: true,
  exclude: true,
  auth: true,
  headers: "object",
  effects: true,
  rename: true,
  trustExtensions: "boolean",
  allowPrivate: true,
  maxBytes: true,
  maxRedirects: true,
  verifyTls: "boolean",
  ca: true,
  documentHeaders: true,
  idempotencyHeader: true,
  secrets: "object",
};

const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]+$/u;
const HEADER_VALUE = /^[\t\x20-\x7e]*$/u;
const COOKIE_VALUE = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/u;

/** @throws ToolError `invalid_argument` for options that cannot work; the message quotes no value that may be a secret */
export function checkRestOptions(options: RestOptions): void {
  checkKnownKeys(options, REST_OPTIONS, "restEngine()");
  checkRename(options.rename);
  const { document, baseUrl, idempotencyHeader } = options;
  if (typeof document === "string" ? document === "" : !isJsonObject(document)) {
    throw invalidOption("A REST engine needs its OpenAPI document: the path of a file, an http(s) address, or the parsed document.");
  }
  if (typeof document === "string" && /^[a-z][\w+.-]+:\/\//iu.test(document)) checkAddress(document, "document");
  if (baseUrl !== undefined) checkBaseUrl(baseUrl);
  checkHeaders(options.headers, "headers");
  checkHeaders(options.documentHeaders, "documentHeaders");
  if (typeof idempotencyHeader === "string" && !HEADER_NAME.test(idempotencyHeader))
    throw invalidOption("idempotencyHeader is not a valid header name.");
  checkShapes(options);
  for (const [name, auth] of authEntries(options.auth)) checkAuth(auth, name);
  for (const name of ["maxBytes", "maxRedirects"] as const) checkMs(options[name], name, "a REST engine");
}

/** Checks types, for callers without TypeScript. */
function checkShapes({ auth, allowPrivate, secrets = {} }: RestOptions): void {
  const [unset] = Object.entries(secrets).find(([, value]) => typeof value !== "string") ?? [];
  if (unset !== undefined) throw invalidOption(`secrets.${unset} is not a string.`);
  if (auth !== undefined && (typeof auth !== "object" || auth === null))
    throw invalidOption(
      "auth must be an object with a type, an array of such objects, or one with such an object for each security scheme.",
    );
  if (allowPrivate !== undefined && !isStringArray(allowPrivate))
    throw invalidOption('allowPrivate must be an array of strings, such as ["localhost:8080"].');
}

/** Credentials with their scheme; undefined for those that apply to all operations. */
export function authEntries(auth: RestOptions["auth"]): readonly (readonly [scheme: string | undefined, auth: RestAuth])[] {
  if (auth === undefined) return [];
  if (isAuthArray(auth)) return auth.map((each) => [undefined, each] as const);
  return isSingleAuth(auth) ? [[undefined, auth]] : Object.entries(auth);
}

function isAuthArray(auth: NonNullable<RestOptions["auth"]>): auth is readonly RestAuth[] {
  return Array.isArray(auth);
}

function isSingleAuth(auth: Exclude<NonNullable<RestOptions["auth"]>, readonly RestAuth[]>): auth is RestAuth {
  return typeof auth.type === "string";
}

function checkBaseUrl(baseUrl: string): void {
  const url = checkAddress(baseUrl, "baseUrl");
  if (url.search !== "" || url.hash !== "") {
    throw invalidOption("baseUrl has a query or a fragment; paths are appended to it.", "For a key in the query, use auth of type apiKey.");
  }
}

function checkAddress(address: string, what: string): URL {
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    throw invalidOption(`${what} is not an address.`, "Give the whole address, such as https://api.example.com/v1");
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw invalidOption(`${what} begins with ${url.protocol}//, but only http and https are supported.`);
  }
  if (url.username !== "" || url.password !== "")
    throw invalidOption(`${what} holds a user name or password.`, "Give them as auth, so that they stay secret.");
  return url;
}

function checkHeaders(headers: Readonly<Record<string, string>> | undefined, what: string): void {
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (!HEADER_NAME.test(name)) throw invalidOption(`${what} has an invalid header name: ${JSON.stringify(name.slice(0, 100))}.`);
    if (CONNECTION_HEADERS.has(name.toLowerCase())) throw invalidOption(`${what} has ${name}, which the connection itself sets.`);
    if (typeof value !== "string" || !HEADER_VALUE.test(value))
      throw invalidOption(`The value of ${what}.${name} cannot be sent: it must be plain ASCII on one line.`);
  }
}

const AUTH_FIELDS: { readonly [Type in RestAuth["type"]]: OptionNames<Extract<RestAuth, { readonly type: Type }>> } = {
  bearer: { type: true, token: true },
  basic: { type: true, username: true, password: true },
  apiKey: { type: true, value: true, name: true, in: true },
  oauth2: { type: true, tokenUrl: true, clientId: true, clientSecret: true, scopes: true, audience: true, send: true },
};

function checkAuth(auth: RestAuth, scheme: string | undefined): void {
  const what = scheme === undefined ? "auth" : `auth.${scheme}`;
  if (typeof auth !== "object" || auth === null)
    throw invalidOption(`${what} must be an object with a type: bearer, basic, apiKey or oauth2.`);
  for (const [field, value] of Object.entries(textsOf(auth))) {
    if (typeof value !== "string" || value === "") throw invalidOption(`${what}.${field} must be a string that is not empty.`);
  }
  const unknown = findUnknownKeyError(auth, AUTH_FIELDS[auth.type], `${what} of restEngine()`);
  if (unknown !== undefined) throw unknown;
  if (auth.type === "bearer" && !/^[\x21-\x7e]+$/u.test(auth.token))
    throw invalidOption(`${what}.token cannot be sent: it must be plain ASCII without spaces.`);
  if (auth.type === "basic" && (typeof auth.password !== "string" || auth.username.includes(":"))) {
    throw invalidOption(`${what} needs a password, and a user name without a colon.`);
  }
  if (auth.type === "apiKey") checkApiKey(auth, what);
  if (auth.type === "oauth2") checkAddress(auth.tokenUrl, `${what}.tokenUrl`);
}

/** If the document is to decide the place, any value is allowed. */
function checkApiKey({ in: place = "header", name = "x", value }: ApiKey, what: string): void {
  if (place === "header") checkHeaders({ [name]: value }, what);
  else if (place === "cookie") {
    if (!HEADER_NAME.test(name) || !COOKIE_VALUE.test(value)) throw invalidOption(`${what} cannot be sent as a cookie.`);
  } else if (place !== "query") {
    throw invalidOption(`${what}.in is ${JSON.stringify(place)}; it takes "header", "query" or "cookie".`);
  }
}

function textsOf(auth: RestAuth): Readonly<Record<string, unknown>> {
  switch (auth.type) {
    case "bearer":
      return { token: auth.token };
    case "basic":
      return { username: auth.username };
    case "apiKey":
      return { ...(auth.name === undefined ? {} : { name: auth.name }), value: auth.value };
    case "oauth2":
      return { tokenUrl: auth.tokenUrl, clientId: auth.clientId, clientSecret: auth.clientSecret };
    default:
      throw invalidOption(
        `auth of type ${JSON.stringify(Reflect.get(auth, "type"))} is not known; it must be bearer, basic, apiKey or oauth2.`,
      );
  }
}

function invalidOption(message: string, hint?: string): ToolError {
  return new ToolError("invalid_argument", message, hint === undefined ? {} : { hint });
}
