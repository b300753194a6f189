/** Features that a program offers over MCP besides tools: resources, prompts, completions. */
import type { McpPeer } from "../../engine/mcp/peer.ts";

type Offered = Omit<McpPeer, "name" | "identity" | "subscribe" | "unsubscribe" | "setLogLevel">;

/**
 * Provides the resources, prompts and completions that it has methods for, like an `McpPeer` for a connected server: methods get the protocol's
 * params and return its result. Throw `ToolError` `not_found` or `invalid_input` for an invalid request of a client.
 */
export interface McpProvider extends Partial<Offered> {
  /** Prefix of its prompts' names: `name__prompt`. @default no prefix */
  readonly name?: string;
}
