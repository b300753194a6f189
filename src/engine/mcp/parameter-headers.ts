/**
 * The headers that repeat arguments of a call for proxies and gateways: `x-mcp-header` in a tool's schema.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28 — SEP-2243
 */
import { getValueAtPath } from "../../core/base/brace-template.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import type { McpConnection } from "./connection.ts";
import { DATA_KEYWORDS } from "./long-numbers.ts";

/** A header and the path of properties that leads to its value. */
export interface ParameterHeader {
  readonly name: string;
  readonly path: readonly string[];
}

const HEADER_KEYWORD = "x-mcp-header";
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/u;
const PRIMITIVE: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);
const MAX_DEPTH = 64;

/** Whether arguments are repeated in headers on this connection. */
export function sendsParameterHeaders({ era, wire }: McpConnection): boolean {
  return era === "modern" && wire.kind === "http";
}

/**
 * The headers that a schema declares.
 *
 * @returns a message if one of them is invalid and the tool may not be offered: a bad or repeated name, a field that is not a string, an integer or a
 * boolean, or a place that cannot be reached through `properties` alone
 */
export function parameterHeaders(inputSchema: unknown): readonly ParameterHeader[] | string {
  const found = new Map<string, ParameterHeader>();
  try {
    walk(inputSchema, [], { found, reachable: true, depth: 0 });
    return [...found.values()];
  } catch (error: unknown) {
    return describeThrown(error);
  }
}

interface Walk {
  readonly found: Map<string, ParameterHeader>;
  readonly reachable: boolean;
  readonly depth: number;
}

function walk(schema: unknown, path: readonly string[], state: Walk): void {
  if (state.depth > MAX_DEPTH) throw illegalHeaderError(path, `the schema nests deeper than ${MAX_DEPTH} levels`);
  if (Array.isArray(schema)) for (const item of schema) walk(item, path, { ...state, reachable: false, depth: state.depth + 1 });
  if (!isJsonObject(schema)) return;
  if (Object.hasOwn(schema, HEADER_KEYWORD)) addHeader(schema, path, state);
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === HEADER_KEYWORD || DATA_KEYWORDS.has(keyword)) continue; // in data, the annotation has no meaning
    if (keyword === "properties" && isJsonObject(value)) {
      for (const [name, field] of Object.entries(value)) walk(field, [...path, name], { ...state, depth: state.depth + 1 });
    } else walk(value, [...path, keyword], { ...state, reachable: false, depth: state.depth + 1 });
  }
}

function addHeader(schema: JsonObject, path: readonly string[], { found, reachable }: Walk): void {
  const name = schema[HEADER_KEYWORD];
  if (typeof name !== "string" || !TOKEN.test(name))
    throw illegalHeaderError(path, `${HEADER_KEYWORD} ${JSON.stringify(name)} is not a name for a header`);
  if (!reachable || path.length === 0)
    throw illegalHeaderError(path, `${HEADER_KEYWORD} is allowed only on a value that properties alone lead to`);
  if (!PRIMITIVE.has(schema["type"]))
    throw illegalHeaderError(path, `${HEADER_KEYWORD} is allowed only on a string, an integer or a boolean`);
  if (found.has(name.toLowerCase())) throw illegalHeaderError(path, `${HEADER_KEYWORD} ${JSON.stringify(name)} is declared twice`);
  found.set(name.toLowerCase(), { name, path });
}

function illegalHeaderError(path: readonly string[], problem: string): ToolError {
  return new ToolError("invalid_schema", `${path.length === 0 ? "its schema" : JSON.stringify(path.join("."))}: ${problem}`);
}

/** Makes `Mcp-Param-…` headers of the arguments that are given and can be written. */
export function writeParameterHeaders(headers: readonly ParameterHeader[], input: JsonObject): Readonly<Record<string, string>> {
  const written: Record<string, string> = {};
  for (const { name, path } of headers) {
    const text = toHeaderText(getValueAtPath(path, input));
    if (text !== undefined) written[`Mcp-Param-${name}`] = isPlain(text) ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
  }
  return written;
}

function toHeaderText(value: JsonValue | undefined): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || (typeof value === "number" && Number.isSafeInteger(value))) return String(value);
  return undefined;
}

/** Whether a text can be sent unencoded: printable ASCII without white space around it, and not in the form of an encoded text. */
function isPlain(text: string): boolean {
  return /^[\u0021-\u007e](?:[\t\u0020-\u007e]*[\u0021-\u007e])?$/u.test(text) && !/^=\?base64\?.*\?=$/u.test(text);
}
