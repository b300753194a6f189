/** Requests of the revision 2026-07-28 as any HTTP client sends them. */
import { isJsonObject, type JsonObject } from "../../src/core/base/json.ts";
import { parseJson } from "../../src/core/base/parse-json.ts";

export const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

const VERSION = "2026-07-28";
const NAMED: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

export interface RawAnswer {
  readonly status: number;
  readonly result: JsonObject;
  /** Undefined where there is a result. */
  readonly error: JsonObject | undefined;
}

export interface RawOptions {
  readonly capabilities?: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly progressToken?: string;
}

let lastId = 0;

/** Sends a request and reads its answer to the end. */
export async function raw(url: string, method: string, params: JsonObject = {}, options: RawOptions = {}): Promise<RawAnswer> {
  const response = await rawResponse(url, method, params, options);
  const text = await response.text();
  const messages = response.headers.get("content-type")?.startsWith("text/event-stream") === true ? eventsOf(text) : [parseJson(text)];
  const message = messages.find((one) => isJsonObject(one) && (one["result"] !== undefined || one["error"] !== undefined));
  if (!isJsonObject(message)) throw new Error(`no answer to ${method}: ${text}`);
  const { result, error } = message;
  return { status: response.status, result: isJsonObject(result) ? result : {}, error: isJsonObject(error) ? error : undefined };
}

export function rawResponse(url: string, method: string, params: JsonObject, options: RawOptions = {}): Promise<Response> {
  const { capabilities = {}, headers = {}, signal, progressToken } = options;
  const named = NAMED[method];
  const name = named === undefined ? undefined : params[named];
  const meta = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": capabilities,
    ...(progressToken === undefined ? {} : { progressToken }),
  };
  return fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": VERSION,
      "mcp-method": method,
      ...(typeof name === "string" ? { "mcp-name": name } : {}),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: ++lastId, method, params: { ...params, _meta: meta } }),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** The messages of an event stream. */
export function eventsOf(text: string): readonly unknown[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => parseJson(line.slice("data: ".length)));
}
