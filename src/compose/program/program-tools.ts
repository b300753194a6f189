/** The tools that a model is offered if programs replace them. */
import { checkRegistry } from "../../core/check-argument.ts";
import { OWN_NAMESPACE } from "../../core/call.ts";
import type { ModelTool } from "../../core/model.ts";
import { declareTools, type DeclaredTool } from "../../registry/declared/declare-tools.ts";
import { readProgramOffer, PROGRAM_TOOL, type ProgramOffer } from "../../registry/program-offer.ts";
import type { Registry } from "../../registry/registry.ts";
import { modelTools, type ModelToolsOptions } from "../prompt/model-tools.ts";

const VIEWS = new WeakMap<readonly ModelTool[], readonly ModelTool[]>();

/**
 * Returns the tools of `modelTools`. If one of them is `run_program` in the mode `only`, returns just that tool and those that the model's provider
 * runs; its description then declares all others in TypeScript. Returns the same array as long as neither registry nor options change, and the same
 * text for the same tools.
 *
 * @throws ToolError `invalid_argument`, like `modelTools`
 */
export function programTools(registry: Registry, options: ModelToolsOptions = {}): readonly ModelTool[] {
  checkRegistry(registry, "programTools()");
  const tools = modelTools(registry, options);
  let view = VIEWS.get(tools);
  if (view === undefined) VIEWS.set(tools, (view = createView(registry, tools)));
  return view;
}

function createView(registry: Registry, tools: readonly ModelTool[]): readonly ModelTool[] {
  const offers = new Map(tools.map((tool) => [tool, findOffer(registry, tool)] as const));
  const only = [...offers.values()].find((offer) => offer?.mode === "only");
  if (only === undefined) return tools;
  const declared = tools.filter((tool) => offers.get(tool) === undefined && tool.providerExecuted !== true && !isRuntimeTool(tool));
  const text = declareTools(
    declared.map((tool): DeclaredTool => tool),
    only.maxDeclarationChars,
  );
  return Object.freeze(
    tools
      .filter((tool) => !declared.includes(tool))
      .map((tool) => (offers.get(tool) === only ? { ...tool, description: `${tool.description}\n\n${text}` } : tool)),
  );
}

/** Whether the tool is one of the runtime's own, which read the rest of a cut result: programs get results whole. */
function isRuntimeTool({ name }: ModelTool): boolean {
  return name.startsWith(`${OWN_NAMESPACE}::`);
}

/** Undefined if the tool is not a `run_program` of a program toolset. */
function findOffer(registry: Registry, { name }: ModelTool): ProgramOffer | undefined {
  const registered = name.endsWith(`::${PROGRAM_TOOL}`) ? registry.get(name) : undefined;
  return registered === undefined ? undefined : readProgramOffer(registered);
}
