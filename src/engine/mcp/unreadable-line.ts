/** Lines of a server over stdio that are not messages of the protocol, though they were meant to be. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { parseExactly } from "../../core/base/exact-json.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { LONG_INTEGER } from "../../core/base/parse-json.ts";
import { EDGE_LENGTH } from "../../processes/line-reader.ts";
import { INVALID_REQUEST, PARSE_ERROR, UNREADABLE_ANSWER } from "./rpc-codes.ts";
import { answeredId } from "./oversize-answer.ts";

/** The error that ends the request which a line answers, or the refusal of a request of the server. */
export type Unreadable = { readonly ended: JSONRPCMessage } | { readonly refusal: JSONRPCMessage };

const MEANT = /^\{\s*"(?:jsonrpc|id|method|result|error)"\s*:/u;

/**
 * Undefined for what is not meant as a message, such as a log that is written as JSON: a server that prints what it is sent would be
 * answered for ever.
 *
 * @see https://www.jsonrpc.org/specification#error_object
 */
export function unreadable(line: string): Unreadable | undefined {
  let read: unknown;
  try {
    read = parseExactly(line);
  } catch {
    if (!MEANT.test(line)) return undefined;
    const id = answeredId(line.slice(0, EDGE_LENGTH), line.slice(-EDGE_LENGTH));
    if (id === undefined)
      return { refusal: asMessage({ jsonrpc: "2.0", id: null, error: { code: PARSE_ERROR, message: "The line is not JSON." } }) };
    return { ended: { jsonrpc: "2.0", id, error: { code: UNREADABLE_ANSWER, message: "its answer is not JSON" } } };
  }
  if (!isJsonObject(read) || !isRequest(read)) return undefined;
  const { id } = read;
  const error = { code: INVALID_REQUEST, message: "The request is malformed." };
  return { refusal: asMessage({ jsonrpc: "2.0", id: isId(id) ? id : null, error }) };
}

/** Whether it was meant as a request. */
export function isRequest(message: JsonObject): boolean {
  return message["method"] !== undefined && Object.hasOwn(message, "id");
}

/** @param line the text it was read from, in which its id may be a number that cannot be kept */
export function isSoundRequest({ id, method, params }: JsonObject, line: string): boolean {
  if (!isId(id) || typeof method !== "string" || ((params ?? undefined) !== undefined && !isJsonObject(params))) return false;
  if (typeof id === "number" || !/^-?\d+$/u.test(id) || !LONG_INTEGER.test(id)) return true;
  const plain = parseExactly(line);
  return isJsonObject(plain) && plain["id"] === id;
}

function isId(id: unknown): id is string | number {
  return typeof id === "string" || Number.isSafeInteger(id);
}

/** The SDK's type knows no null for an id. */
function asMessage(message: JsonObject): JSONRPCMessage {
  return message as unknown as JSONRPCMessage;
}
