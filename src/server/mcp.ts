/** Serves the tools of a runtime over MCP, on standard input and output or HTTP, to clients of both eras of the protocol. @packageDocumentation */
import { ToolError } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { HttpGateway, type McpHandler } from "./mcp/http.ts";
import { HTTP_OPTIONS, type McpHttpOptions } from "./mcp/http-options.ts";
import { listen, type LoginPages, type McpListenOptions, type McpListener } from "./mcp/listen.ts";
import { serveStdio, type McpStdioOptions, type McpStdioServer } from "./mcp/stdio.ts";

export { mcpApprover } from "./mcp/approver.ts";
export { mcpClientOf } from "./mcp/client.ts";
export type { InputOptions, McpClient, McpLogLevel } from "./mcp/client.ts";
export type { LoginPages, McpHandler, McpHttpOptions, McpListenOptions, McpListener, McpStdioOptions, McpStdioServer };
export type { McpServerOptions, McpTaskOptions } from "./mcp/options.ts";
export type { Authenticator, Principal, Scope } from "./auth/principal.ts";
export type { McpProvider } from "./mcp/provider.ts";

/**
 * Serves one client over standard input and output, until it closes its end.
 *
 * The runtime must be open, and stays open. Without `output`, standard output carries the protocol alone: everything else that the process prints
 * there goes to standard error until the connection has ended. The library `@modelcontextprotocol/server` is loaded by this call.
 *
 * @throws ToolError `invalid_argument` for wrong options, `unavailable` without the library, as a rejection
 */
export async function serveMcpStdio(runtime: Runtime, options: McpStdioOptions = {}): Promise<McpStdioServer> {
  return await serveStdio(checkRuntime(runtime), options);
}

/**
 * Makes a function that answers the requests of MCP clients, for any HTTP server that uses `Request` and `Response`.
 *
 * Requests must be sent to an allowed host, must not come from a page of another origin, and need the token if one is set. Aborting a request's
 * signal cancels its call. The library `@modelcontextprotocol/server` is loaded with the first request.
 *
 * @throws ToolError `invalid_argument` at once for wrong options
 */
export function mcpHandler(runtime: Runtime, options: McpHttpOptions = {}): McpHandler {
  checkKnownKeys(options, HTTP_OPTIONS, "mcpHandler()");
  const gateway = new HttpGateway(checkRuntime(runtime), options);
  return Object.assign((request: Request) => gateway.handle(request), { close: () => gateway.close() });
}

/**
 * Serves MCP clients over HTTP on a port.
 *
 * @throws ToolError `invalid_argument` for wrong options, such as an address that other machines reach without a token; `unavailable` for a port that
 * cannot be used, and without the library `@modelcontextprotocol/server`, which is loaded by this call; as a rejection
 */
export async function listenMcp(runtime: Runtime, options: McpListenOptions): Promise<McpListener> {
  return await listen(checkRuntime(runtime), options);
}

function checkRuntime(runtime: Runtime): Runtime {
  if (typeof runtime === "object" && runtime !== null && typeof runtime.execute === "function") return runtime;
  throw new ToolError("invalid_argument", "An MCP server needs a runtime, as returned by createRuntime().");
}
