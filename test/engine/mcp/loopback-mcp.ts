/** An MCP server over HTTP on the loopback address that answers what a test tells it to, written on bare JSON-RPC. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { onTestFinished } from "vitest";
import type { Engine } from "../../../src/core/engine.ts";
import { isJsonObject, type JsonObject } from "../../../src/core/base/json.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { mcpEngine, type McpUrlOptions } from "../../../src/engine/mcp.ts";
import { MemoryLog } from "../../../src/testing/fake-ports.ts";
import { engineContext } from "../engine-contexts.ts";

export interface Asked {
  readonly method: string;
  readonly params: JsonObject;
  readonly id: unknown;
  readonly headers: IncomingMessage["headers"];
  readonly response: ServerResponse;
}

/** A result to send, or undefined when the function has written to `response` itself. `GET` opens the stream of a session, and `DELETE` ends one; without them neither is supported. */
export type Answers = Readonly<Record<string, (asked: Asked) => JsonObject | undefined>>;

export interface LoopbackMcp {
  readonly url: string;
  /** Everything that was posted, in order. */
  readonly asked: readonly Asked[];
  /** Ends every connection, and takes none until the returned function is called. */
  stop(): Promise<() => Promise<void>>;
}

const CAPABILITIES = { tools: {} };
const VERSION = "2026-07-28";

/** What a server of the newer era says to everybody. */
export const modern = (capabilities: JsonObject = CAPABILITIES): Answers => ({
  "server/discover": () => ({ resultType: "complete", supportedVersions: [VERSION], capabilities, ttlMs: 0, cacheScope: "private" }),
  "tools/list": () => toolList(["echo"]),
});

/** What a server of the older era says, with a session of its own. */
export const legacy = (capabilities: JsonObject = CAPABILITIES): Answers => ({
  initialize: ({ response, params }) => {
    response.setHeader("mcp-session-id", `session-${String(params["protocolVersion"])}`);
    return { protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "loopback", version: "1" } };
  },
  "tools/list": () => toolList(["echo"]),
});

export function toolList(names: readonly string[], more: JsonObject = {}): JsonObject {
  const tools = names.map((name) => ({ name, description: "", inputSchema: { type: "object" } }));
  return { resultType: "complete", tools, ttlMs: 0, cacheScope: "private", ...more };
}

export const text = (value: string): JsonObject => ({ resultType: "complete", content: [{ type: "text", text: value }] });

export async function loopbackMcp(answers: Answers): Promise<LoopbackMcp> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const { method = "", headers } = request;
    if (method !== "POST") {
      const known = answers[method];
      return void (known === undefined ? response.writeHead(405).end() : known({ method, params: {}, id: undefined, headers, response }));
    }
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const message: unknown = JSON.parse(Buffer.concat(chunks).toString());
      if (isJsonObject(message)) answer(message, { request, response, answers, asked });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const stop: LoopbackMcp["stop"] = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    return () => new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  };
  return { url: `http://127.0.0.1:${port}/mcp`, asked, stop };
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly answers: Answers;
  readonly asked: Asked[];
}

function answer(message: JsonObject, { request, response, answers, asked }: Exchange): void {
  const { id, method, params } = message;
  const it: Asked = { method: String(method), params: isJsonObject(params) ? params : {}, id, headers: request.headers, response };
  asked.push(it);
  if (id === undefined || method === undefined) return void response.writeHead(202).end();
  const known = answers[it.method];
  if (known === undefined) return reply(response, { id, error: { code: -32601, message: `Method not found: ${it.method}` } }, 404);
  const result = known(it);
  if (result !== undefined) reply(response, { id, result });
}

export function reply(response: ServerResponse, message: JsonObject, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", ...message }));
}

/** One event of a stream that stays open until `response.end()`. */
export function event(response: ServerResponse, message: JsonObject): void {
  if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
}

export interface OpenedMcp {
  readonly engine: Engine;
  readonly tools: readonly Tool[];
  readonly log: MemoryLog;
  readonly warnings: () => readonly string[];
  /** How often the engine said that its tools changed. */
  readonly changes: () => number;
}

export async function openHttp(options: McpUrlOptions, context: Parameters<typeof engineContext>[0] = {}): Promise<OpenedMcp> {
  const engine = mcpEngine(options);
  onTestFinished(() => engine.close?.());
  const log = new MemoryLog();
  let changed = 0;
  const tools = (await engine.open?.(engineContext({ toolset: "far", log, changed: () => void changed++, ...context }))) ?? [];
  const warnings = (): readonly string[] => log.lines.filter((line) => line.level === "warn").map((line) => line.message);
  return { engine, tools, log, warnings, changes: () => changed };
}
