/** Finds third-party tools, and text in their definitions that seems to be meant for the model. */
import { toolOrigins } from "../../config/tools/tool-origin.ts";
import { SuspiciousTextFinder } from "../../trust/suspicious-text.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import type { OpenRuntime } from "./open-runtime.ts";

/** Returns the toolsets whose tools an MCP server or an OpenAPI document describes. */
export function thirdPartyToolsets({ config }: Pick<OpenRuntime, "config">): ReadonlySet<string> {
  return new Set([...toolOrigins(config.config)].filter(([, { isThirdParty }]) => isThirdParty).map(([name]) => name));
}

/** Engines whose tools a server or a document describes, even if a descriptor names the server. */
const DESCRIBED_ELSEWHERE: ReadonlySet<string> = new Set(["mcp", "rest"]);

/** Returns suspicious text in the definition of a third-party tool; empty for tools that the configuration defines itself. */
export function findSuspicions(
  { tool, toolset }: RegisteredTool,
  thirdParty: ReadonlySet<string>,
  finder = new SuspiciousTextFinder(),
): readonly string[] {
  const isDescribed = toolset.engine !== undefined && DESCRIBED_ELSEWHERE.has(toolset.engine.kind);
  return isDescribed || thirdParty.has(toolset.name) ? finder.find(tool) : [];
}
