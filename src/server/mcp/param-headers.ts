/** Checks arguments that a client repeats in headers, for intermediaries that route by them: both must be equal. */
import { Buffer } from "node:buffer";
import { getValueAtPath } from "../../core/base/brace-template.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { JsonSchema } from "../../core/tool.ts";
import type { HeaderReader } from "../http/request-head.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

interface ParamHeader {
  readonly header: string;
  /** The path of the argument, from the outermost property. */
  readonly path: readonly string[];
}

const KEYWORD = "x-mcp-header";
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/u;
const ENCODED = /^=\?base64\?(.*)\?=$/su;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/u;
/** Maximum depth of a declared header; clients leave out a tool that nests deeper. */
const MAX_DEPTH = 64;

/**
 * Returns how a call's headers differ from its arguments; undefined if they agree.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports — `x-mcp-header`
 */
export function findHeaderMismatch(schema: JsonSchema, args: unknown, headers: HeaderReader): string | undefined {
  if (typeof schema === "boolean") return undefined;
  for (const { header, path } of getOrAdd(headerCache, schema, listParamHeaders)) {
    const value = readArgument(args, path);
    if (value === undefined) continue;
    const sent = headers.get(header);
    if (sent === null) return `the header ${header} is missing`;
    const decoded = decodeHeader(sent);
    if (decoded === undefined) return `the header ${header} is not in the encoding that it declares`;
    if (decoded !== value) return `the header ${header} and the argument ${path.join(".")} differ`;
  }
  return undefined;
}

const headerCache = new WeakMap<object, readonly ParamHeader[]>();

/** The declared headers that are reached through `properties` alone, as the protocol requires. */
function listParamHeaders(schema: unknown, path: readonly string[] = []): readonly ParamHeader[] {
  const properties = isJsonObject(schema) ? schema["properties"] : undefined;
  if (!isJsonObject(properties) || path.length >= MAX_DEPTH) return [];
  return Object.entries(properties).flatMap(([name, property]) => {
    const own = [...path, name];
    const header = isJsonObject(property) ? property[KEYWORD] : undefined;
    const declared = typeof header === "string" && TOKEN.test(header) ? [{ header: `Mcp-Param-${header}`, path: own }] : [];
    return [...declared, ...listParamHeaders(property, own)];
  });
}

/** The argument as it is written in a header; undefined if it is missing or not a primitive. */
function readArgument(args: unknown, path: readonly string[]): string | undefined {
  const value = isJsonObject(args) ? getValueAtPath(path, args) : undefined;
  return typeof value === "string" || typeof value === "boolean" || Number.isSafeInteger(value) ? String(value) : undefined;
}

/** Decodes a header that may be in Base64, which clients use for non-ASCII values; undefined if the encoding is invalid. */
export function decodeHeader(sent: string): string | undefined {
  const encoded = ENCODED.exec(sent)?.[1];
  if (encoded === undefined) return sent;
  return BASE64.test(encoded) && encoded.length % 4 === 0 ? Buffer.from(encoded, "base64").toString("utf8") : undefined;
}

/** The tool, arguments and id of a `tools/call`; undefined for every other message. */
export function parseToolCall(
  body: unknown,
): { readonly id: JsonValue; readonly name: string; readonly args: JsonValue | undefined } | undefined {
  if (!isJsonObject(body) || body["method"] !== "tools/call" || !isJsonObject(body["params"])) return undefined;
  const { name, arguments: args }: JsonObject = body["params"];
  return typeof name === "string" ? { id: body["id"] ?? null, name, args } : undefined;
}
