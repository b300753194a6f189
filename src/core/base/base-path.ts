/** The path below which a server is reached, such as `/haft` of `https://app.example/haft/`. */

/** Characters that mean the same in addresses, patterns and pages: none that is escaped, and no dot at the beginning of a part. */
const BASE_PATH = /^(?:\/[\w~-][\w.~-]*)+$/u;

/** The first parts of the server's own paths: below one of them, a path could be read with the base path and without it. */
const OWN_PARTS: ReadonlySet<string> = new Set([
  "agents",
  "approvals",
  "assets",
  "audit",
  "file",
  "health",
  "healthz",
  "jobs",
  "mcp",
  "metrics",
  "openapi.json",
  "processes",
  "readyz",
  "schedules",
  "sessions",
  "tools",
  "upstreams",
  "v1",
]);

/** Why a text cannot be one, as the end of a sentence; undefined for one that can. */
export function basePathFault(text: string): string | undefined {
  if (!BASE_PATH.test(text))
    return 'must be a path such as "/haft" or "/tools/haft": it begins with a slash and does not end with one, and its parts have letters, digits, "-", "_", "~" and dots within. Leave it out for the root of a host.';
  if (!OWN_PARTS.has(text.split("/")[1] ?? "")) return undefined;
  return `must not begin as a path of the server. Choose one such as "/haft", whose first part is none of ${[...OWN_PARTS].join(", ")}.`;
}

/** The target of a request below the path, as at the root; a target that does not begin with the path is returned as it is. */
export function withoutBasePath(target: string, basePath: string): string {
  if (!target.startsWith(basePath)) return target;
  const rest = target.slice(basePath.length);
  if (rest.startsWith("/")) return rest;
  return rest === "" || rest.startsWith("?") ? `/${rest}` : target;
}
