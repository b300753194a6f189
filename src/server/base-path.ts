/** Servers that are reached below a path. */
import { basePathFault, withoutBasePath } from "../core/base/base-path.ts";
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
  return new Request(url, request);
}
