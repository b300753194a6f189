/** Recognizes a plain `tools/call` of the revision 2026-07-28: no retry, no extra fields, matching headers. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { HeaderReader } from "../http/request-head.ts";
import type { RequestId } from "./handler-context.ts";

/** The revision whose requests are self-contained. */
export const MODERN_VERSION = "2026-07-28";
export const CALL_METHOD = "tools/call";

/** A call with no fields but these. */
export interface PlainCall {
  readonly id: RequestId;
  readonly name: string;
  /** The fields `name` and `arguments`. */
  readonly params: JsonObject;
  /** The fields of `_meta` that describe the client, not validated. */
  readonly envelope: JsonObject;
  /** The other fields of `_meta`; undefined if there are none. */
  readonly meta: JsonObject | undefined;
}

const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
const ENVELOPE: ReadonlySet<string> = new Set([
  VERSION_KEY,
  "io.modelcontextprotocol/clientInfo",
  "io.modelcontextprotocol/clientCapabilities",
]);
const TRACE: ReadonlySet<string> = new Set(["traceparent", "tracestate", "baggage"]);
const MESSAGE: ReadonlySet<string> = new Set(["jsonrpc", "id", "method", "params"]);
const PARAMS: ReadonlySet<string> = new Set(["name", "arguments", "_meta"]);

/** Whether the headers are those of a plain call; the tool's name is compared once the body is read. */
export function isPlainHead(headers: HeaderReader): boolean {
  return headers.get("mcp-protocol-version") === MODERN_VERSION && headers.get("mcp-method") === CALL_METHOD;
}

/** Reads a plain call; undefined for every other message, also for an invalid one, which the regular path answers. */
export function parsePlainCall(body: JsonValue, headers: HeaderReader): PlainCall | undefined {
  if (!isJsonObject(body) || !hasOnlyKeys(body, MESSAGE)) return undefined;
  const { jsonrpc, id, method, params } = body;
  if (jsonrpc !== "2.0" || method !== CALL_METHOD || !isRequestId(id)) return undefined;
  if (!isJsonObject(params) || !hasOnlyKeys(params, PARAMS)) return undefined;
  const { name, arguments: args, _meta: meta } = params;
  if (typeof name !== "string" || name !== headers.get("mcp-name") || name.startsWith("=?")) return undefined;
  if ((args !== undefined && !isJsonObject(args)) || !isJsonObject(meta)) return undefined;
  const fields = splitMeta(meta);
  if (fields === undefined) return undefined;
  return { id, name, params: args === undefined ? { name } : { name, arguments: args }, ...fields };
}

function splitMeta(meta: JsonObject): Pick<PlainCall, "envelope" | "meta"> | undefined {
  if (meta[VERSION_KEY] !== MODERN_VERSION) return undefined;
  const envelope: Record<string, JsonValue> = {};
  const others: Record<string, JsonValue> = {};
  let hasOthers = false;
  for (const [key, value] of Object.entries(meta)) {
    if (ENVELOPE.has(key)) envelope[key] = value;
    else {
      const isKnown = key === "progressToken" ? isRequestId(value) : TRACE.has(key) && typeof value === "string";
      if (!isKnown) return undefined;
      others[key] = value;
      hasOthers = true;
    }
  }
  return { envelope, meta: hasOthers ? others : undefined };
}

/** Whether a value is a valid request id; progress tokens have the same type. */
export function isRequestId(value: JsonValue | undefined): value is RequestId {
  return typeof value === "string" || Number.isSafeInteger(value);
}

function hasOnlyKeys(object: JsonObject, names: ReadonlySet<string>): boolean {
  return Object.keys(object).every((key) => names.has(key));
}
