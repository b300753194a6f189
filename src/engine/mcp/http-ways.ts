/** The ways to try to a server over HTTP, in order. */
import { serverUrl, type McpUrlOptions } from "./options.ts";

export interface HttpWay {
  readonly kind: "http" | "sse";
  readonly server: McpUrlOptions;
}

/** Where servers usually are when only their host is known: the official SDKs' own examples. */
const USUAL_PATHS = { http: "/mcp", sse: "/sse" } as const;

/**
 * Streamable HTTP, then the older transport, each at the address and, for an address without a path, at the path that servers of its
 * kind usually have.
 */
export function waysTo(server: McpUrlOptions): readonly HttpWay[] {
  const { transport = "auto", protocol } = server;
  const kinds = transport === "auto" ? (protocol === "modern" ? (["http"] as const) : (["http", "sse"] as const)) : [transport];
  return kinds.flatMap((kind) => addressesOf(server, kind).map((way) => ({ kind, server: kind === "sse" ? older(way) : way })));
}

function older(server: McpUrlOptions): McpUrlOptions {
  return { ...server, protocol: "legacy" };
}

export function hasPath(server: McpUrlOptions): boolean {
  return serverUrl(server).pathname !== "/";
}

function addressesOf(server: McpUrlOptions, kind: HttpWay["kind"]): readonly McpUrlOptions[] {
  if (hasPath(server)) return [server];
  const usual = serverUrl(server);
  usual.pathname = USUAL_PATHS[kind];
  return [server, { ...server, url: usual }];
}

/**
 * The next way after one has failed; undefined = no other would do better. Another path is tried where the first has no MCP server,
 * the older transport where a server does not know Streamable HTTP.
 *
 * @param status of the answer that was none of MCP; undefined when there was no answer
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#backwards-compatibility
 */
export function nextWay(ways: readonly HttpWay[], failed: HttpWay, status: number | undefined): HttpWay | undefined {
  const isNothingThere = status === 404 || status === 405 || (failed.kind === "sse" && status === 200); // a page, and no stream of events
  const isOlderServer = status !== undefined && status >= 400 && status < 500 && status !== 401 && status !== 403;
  return ways.slice(ways.indexOf(failed) + 1).find(({ kind }) => (kind === failed.kind ? isNothingThere : isOlderServer));
}
