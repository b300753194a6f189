/** Servers that are reached below a path. */
import { basePathFault, withoutBasePath } from "../core/base/base-path.ts";
import { quoted } from "../core/base/wording.ts";
import { ToolError } from "../core/error.ts";
import { MCP_PATH } from "./api/mcp-mount.ts";
import { API } from "./api.ts";
import { SCREENS } from "./dashboard/dashboard-files.ts";

/** The first parts of the server's own paths: below one of them, a path could be read with the base path and without it. */
const OWN_PARTS: ReadonlySet<string> = new Set([
  ...[MCP_PATH, ...Object.values(API).map(({ path }) => path)].map((path) => path.split("/")[1] ?? ""),
  ...SCREENS,
  "assets",
  "upstreams",
]);

/** @throws ToolError `invalid_argument` for a path that addresses cannot begin with */
export function checkBasePath(basePath: string | undefined): void {
  if (basePath === undefined) return;
  const fault = basePathFault(basePath);
  if (fault !== undefined) throw new ToolError("invalid_argument", `The basePath ${quoted(basePath)} ${fault}`);
  const [, first = ""] = basePath.split("/");
  if (OWN_PARTS.has(first))
    throw new ToolError("invalid_argument", `The basePath ${quoted(basePath)} begins as paths of the server do.`, {
      hint: `Choose one whose first part is none of ${[...OWN_PARTS].filter((part) => part !== "").join(", ")}: /haft`,
    });
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
