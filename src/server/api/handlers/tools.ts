/** Handlers of the routes for tools. */
import { effectWord } from "../../../registry/effect-word.ts";
import { toolDefinition } from "../../../registry/tool-definition.ts";
import { ToolError } from "../../../core/error.ts";
import { didYouMean } from "../../../core/base/near-names.ts";
import type { RegisteredTool } from "../../../registry/registered-tool.ts";
import type { ApiTool } from "../openapi/component-types.ts";
import { visibleTools } from "../../../policy/visibility.ts";
import { pageOf } from "./responses.ts";
import type { ApiServices, Handlers, RequestOf } from "../services.ts";

export const toolHandlers = {
  listTools({ runtime: { registry }, principal, query: { q, toolset, limit, cursor = "0" } }, { access }) {
    const isListed = (tool: RegisteredTool): boolean => toolset === undefined || tool.toolset.name === toolset;
    const all = q === undefined ? registry.list(toolset) : registry.search({ text: q }).filter(isListed);
    const found = visibleTools({ list: () => all }, access.visibilityOf(principal));
    const { page, ...next } = pageOf(found, Number(cursor), limit);
    return { tools: page.map(toApiTool), ...next };
  },

  getTool: (request, services) => toApiTool(findOfferedTool(request, services)),

  async checkTool(request, services) {
    const { valid, errors, warnings, input: repaired } = await findOfferedTool(request, services).validate(request.body.input);
    return { valid, errors, warnings, ...(repaired === undefined ? {} : { input: repaired }) };
  },
} satisfies Partial<Handlers>;

function toApiTool(registered: RegisteredTool): ApiTool {
  const { toolset, tool } = registered;
  return { ...toolDefinition(registered), toolset: toolset.name, effect: effectWord(registered), mode: tool.mode ?? "direct" };
}

/** Finds a listed tool; tools that are denied, blocked or disabled are not found. @throws ToolError `not_found` */
function findOfferedTool(
  { runtime: { registry }, principal, params: { toolName: name } }: Pick<RequestOf<"getTool">, "runtime" | "principal" | "params">,
  { access }: ApiServices,
): RegisteredTool {
  const visibility = access.visibilityOf(principal);
  const isVisible = (qualifiedName: string): boolean => visibility?.permits(qualifiedName) ?? true;
  const found = registry.get(name);
  const isHere = found !== undefined && registry.list(found.toolset.name).includes(found);
  if (isHere && isVisible(found.qualifiedName)) return found;
  throw new ToolError("not_found", `There is no tool ${JSON.stringify(name)}.`, {
    hint: didYouMean(name, registry.names().filter(isVisible)) ?? "GET /v1/tools lists them.",
  });
}
