/** The MCP servers of a runtime, as far as a caller may see them. */
import type { ToolContext } from "../../core/context.ts";
import { qualifiedName } from "../../core/call.ts";
import { ToolError } from "../../core/error.ts";
import { isJsonArray, isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { findNearNames } from "../../core/base/near-names.ts";
import { callerVisibility, registryOf } from "../../call/context/tool-context.ts";
import { mcpPeerOf, type McpPeer, type PeerOptions } from "../../engine/mcp/peer.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";

export interface VisibleServer {
  readonly name: string;
  readonly peer: McpPeer;
  /** The tools that the caller may call. */
  readonly tools: readonly RegisteredTool[];
}

/**
 * Returns the servers that the caller may see. A server whose tools are all denied or hidden is left out, and so are its resources and prompts. A
 * connected server without tools is left out unless the caller's rules would permit any tool of it.
 */
export function visibleServers(context: ToolContext): readonly VisibleServer[] {
  const registry = registryOf(context);
  const visibility = callerVisibility(context);
  const listed = registry.list();
  const denied = new Set(registry.listDenied().map(({ toolset }) => toolset.name));
  return registry.toolsets().flatMap(({ name, engine }) => {
    const peer = engine === undefined ? undefined : mcpPeerOf(engine);
    if (peer === undefined) return [];
    const all = listed.filter(({ toolset }) => toolset.name === name);
    const tools = all.filter((tool) => visibility?.permits(tool.qualifiedName) !== false);
    const isForbidden = peer.identity !== undefined && visibility?.permits(qualifiedName(name, "*")) === false;
    const isHidden = tools.length === 0 && (all.length > 0 || denied.has(name) || isForbidden);
    return isHidden ? [] : [{ name, peer, tools }];
  });
}

/** @throws ToolError `not_found`, naming the existing servers */
export function getServer(context: ToolContext, name: string): VisibleServer {
  const servers = visibleServers(context);
  const found = servers.find((server) => server.name === name);
  if (found !== undefined) return found;
  const names = servers.map((server) => server.name);
  const likely = [...new Set([...findNearNames(name, names), ...names])].slice(0, 10);
  throw new ToolError("not_found", `No MCP server ${JSON.stringify(name)}.`, {
    hint: likely.length === 0 ? "There are no MCP servers." : `Known servers: ${likely.join(", ")}.`,
  });
}

/** Returns options that forward a question of the server to the person of the call. */
export function peerOptions(context: ToolContext): PeerOptions {
  return { signal: context.signal, ask: (question, asker) => context.ask(question, asker) };
}

const MAX_PAGES = 20;
const MAX_ENTRIES = 500;

/** Returns the first pages of a server's resources or prompts; empty if the server does not offer them. */
export async function listEntries(
  { peer }: VisibleServer,
  what: "resources" | "prompts",
  options: PeerOptions,
): Promise<readonly JsonObject[]> {
  if (peer.identity?.capabilities[what] === undefined) return [];
  const entries: JsonObject[] = [];
  let cursor: unknown;
  for (let page = 0; page < MAX_PAGES && entries.length < MAX_ENTRIES; page++) {
    const params = typeof cursor === "string" ? { cursor } : {};
    const answer = await (what === "resources" ? peer.listResources(params, options) : peer.listPrompts(params, options));
    const items = answer[what];
    for (const item of isJsonArray(items) ? items : []) if (isJsonObject(item)) entries.push(item);
    cursor = answer["nextCursor"];
    if (typeof cursor !== "string" || cursor === "") break;
  }
  return entries.slice(0, MAX_ENTRIES);
}
