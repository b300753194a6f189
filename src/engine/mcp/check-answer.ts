/** Checks a JSON answer over Streamable HTTP, which belongs to the request that was posted. */
import { parseExactly } from "../../core/base/parse-exactly.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { EDGE_LENGTH } from "../../processes/line-reader.ts";
import { stripControlCharacters } from "../../processes/stderr-tail.ts";
import { ServerFault } from "./failure.ts";
import { findAnsweredId } from "./oversize-answer.ts";

const MAX_QUOTED = 200;
const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
const RESULT_OR_ERROR = /"(?:result|error)"\s*:/u;

/**
 * The text to read in place of the answer: an error without an id gets the id of the request.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
 * @throws ToolError `invalid_output` for JSON that does not answer the request, which would otherwise wait until its timeout
 */
export function checkAnswer(posted: string, text: string): string {
  const request = tryParse(posted);
  if (!isJsonObject(request) || typeof request["method"] !== "string" || request["id"] === undefined) return text;
  const { id, method } = request;
  const head = text.slice(0, EDGE_LENGTH);
  if (findAnsweredId(head, text.slice(-EDGE_LENGTH)) === id && RESULT_OR_ERROR.test(head)) return text; // large answers are not parsed twice
  const answer = tryParse(text);
  if (answer === undefined) return text; // not JSON: the SDK reports it
  const messages = isJsonArray(answer) ? answer : [answer];
  const own = messages.find((message) => isJsonObject(message) && message["id"] === id && message["method"] === undefined);
  if (isJsonObject(own) && hasResultOrError(own)) return text;
  const unnamed = own === undefined ? messages.find(isErrorWithoutId) : undefined;
  if (isJsonObject(unnamed)) return JSON.stringify({ ...unnamed, id });
  const problem = isJsonObject(own)
    ? `a message that has ${own["result"] === undefined ? "neither a result nor an error" : "both a result and an error"}`
    : describeAnswerProblem(messages, id);
  throw new ServerFault("invalid_output", `it answered ${method} with ${problem}: ${stripControlCharacters(text).slice(0, MAX_QUOTED)}`);
}

/**
 * Checks that a request was not merely accepted (HTTP 202). Up to 2025-11-25 the answer may still come on another stream; later there is none.
 *
 * @throws ToolError `invalid_output` for a request of the revision 2026-07-28, except for the version probe
 */
export function checkAccepted(posted: string): void {
  const request = tryParse(posted);
  if (!isJsonObject(request) || typeof request["method"] !== "string" || request["id"] === undefined) return;
  const { method, params } = request;
  const meta = isJsonObject(params) ? params["_meta"] : undefined;
  if (method === "server/discover" || !isJsonObject(meta) || meta[VERSION_KEY] === undefined) return;
  throw new ServerFault("invalid_output", `it answered ${method} with HTTP 202, which has no answer`);
}

function tryParse(text: string): JsonValue | undefined {
  try {
    return parseExactly(text) as JsonValue; // JSON by definition
  } catch {
    return undefined;
  }
}

/** Whether it has either a result or an error. Some servers send `error: null` with a result. */
function hasResultOrError(message: JsonObject): boolean {
  return (message["result"] === undefined) === ((message["error"] ?? undefined) !== undefined);
}

function isErrorWithoutId(message: JsonValue): boolean {
  return isJsonObject(message) && (message["id"] ?? null) === null && isJsonObject(message["error"]) && message["result"] === undefined;
}

function describeAnswerProblem([first]: readonly JsonValue[], wanted: JsonValue): string {
  if (!isJsonObject(first)) return "no message";
  const { id } = first;
  if (id === undefined || id === null) return "a message without an id";
  return `a message with the id ${JSON.stringify(id).slice(0, MAX_QUOTED)} in place of ${JSON.stringify(wanted)}`;
}
