/** Makes an answer that is too large or nests too deep fail its request, and not the whole server. */
import { parseExactly } from "../../core/base/parse-exactly.ts";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { EDGE_LENGTH } from "../../processes/line-reader.ts";
import { ANSWER_TOO_LARGE } from "./rpc-codes.ts";

/** Maximum depth of a tool. With the levels of the message around it, it stays within the limit of all messages. */
const MAX_TOOL_DEPTH = 250;

/** The error in place of the answer to a request; undefined if the line does not identify a request that it answers. */
export function oversizeError(line: string, problem: string): JSONRPCMessage | undefined {
  const id = findAnsweredId(line.slice(0, EDGE_LENGTH), line.slice(-EDGE_LENGTH));
  return id === undefined ? undefined : { jsonrpc: "2.0", id, error: { code: ANSWER_TOO_LARGE, message: problem } };
}

/** A list of tools in which those that nest too deep are unusable; undefined for any other line. */
export function withoutDeepTools(line: string): JSONRPCMessage | undefined {
  let message: unknown;
  try {
    message = parseExactly(line); // parseJson refuses deep nesting; this parser does not recurse
  } catch {
    return undefined;
  }
  const result = isJsonObject(message) ? message["result"] : undefined;
  if (!isJsonObject(message) || !isJsonObject(result) || !isJsonArray(result["tools"])) return undefined;
  let isOther = true; // another part of the message may nest too deep
  const tools = result["tools"].map((tool) => {
    if (!isJsonObject(tool) || !nestsDeeper(tool, MAX_TOOL_DEPTH)) return tool;
    isOther = false;
    return withInvalidSchema(tool);
  });
  if (isOther) return undefined;
  return { ...message, result: { ...result, tools } } as unknown as JSONRPCMessage; // the SDK checks every field that it uses
}

/** The tool with an invalid schema, so that the registry disables it and reports why. */
function withInvalidSchema({ name, description }: JsonObject): JsonObject {
  const described = { ...(name === undefined ? {} : { name }), ...(typeof description === "string" ? { description } : {}) };
  return { ...described, inputSchema: { type: "object", $ref: `#/nests-deeper-than-${MAX_TOOL_DEPTH}-levels` } };
}

/** Goes level by level, without recursion. */
function nestsDeeper(root: JsonObject, depth: number): boolean {
  let level: readonly (JsonObject | readonly JsonValue[])[] = [root];
  for (let left = depth; level.length > 0; left--) {
    if (left === 0) return true;
    level = level.flatMap((container) => Object.values(container).filter(isContainer));
  }
  return false;
}

function isContainer(value: JsonValue): value is JsonObject | readonly JsonValue[] {
  return typeof value === "object" && value !== null;
}

const MEMBER = /\s*"((?:[^"\\]|\\.)*)"\s*:\s*(?:(-?\d+)(?=\s*[,}])|("(?:[^"\\]|\\.)*")|(true|false|null)|([[{]))\s*,?/uy;
const ID_LAST = /[}\]]\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?,\s*"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/u;

/** The id of the request that a line is, read from the members before its first array or object, or after its last. */
export function findRequestId(edges: string): number | string | undefined {
  const id = /(?:^\s*\{|[,}\]])\s*"id"\s*:\s*(\d{1,15}|"[^"\\]{1,100}")\s*[,}]/u.exec(edges)?.[1];
  if (id === undefined) return undefined;
  return id.startsWith('"') ? id.slice(1, -1) : Number(id);
}

/** The id of the request that a line answers, read from the members before its first array or object, or after its last. */
export function findAnsweredId(head: string, tail: string): number | undefined {
  const start = /^\s*\{/u.exec(head);
  if (start === null) return undefined;
  MEMBER.lastIndex = start[0].length;
  let id: string | null | undefined; // null for an id that is not a number
  for (let member = MEMBER.exec(head); member !== null; member = MEMBER.exec(head)) {
    const [, key, number, , , opened] = member;
    if (key === "method" || key === "params") return undefined; // a request of the server, whose id may equal one of ours
    if (key === "id") id = number ?? null;
    if (opened !== undefined) break;
  }
  const named = id === undefined ? ID_LAST.exec(tail)?.[1] : id;
  return typeof named === "string" && Number.isSafeInteger(Number(named)) ? Number(named) : undefined;
}
