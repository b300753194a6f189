/** Ways to connect to a server over HTTP, in the order in which they are tried. */
import { serverUrl, type McpUrlOptions } from "./options.ts";

export interface HttpEndpoint {
  readonly kind: "http" | "sse";
  readonly server: McpUrlOptions;
}

/** Usual paths of servers, used if the url has none, from the examples of the official SDKs. */
const USUAL_PATHS = { http: "/mcp", sse: "/sse" } as const;

/** Streamable HTTP, then the older transport, each at the given address and, if that has no path, at the usual path of its kind. */
export function httpEndpoints(server: McpUrlOptions): readonly HttpEndpoint[] {
  const { transport = "auto", protocol } = server;
  const kinds = transport === "auto" ? (protocol === "modern" ? (["http"] as const) : (["http", "sse"] as const)) : [transport];
  return kinds.flatMap((kind) => candidateAddresses(server, kind).map((way) => ({ kind, server: kind === "sse" ? asLegacy(way) : way })));
}

function asLegacy(server: McpUrlOptions): McpUrlOptions {
  return { ...server, protocol: "legacy" };
}

export function hasPath(server: McpUrlOptions): boolean {
  return serverUrl(server).pathname !== "/";
}

function candidateAddresses(server: McpUrlOptions, kind: HttpEndpoint["kind"]): readonly McpUrlOptions[] {
  if (hasPath(server)) return [server];
  const usual = serverUrl(server);
  usual.pathname = USUAL_PATHS[kind];
  return [server, { ...server, url: usual }];
}

/**
 * The next way to try after one has failed; undefined if no other can work. Another path is tried if there is no MCP server at the first, the older
 * transport if the server does not support Streamable HTTP.
 *
 * @param status of the failed answer; undefined if there was none
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#backwards-compatibility
 */
export function nextEndpoint(
  endpoints: readonly HttpEndpoint[],
  failed: HttpEndpoint,
  status: number | undefined,
): HttpEndpoint | undefined {
  const isNothingThere = status === 404 || status === 405 || (failed.kind === "sse" && status === 200); // a page instead of an event stream
  const isOlderServer = status !== undefined && status >= 400 && status < 500 && status !== 401 && status !== 403;
  return endpoints.slice(endpoints.indexOf(failed) + 1).find(({ kind }) => (kind === failed.kind ? isNothingThere : isOlderServer));
}
