/** Tools that somebody else describes, and what their descriptions seem to try. */
import { toolOrigins } from "../config/tool-origin.ts";
import { suspiciousText } from "../policy/suspicious-text.ts";
import type { RegisteredTool } from "../runtime/registry/registered-tool.ts";
import type { OpenRuntime } from "./open-runtime.ts";

/** The toolsets whose tools an MCP server or an OpenAPI document describes. */
export function strangersOf({ config }: Pick<OpenRuntime, "config">): ReadonlySet<string> {
  return new Set([...toolOrigins(config.config)].filter(([, { isStranger }]) => isStranger).map(([name]) => name));
}

/** Engines whose tools somebody else describes, also where a descriptor names the server. */
const BRINGING: ReadonlySet<string> = new Set(["mcp", "rest"]);

/** What is suspicious about a tool; nothing is about those that the user describes. */
export function suspicions({ tool, toolset }: RegisteredTool, strangers: ReadonlySet<string>): readonly string[] {
  const brought = toolset.engine !== undefined && BRINGING.has(toolset.engine.kind);
  return brought || strangers.has(toolset.name) ? suspiciousText(tool) : [];
}
