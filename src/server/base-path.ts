/** Helpers for servers that are reached below a path. */
import { findBasePathProblem, withoutBasePath } from "../core/base/base-path.ts";
import { retainWith } from "../core/base/retain-with.ts";
import { quoteValue } from "../core/base/wording.ts";
import { ToolError } from "../core/error.ts";

/** The path of MCP on the port of the API, in every server of a store. */
export const MCP_PATH = "/mcp";

/** @throws ToolError `invalid_argument` if no address can begin with the path */
export function checkBasePath(basePath: string | undefined): void {
  const fault = basePath === undefined ? undefined : findBasePathProblem(basePath);
  if (fault !== undefined) throw new ToolError("invalid_argument", `The basePath ${quoteValue(basePath)} ${fault}`);
}

/** Returns the request with the base path removed from its URL; the same object if its path does not begin with the base path. */
export function requestWithoutBasePath(request: Request, basePath: string | undefined): Request {
  if (basePath === undefined) return request;
  const url = new URL(request.url);
  const pathname = withoutBasePath(url.pathname, basePath);
  if (pathname === url.pathname) return request;
  url.pathname = pathname;
  const { method, headers, body, signal } = request; // the other fields say how to send it; `keepalive` would be refused with a stream
  const own = new Request(url, { method, headers, body, signal, ...(body === null ? {} : { duplex: "half" }) });
  retainWith(request, own);
  return own;
}
