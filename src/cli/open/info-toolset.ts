import { DOCUMENTATION_TOOLSET } from "../../call/admit/documentation-gate.ts";
import { readDocumentation } from "../../config/tables/documentation-config.ts";
import type { HaftConfig } from "../../config/haft-config.ts";
import type { Registry } from "../../registry/registry.ts";
import { infoToolset } from "../../toolsets/info.ts";

/**
 * Adds the toolset with the tool `info` if any tool has documentation, unless the configuration has a toolset of that name.
 *
 * @throws ToolError `invalid_config`, as a rejection, for documentation that cannot be read
 */
export async function addInfoToolset(registry: Registry, { documentation }: HaftConfig): Promise<void> {
  const tools = registry.list();
  if (tools.some(({ toolset }) => toolset.name === DOCUMENTATION_TOOLSET)) return;
  const overrides = await readDocumentation(documentation);
  const hasMore = tools.some(({ tool }) => (tool.documentation ?? "") !== "" || tool.requiresReading === true);
  if (hasMore || overrides.size > 0) registry.addToolset(infoToolset({ overrides }));
}
