/** Servers that are reached below a path. */
import { basePathFault, withoutBasePath } from "../core/base/base-path.ts";
import { keepWith } from "../core/base/keep-with.ts";
import { quoted } from "../core/base/wording.ts";
import { ToolError } from "../core/error.ts";

/** @throws ToolError `invalid_argument` for a path that addresses cannot begin with */
export function checkBasePath(basePath: string | undefined): void {
  const fault = basePath === undefined ? undefined : basePathFault(basePath);
  if (fault !== undefined) throw new ToolError("invalid_argument", `The basePath ${quoted(basePath)} ${fault}`);
}

/** The same request as at the root; itself where its path does not begin with the base path. */
export function requestWithoutBasePath(request: Request, basePath: string | undefined): Request {
  if (basePath === undefined) return request;
  const url = new URL(request.url);
  const pathname = withoutBasePath(url.pathname, basePath);
  if (pathname === url.pathname) return request;
  url.pathname = pathname;
  const { method, headers, body, signal } = request; // the rest says how to send it: `keepalive` would be refused with a stream
  const own = new Request(url, { method, headers, body, signal, ...(body === null ? {} : { duplex: "half" }) });
  keepWith(request, own);
  return own;
}
