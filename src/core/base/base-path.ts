/** The path under which a server is reached, such as `/haft` for `https://app.example/haft/`. */

/** Allows only characters that mean the same in URLs, patterns and pages: no escaped ones, and no dot at the start of a segment. */
const BASE_PATH = /^(?:\/[\w~-][\w.~-]*)+$/u;

/** The first segments of the server's own paths. A base path must not begin with one: a path could then be read with or without the base path. */
const SERVER_SEGMENTS: ReadonlySet<string> = new Set([
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

/** Returns why a text is not a valid base path, as the end of a sentence; undefined if it is valid. */
export function findBasePathProblem(text: string): string | undefined {
  if (!BASE_PATH.test(text))
    return 'must be a path such as "/haft" or "/tools/haft": it begins with a slash and does not end with one, and its parts consist of letters, digits, "-", "_", "~" and inner dots. Leave it out for the root of a host.';
  if (!SERVER_SEGMENTS.has(text.split("/")[1] ?? "")) return undefined;
  return `must not begin like a path of the server. Choose one such as "/haft", whose first part is not one of ${[...SERVER_SEGMENTS].join(", ")}.`;
}

/** Returns a request target without the base path; a target that does not begin with it is returned unchanged. */
export function withoutBasePath(target: string, basePath: string): string {
  if (!target.startsWith(basePath)) return target;
  const rest = target.slice(basePath.length);
  if (rest.startsWith("/")) return rest;
  return rest === "" || rest.startsWith("?") ? `/${rest}` : target;
}
