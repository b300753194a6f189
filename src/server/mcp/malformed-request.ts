/** Answers malformed requests that the SDK would drop silently while their clients wait. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { describeThrown } from "../../core/error.ts";
import { parseExactly } from "../../core/base/parse-exactly.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { CLIENT_JSON } from "../http/body.ts";
import { INVALID_REQUEST, PARSE_ERROR } from "../../engine/mcp/rpc-codes.ts";
import type { ServerModule } from "./sdk.ts";
import { isRequestId } from "./plain-call.ts";

/** The result of checking a line of a client: the lines to process instead, and the error responses to requests that cannot be processed. */
export interface CheckedLine {
  readonly lines: readonly string[];
  readonly refusals: readonly JsonObject[];
}

/** Checks a line. A batch becomes one line per message. */
export function checkLine(line: string, sdk: ServerModule): CheckedLine {
  let message: JsonValue;
  try {
    message = parseJson(line, CLIENT_JSON);
  } catch (error: unknown) {
    return refuseUnreadable(line, describeThrown(error));
  }
  if (!isJsonArray(message)) {
    const refusal = errorResponseFor(message, sdk);
    return refusal === undefined ? { lines: [line], refusals: [] } : { lines: [], refusals: [refusal] };
  }
  if (message.length === 0) return { lines: [], refusals: [errorResponse(null, "a batch must have at least one message")] };
  const refusals = message.map((each) => errorResponseFor(each, sdk));
  return {
    lines: message.filter((_each, index) => refusals[index] === undefined).map((each) => JSON.stringify(each)),
    refusals: refusals.filter((refusal) => refusal !== undefined),
  };
}

/** Handles a line that the JSON limits refuse. Only requests are refused: other messages need no answer, and are passed to the SDK. */
function refuseUnreadable(line: string, problem: string): CheckedLine {
  let read: unknown;
  try {
    read = parseExactly(line);
  } catch {
    return { lines: [], refusals: [errorResponse(null, problem, PARSE_ERROR)] };
  }
  const requests = (Array.isArray(read) ? read : [read]).filter(
    (each) => isJsonObject(each) && each["method"] !== undefined && Object.hasOwn(each, "id"),
  );
  if (requests.length === 0) return { lines: [line], refusals: [] };
  return { lines: [], refusals: requests.map(({ id }) => errorResponse(isRequestId(id) ? id : null, problem)) };
}

/** The error response to an invalid message; undefined for a valid one and for one that needs no answer. */
function errorResponseFor(message: JsonValue, sdk: ServerModule): JsonObject | undefined {
  if (!isJsonObject(message)) return errorResponse(null, "it is not an object");
  const { id, method, params } = message;
  const isAnswer = method === undefined && (message["result"] !== undefined || message["error"] !== undefined);
  const isNotification = typeof method === "string" && !Object.hasOwn(message, "id");
  if (isAnswer || isNotification || isPlainRequest(message)) return undefined;
  try {
    sdk.parseJSONRPCMessage(message);
    return undefined;
  } catch {
    return errorResponse(typeof id === "string" || typeof id === "number" ? id : null, describeProblem({ id, method, params }, message));
  }
}

/** Whether a request has only fields that need no validation by the SDK. */
function isPlainRequest({ jsonrpc, id, method, params, ...others }: JsonObject): boolean {
  if (jsonrpc !== "2.0" || typeof method !== "string" || !isRequestId(id) || Object.keys(others).length > 0) return false;
  if (params === undefined) return true;
  if (!isJsonObject(params)) return false;
  const { _meta: meta } = params;
  if (meta === undefined) return true;
  if (!isJsonObject(meta) || Object.hasOwn(meta, RELATED_TASK)) return false;
  return meta["progressToken"] === undefined || isRequestId(meta["progressToken"]);
}

const RELATED_TASK = "io.modelcontextprotocol/related-task";

function describeProblem(
  { id, method, params }: Readonly<Record<"id" | "method" | "params", JsonValue | undefined>>,
  { jsonrpc }: JsonObject,
): string {
  if (jsonrpc !== "2.0") return 'its jsonrpc is not "2.0"';
  if (typeof method !== "string") return "its method is not a string";
  if (!isRequestId(id)) return "its id is neither a string nor an integer";
  if (params !== undefined && !isJsonObject(params)) return "its params are not an object";
  return "its params do not follow the protocol: _meta must be an object, its progressToken a string or an integer";
}

function errorResponse(id: JsonValue, problem: string, code: number = INVALID_REQUEST): JsonObject {
  return { jsonrpc: "2.0", id, error: { code, message: `The request is malformed: ${problem.replace(/\.$/u, "")}.` } };
}
