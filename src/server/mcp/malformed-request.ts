/** Finds the requests that the SDK would drop without an answer: their clients would wait for one. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { describeThrown } from "../../core/error.ts";
import { parseExactly } from "../../core/base/exact-json.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { CLIENT_JSON } from "../http/body.ts";
import { INVALID_REQUEST, PARSE_ERROR } from "../../engine/mcp/rpc-codes.ts";
import type { ServerModule } from "./sdk.ts";
import { isRequestId } from "./plain-call.ts";

/** A line of a client: the lines to read in its place, and the answers to those that cannot be read. */
export interface CheckedLine {
  readonly lines: readonly string[];
  readonly refusals: readonly JsonObject[];
}

/** A batch is read as the messages in it. */
export function checkLine(line: string, sdk: ServerModule): CheckedLine {
  let message: JsonValue;
  try {
    message = parseJson(line, CLIENT_JSON);
  } catch (error: unknown) {
    return unread(line, describeThrown(error));
  }
  if (!isJsonArray(message)) {
    const refusal = refusalOf(message, sdk);
    return refusal === undefined ? { lines: [line], refusals: [] } : { lines: [], refusals: [refusal] };
  }
  if (message.length === 0) return { lines: [], refusals: [refuse(null, "a batch holds at least one message")] };
  const refusals = message.map((each) => refusalOf(each, sdk));
  return {
    lines: message.filter((_each, index) => refusals[index] === undefined).map((each) => JSON.stringify(each)),
    refusals: refusals.filter((refusal) => refusal !== undefined),
  };
}

/** A line that cannot be read without a change. Only requests are refused: the rest wants no answer, and is left to the SDK. */
function unread(line: string, problem: string): CheckedLine {
  let read: unknown;
  try {
    read = parseExactly(line);
  } catch {
    return { lines: [], refusals: [refuse(null, problem, PARSE_ERROR)] };
  }
  const requests = (Array.isArray(read) ? read : [read]).filter(
    (each) => isJsonObject(each) && each["method"] !== undefined && Object.hasOwn(each, "id"),
  );
  if (requests.length === 0) return { lines: [line], refusals: [] };
  return { lines: [], refusals: requests.map(({ id }) => refuse(isRequestId(id) ? id : null, problem)) };
}

/** The answer to a message that is no request, notification or answer of the protocol; undefined for one that is, and for what wants no answer. */
function refusalOf(message: JsonValue, sdk: ServerModule): JsonObject | undefined {
  if (!isJsonObject(message)) return refuse(null, "it is not an object");
  const { id, method, params } = message;
  const isAnswer = method === undefined && (message["result"] !== undefined || message["error"] !== undefined);
  const isNotification = typeof method === "string" && !Object.hasOwn(message, "id");
  if (isAnswer || isNotification || isPlainRequest(message)) return undefined;
  try {
    sdk.parseJSONRPCMessage(message);
    return undefined;
  } catch {
    return refuse(typeof id === "string" || typeof id === "number" ? id : null, problemOf({ id, method, params }, message));
  }
}

/** Whether nothing in a request is what the SDK looks at more closely. */
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

function problemOf(
  { id, method, params }: Readonly<Record<"id" | "method" | "params", JsonValue | undefined>>,
  { jsonrpc }: JsonObject,
): string {
  if (jsonrpc !== "2.0") return 'its jsonrpc is not "2.0"';
  if (typeof method !== "string") return "its method is not a string";
  if (!isRequestId(id)) return "its id is neither a string nor an integer";
  if (params !== undefined && !isJsonObject(params)) return "its params are not an object";
  return "its params are not as the protocol has them: _meta is an object, its progressToken a string or an integer";
}

function refuse(id: JsonValue, problem: string, code: number = INVALID_REQUEST): JsonObject {
  return { jsonrpc: "2.0", id, error: { code, message: `The request is malformed: ${problem.replace(/\.$/u, "")}.` } };
}
