/** Turns an answer that is too large or too deep to be read into the end of its request, and not of the server. */
import { parseExactly } from "../../core/base/exact-json.ts";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { EDGE_LENGTH } from "../../processes/line-reader.ts";
import { ANSWER_TOO_LARGE } from "./rpc-codes.ts";

/** With the levels of the message around it, a tool that nests no deeper is within the limit of all messages. */
const MAX_TOOL_DEPTH = 250;

/** The error that takes the place of the answer to a request; undefined where the line answers none that can be named. */
export function errorInstead(line: string, problem: string): JSONRPCMessage | undefined {
  const id = answeredId(line.slice(0, EDGE_LENGTH), line.slice(-EDGE_LENGTH));
  return id === undefined ? undefined : { jsonrpc: "2.0", id, error: { code: ANSWER_TOO_LARGE, message: problem } };
}

/** A list of tools with those that nest too deep made unusable; undefined for every other line. */
export function shallowList(line: string): JSONRPCMessage | undefined {
  let message: unknown;
  try {
    message = parseExactly(line); // parseJson refuses what is too deep; this parser does not recurse
  } catch {
    return undefined;
  }
  const result = isJsonObject(message) ? message["result"] : undefined;
  if (!isJsonObject(message) || !isJsonObject(result) || !isJsonArray(result["tools"])) return undefined;
  let isOther = true; // something else in the message may be too deep
  const tools = result["tools"].map((tool) => {
    if (!isJsonObject(tool) || !nestsDeeper(tool, MAX_TOOL_DEPTH)) return tool;
    isOther = false;
    return unusable(tool);
  });
  if (isOther) return undefined;
  return { ...message, result: { ...result, tools } } as unknown as JSONRPCMessage; // the SDK checks every field that it uses
}

/** With a schema that is none, so that the registry puts the tool aside and says why. */
function unusable({ name, description }: JsonObject): JsonObject {
  const told = { ...(name === undefined ? {} : { name }), ...(typeof description === "string" ? { description } : {}) };
  return { ...told, inputSchema: { type: "object", $ref: `#/nests-deeper-than-${MAX_TOOL_DEPTH}-levels` } };
}

/** Level by level, without recursion. */
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

/** The id of the request that a line is, by the members before its first array or object, or behind its last. */
export function requestId(edges: string): number | string | undefined {
  const id = /(?:^\s*\{|[,}\]])\s*"id"\s*:\s*(\d{1,15}|"[^"\\]{1,100}")\s*[,}]/u.exec(edges)?.[1];
  if (id === undefined) return undefined;
  return id.startsWith('"') ? id.slice(1, -1) : Number(id);
}

/** The number of the request that a line answers, by the members before its first array or object, or behind its last. */
export function answeredId(head: string, tail: string): number | undefined {
  const start = /^\s*\{/u.exec(head);
  if (start === null) return undefined;
  MEMBER.lastIndex = start[0].length;
  let id: string | null | undefined; // null for one that is not a number
  for (let member = MEMBER.exec(head); member !== null; member = MEMBER.exec(head)) {
    const [, key, number, , , opened] = member;
    if (key === "method" || key === "params") return undefined; // a request, which may have the number of one of ours
    if (key === "id") id = number ?? null;
    if (opened !== undefined) break;
  }
  const named = id === undefined ? ID_LAST.exec(tail)?.[1] : id;
  return typeof named === "string" && Number.isSafeInteger(Number(named)) ? Number(named) : undefined;
}
