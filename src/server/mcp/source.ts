/** A source of resources, prompts and completions: a connected MCP server, or a provider of the program. */
import { isJsonObject } from "../../core/base/json.ts";
import type { McpPeer } from "../../engine/mcp/peer.ts";
import type { McpProvider } from "./provider.ts";

export type Kind = "resources" | "prompts" | "completions";
export type Source = McpProvider & Partial<Pick<McpPeer, "identity" | "subscribe" | "unsubscribe" | "setLogLevel">>;

const METHODS: Readonly<Record<Kind, readonly (keyof McpProvider)[]>> = {
  resources: ["listResources", "listResourceTemplates", "readResource"],
  prompts: ["listPrompts"],
  completions: ["complete"],
};

/** Whether a source offers this kind, or may offer it once it is connected. */
export function mayOffer(source: Source, kind: Kind): boolean {
  return "identity" in source && source.identity === undefined ? true : isUsable(source, kind);
}

/** Whether a source announces changes of single resources, or may do so once it is connected. */
export function mayOfferSubscriptions(source: Source): boolean {
  if (!("identity" in source)) return source.onNotification !== undefined && isUsable(source, "resources");
  if (source.identity === undefined) return true;
  const { resources } = source.identity.capabilities;
  return isJsonObject(resources) && resources["subscribe"] === true;
}

/** Whether a source can be asked for this kind now. */
export function isUsable(source: Source, kind: Kind): boolean {
  if ("identity" in source) return source.identity?.capabilities[kind] !== undefined;
  return METHODS[kind].some((method) => source[method] !== undefined);
}

export function titleOf({ name }: Source): string {
  return name === undefined || name === "" ? "the program" : `MCP server ${JSON.stringify(name)}`;
}
