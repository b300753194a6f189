/** Error codes of JSON-RPC and MCP, for clients and servers. @see https://www.jsonrpc.org/specification#error_object */
import { isJsonObject, type JsonValue } from "../../core/base/json.ts";

/** The text is not JSON. */
export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
/** The method does not exist, or is not available. */
export const METHOD_NOT_FOUND = -32_601;
/** The params of the request are invalid. */
export const INVALID_PARAMS = -32_602;
/** An internal error of the side that answers. */
export const INTERNAL_ERROR = -32_603;
/** Sent by servers before 2026-07-28; not allowed from that revision on. */
export const RESOURCE_NOT_FOUND = -32_002;
/** The headers of a request contradict its body: SEP-2243. */
export const HEADER_MISMATCH = -32_020;
/** The client did not declare a capability that the server needs. */
export const MISSING_CAPABILITY = -32_021;
/** The server does not support the revision, or the era, of the request. */
export const UNSUPPORTED_PROTOCOL_VERSION = -32_022;
/** A page must be visited first: revision 2025-11-25 only. */
export const URL_ELICITATION_REQUIRED = -32_042;
/** Haft's own: the answer was not read, because it is too large or nests too deep. */
export const ANSWER_TOO_LARGE = -32_900;
/** Haft's own: the answer was not JSON. */
export const UNREADABLE_ANSWER = -32_901;

/** The error data by which a server of Haft says that it has done nothing, so that the call may be sent again. */
export const NOT_STARTED_DATA = Object.freeze({ "haft/call": Object.freeze({ outcome: "not_started", retryable: true }) });

export function saysNotStarted(data: JsonValue | undefined): boolean {
  const call = isJsonObject(data) ? data["haft/call"] : undefined;
  return isJsonObject(call) && call["outcome"] === "not_started" && call["retryable"] === true;
}
