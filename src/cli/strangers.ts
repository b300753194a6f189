/** Tools that somebody else describes, and what their descriptions seem to try. */
import { toolOrigins } from "../config/tool-origin.ts";
import { suspiciousText } from "../policy/suspicious-text.ts";
import type { RegisteredTool } from "../runtime/registry/registered-tool.ts";
import type { OpenRuntime } from "./open-runtime.ts";

/** The toolsets whose tools an MCP server or an OpenAPI document describes. */
export function strangersOf({ config }: Pick<OpenRuntime, "config">): ReadonlySet<string> {
  return new Set([...toolOrigins(config.config)].filter(([, { isStranger }]) => isStranger).map(([name]) => name));
}

/** What is suspicious about a tool; nothing is about those that the user describes. */
export function suspicions({ tool, toolset }: RegisteredTool, strangers: ReadonlySet<string>): readonly string[] {
  return strangers.has(toolset.name) ? suspiciousText(tool) : [];
}
