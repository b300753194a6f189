/** Attributes of servers: the server of a model, and the MCP server of a tool. */
import type { Attributes } from "@opentelemetry/api";
import { isJsonObject, type JsonObject } from "../core/base/json.ts";
import type { Tool } from "../core/tool.ts";
import type { RegisteredTool } from "../registry/registered-tool.ts";
import { ATTRIBUTES } from "./semantic-conventions.ts";

/** Attributes of an address such as `https://api.openai.com`; none if the address is invalid. */
export function serverAttributes(url: unknown): Attributes {
  if (typeof url !== "string" || !URL.canParse(url)) return {};
  const { hostname, port, protocol } = new URL(url);
  if (hostname === "") return {};
  const known = protocol === "https:" ? 443 : 80;
  return {
    [ATTRIBUTES.serverAddress]: hostname.replace(/^\[|\]$/gu, ""), // an IPv6 address has brackets only in a URL
    [ATTRIBUTES.serverPort]: port === "" ? known : Number(port),
  };
}

export function isMcpTool(entry: RegisteredTool | undefined): entry is RegisteredTool {
  return entry?.toolset.engine?.kind === "mcp";
}

/**
 * Attributes of a call that an MCP server answered. The conventions want them on the span of the call, rather than on another span below it. The id
 * of the MCP session is left out, because some servers authenticate their client by it.
 */
export function mcpAttributes({ metadata }: Tool): Attributes {
  const server = metadata?.["server"];
  return isJsonObject(server) ? { [ATTRIBUTES.mcpMethod]: "tools/call", ...mcpServerAttributes(server) } : {};
}

/** Attributes of an MCP server, from the facts that its tools have in their metadata. */
export function mcpServerAttributes({ transport, url, protocolVersion }: JsonObject): Attributes {
  return {
    ...(typeof protocolVersion === "string" ? { [ATTRIBUTES.mcpProtocolVersion]: protocolVersion } : {}),
    ...networkAttributes(transport),
    ...serverAttributes(url),
  };
}

/** Network attributes of a transport; none for a transport of the program. */
export function networkAttributes(transport: unknown): Attributes {
  if (transport === "custom") return {};
  if (transport === "stdio") return { [ATTRIBUTES.networkTransport]: "pipe" };
  return { [ATTRIBUTES.networkTransport]: "tcp", [ATTRIBUTES.networkProtocol]: "http" };
}
