/** The tools that a model is offered where programs take the place of the others. */
import { isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { OWN_NAMESPACE } from "../../core/call.ts";
import type { ModelTool } from "../../core/model.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import type { Registry } from "../../registry/registry.ts";
import { modelTools, type ModelToolsOptions } from "../prompt/model-tools.ts";
import { declareTools, type DeclaredTool } from "./declare-tools.ts";
import { PROGRAM_TOOL, type ProgramOffer } from "./program-offer.ts";

const VIEWS = new WeakMap<readonly ModelTool[], readonly ModelTool[]>();

/**
 * As `modelTools`; where one of the tools is `run_program` with the mode `only`, that tool alone, and those that the model's provider runs.
 * Its description then declares all the others in TypeScript. The same array as long as neither registry nor options change, and the same
 * text whenever the tools are the same.
 *
 * @throws ToolError `invalid_argument` as `modelTools`
 */
export function programTools(registry: Registry, options: ModelToolsOptions = {}): readonly ModelTool[] {
  const tools = modelTools(registry, options);
  let view = VIEWS.get(tools);
  if (view === undefined) VIEWS.set(tools, (view = viewOf(registry, tools)));
  return view;
}

function viewOf(registry: Registry, tools: readonly ModelTool[]): readonly ModelTool[] {
  const offers = new Map(tools.map((tool) => [tool, offerOf(registry, tool)] as const));
  const only = [...offers.values()].find((offer) => offer?.mode === "only");
  if (only === undefined) return tools;
  const declared = tools.filter((tool) => offers.get(tool) === undefined && tool.providerExecuted !== true && !isOwn(tool));
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

/** Whether a tool is `run_program` with the mode `only`. */
export function replacesOthers(tool: RegisteredTool): boolean {
  return offerIn(tool)?.mode === "only";
}

/** The tools that such a program replaces, and the text that declares them: for lists that are no model's, such as those of MCP clients. */
export function replacedBy(
  program: RegisteredTool,
  tools: readonly RegisteredTool[],
): { readonly replaced: ReadonlySet<RegisteredTool>; readonly declarations: string } {
  const replaced = new Set(
    tools.filter((one) => offerIn(one) === undefined && one.toolset.name !== OWN_NAMESPACE && one.tool.providerExecuted !== true),
  );
  const usable = [...replaced].filter(({ quarantine }) => quarantine === undefined);
  const texts = usable.map(({ qualifiedName: name, tool }): DeclaredTool => ({ ...tool, name }));
  return { replaced, declarations: declareTools(texts, offerIn(program)?.maxDeclarationChars ?? 0) };
}

/** Programs are given results whole, and have no use for the tools that read the rest of one. */
function isOwn({ name }: ModelTool): boolean {
  return name.startsWith(`${OWN_NAMESPACE}::`);
}

/** Undefined for a tool that is no program of ours. */
function offerOf(registry: Registry, { name }: ModelTool): ProgramOffer | undefined {
  const registered = name.endsWith(`::${PROGRAM_TOOL}`) ? registry.get(name) : undefined;
  return registered === undefined ? undefined : offerIn(registered);
}

function offerIn({ qualifiedName, tool }: RegisteredTool): ProgramOffer | undefined {
  if (!qualifiedName.endsWith(`::${PROGRAM_TOOL}`)) return undefined;
  const offer = tool.metadata?.["program"] as JsonValue | undefined;
  if (!isJsonObject(offer)) return undefined;
  const { mode, maxDeclarationChars } = offer;
  if ((mode !== "beside" && mode !== "only") || typeof maxDeclarationChars !== "number") return undefined;
  return { mode, maxDeclarationChars };
}
