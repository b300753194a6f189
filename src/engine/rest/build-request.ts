/** Builds the HTTP request of a call from its input: address, headers and body, without the headers that the engine adds. */
import { ToolError } from "../../core/error.ts";
import type { JsonObject, JsonValue } from "../../core/base/json.ts";
import type { HttpHeader } from "../../net/http-request.ts";
import { CONNECTION_HEADERS } from "../../net/request-head.ts";
import type { HttpOperation, HttpParameter } from "./http-operation.ts";
import { isJsonType, parseMediaType } from "./media-type.ts";
import { percentEncode } from "./percent-encode.ts";
import { bodyKeys, requestBody } from "./request-body.ts";
import { literalPrefix, pathKeys, requestPath } from "./request-path.ts";
import { headerText, queryPairs } from "./serialize-value.ts";
import { valueText } from "../../core/content.ts";

export interface BuiltRequest {
  readonly url: URL;
  /** Headers by lower-case name. */
  readonly headers: ReadonlyMap<string, HttpHeader>;
  /** `name=value` each. */
  readonly cookies: readonly string[];
  readonly body: Uint8Array | undefined;
}

/** Maximum length of a header's value from a model, as servers refuse longer ones. */
const MAX_HEADER_LENGTH = 8_192;
/** Headers that a parameter cannot set. Cookies have their own place (`in: cookie`). */
const FORBIDDEN_HEADERS: ReadonlySet<string> = new Set([...CONNECTION_HEADERS, "proxy-authorization", "cookie"]);

/**
 * @param base the address before the paths, without a trailing slash
 * @throws ToolError `invalid_input` for values that cannot be sent
 */
export function buildRequest(operation: HttpOperation, input: JsonObject, base: string): BuiltRequest {
  const body = operation.body === undefined ? undefined : requestBody(operation.body, input);
  const headers = new Map<string, HttpHeader>([["accept", ["accept", acceptHeader(operation.accepts)]]]);
  if (body !== undefined) headers.set("content-type", ["content-type", checkHeaderValue("content-type", body.contentType)]);
  const query: string[] = [];
  const cookies: string[] = [];
  for (const parameter of operation.parameters) {
    const value = Object.hasOwn(input, parameter.key) ? input[parameter.key] : undefined;
    if (value === undefined || parameter.in === "path") continue;
    if (parameter.in === "query" || parameter.in === "cookie") {
      const pairs = parameter.in === "query" ? query : cookies;
      for (const pair of parameterPairs(parameter, value)) pairs.push(pair);
    } else addHeader(headers, parameter, value);
  }
  for (const pair of undeclaredPairs(operation, input)) query.push(pair);
  return { url: buildAddress(operation, { base, path: requestPath(operation, input), query }), headers, cookies, body: body?.bytes };
}

interface AddressOptions {
  readonly base: string;
  readonly path: string;
  readonly query: readonly string[];
}

/** The address of the request. @throws ToolError `invalid_input` if the values lead outside the operation's path */
function buildAddress(operation: HttpOperation, { base, path, query }: AddressOptions): URL {
  const literal = new URL(base + literalPrefix(operation));
  const separator = path.includes("?") ? "&" : "?";
  const url = new URL(base + path + (query.length === 0 ? "" : separator + query.join("&")));
  if (url.origin !== new URL(base).origin || !url.pathname.startsWith(literal.pathname)) {
    throw new ToolError(
      "invalid_input",
      `The values given would lead to another address than ${operation.method} ${operation.path}; nothing was sent.`,
    );
  }
  return url;
}

function parameterPairs(parameter: HttpParameter, value: JsonValue): readonly string[] {
  if (parameter.mediaType === undefined) return queryPairs(parameter, value);
  return value === null ? [] : [`${percentEncode(parameter.name)}=${percentEncode(contentText(parameter.mediaType, value))}`];
}

function contentText(mediaType: string, value: JsonValue): string {
  return isJsonType(parseMediaType(mediaType).type) ? JSON.stringify(value) : valueText(value);
}

function addHeader(headers: Map<string, HttpHeader>, parameter: HttpParameter, value: JsonValue): void {
  const name = parameter.name.toLowerCase();
  if (FORBIDDEN_HEADERS.has(name) || (name === "content-type" && !isReplaceable(headers.get(name)))) return;
  const text =
    parameter.mediaType === undefined || value === null ? headerText(parameter.explode, value) : contentText(parameter.mediaType, value);
  if (text !== undefined) headers.set(name, [name, checkHeaderValue(parameter.key, text)]);
}

/** Whether a header parameter may replace the content type: not that of a form, which the server needs, and not if there is no body. */
function isReplaceable(contentType: HttpHeader | undefined): boolean {
  return contentType !== undefined && !/^(?:multipart\/|application\/x-www-form-urlencoded)/u.test(contentType[1]);
}

/** The query of undeclared keys, which the schema allowed although the document does not say where they are sent. */
function undeclaredPairs(operation: HttpOperation, input: JsonObject): readonly string[] {
  const declared = new Set([
    ...operation.parameters.map((parameter) => parameter.key),
    ...pathKeys(operation),
    ...bodyKeys(operation.body),
  ]);
  return Object.entries(input).flatMap(([name, value]) =>
    declared.has(name) ? [] : queryPairs({ name, style: "form", explode: true }, value),
  );
}

/** The media types that the document declares for the answer, and any other with low priority. */
function acceptHeader(accepts: readonly string[]): string {
  const named = accepts.filter((type) => parseMediaType(type).type !== "" && VISIBLE.test(type) && !type.includes(",")).slice(0, 10);
  if (named.includes("*/*")) return named.join(", ");
  return [...(named.length === 0 ? ["application/json"] : named), "*/*;q=0.1"].join(", ");
}

const VISIBLE = /^[\x20-\x7e]*$/u;
const HEADER_VALUE = /^[\t\x20-\x7e]*$/u;

/**
 * Returns a value from a model as it is sent in a header.
 *
 * @param key the name that the message gives, such as that in the input
 * @throws ToolError `invalid_input` for text that is not a valid header value
 */
export function checkHeaderValue(key: string, text: string): string {
  if (text.length > MAX_HEADER_LENGTH) {
    throw new ToolError(
      "invalid_input",
      `${JSON.stringify(key)} is sent in a header, and ${text.length} characters are too many; nothing was sent.`,
      {
        hint: `At most ${MAX_HEADER_LENGTH} characters.`,
      },
    );
  }
  if (!HEADER_VALUE.test(text)) {
    throw new ToolError(
      "invalid_input",
      `${JSON.stringify(key)} is sent in a header and holds a line break, a control character or a non-ASCII character; nothing was sent.`,
    );
  }
  return text.trim();
}
