/** The handlers of the tools. */
import { toolDefinition } from "../../registry/tool-definition.ts";
import { ToolError } from "../../core/error.ts";
import { nearNames } from "../../core/base/near-names.ts";
import type { Registry } from "../../registry/registry.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import type { ApiTool } from "./component-types.ts";
import { pageOf } from "./answers.ts";
import type { Handlers } from "./services.ts";

export const toolHandlers: Handlers<"listTools" | "getTool" | "checkTool"> = {
  listTools({ runtime: { registry }, query: { q, toolset, limit, cursor = "0" } }) {
    const found = q === undefined ? registry.list(toolset) : registry.search({ text: q }).filter(isOf(toolset));
    const { page, ...next } = pageOf(found, Number(cursor), limit);
    return { tools: page.map(shownTool), ...next };
  },

  getTool: ({ runtime: { registry }, params: { toolName } }) => shownTool(offered(registry, toolName)),

  async checkTool({ runtime: { registry }, params: { toolName }, body: { input } }) {
    const { valid, errors, warnings, input: repaired } = await offered(registry, toolName).validate(input);
    return { valid, errors, warnings, ...(repaired === undefined ? {} : { input: repaired }) };
  },
};

function isOf(toolset: string | undefined): (tool: RegisteredTool) => boolean {
  return (tool) => toolset === undefined || tool.toolset.name === toolset;
}

function shownTool(registered: RegisteredTool): ApiTool {
  return { ...toolDefinition(registered), toolset: registered.toolset.name, mode: registered.tool.mode ?? "direct" };
}

/** A tool of the listing: those that are denied, blocked or switched off are not there. @throws ToolError `not_found` */
function offered(registry: Registry, name: string): RegisteredTool {
  const found = registry.get(name);
  if (found !== undefined && registry.list(found.toolset.name).includes(found)) return found;
  const [near] = nearNames(name, registry.names());
  throw new ToolError("not_found", `There is no tool ${JSON.stringify(name)}.`, {
    hint: near === undefined ? "GET /v1/tools lists them." : `Did you mean ${JSON.stringify(near)}?`,
  });
}
