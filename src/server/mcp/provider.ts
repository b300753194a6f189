/** The features that a program offers over MCP besides its tools: resources, prompts, completions. */
import type { McpPeer } from "../../engine/mcp/peer.ts";

type Offered = Omit<McpPeer, "name" | "identity" | "subscribe" | "unsubscribe" | "setLogLevel">;

/**
 * Answers for the resources, prompts and completions that it has methods for, as an `McpPeer` answers for a connected server: the
 * protocol's own params in, its result out. Throw `ToolError` `not_found` or `invalid_input` for what a client asked wrongly.
 */
export interface McpProvider extends Partial<Offered> {
  /** Prefixes its prompts: `name__prompt`. @default no prefix */
  readonly name?: string;
}
