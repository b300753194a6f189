/** The tools that data is generated from, as a flat list with unique ids. */
import { checkArgument, hasMethods } from "../core/check-argument.ts";
import { OWN_NAMESPACE, qualifiedName } from "../core/call.ts";
import type { Tool } from "../core/tool.ts";
import type { Toolset } from "../core/toolset.ts";
import { toPlainTool } from "../registry/check-tool-fields.ts";
import type { Registry } from "../registry/registry.ts";
import { schemaFingerprint } from "../schema/fingerprint.ts";
import { addTo } from "../core/base/add-to.ts";

/** One tool of a catalog. */
export interface CatalogTool {
  /**
   * The unique name of the tool in artifacts: its qualified name; for another overload of that name, followed by `#` and the beginning of its input
   * schema's fingerprint.
   */
  readonly id: string;
  readonly namespace: string;
  /** `namespace::name`, the name by which it is called. Overloads share it. */
  readonly qualifiedName: string;
  readonly tool: Tool;
}

/** A registry, or toolsets as they are passed to a runtime. */
export type ToolCollection = Pick<Registry, "list"> | readonly Toolset[];

/** Returns toolsets with their enabled tools, without the runtime's own tools. */
export function listToolsets(tools: ToolCollection): readonly Toolset[] {
  const isRegistry = hasMethods(tools, "list");
  checkArgument(
    isRegistry || Array.isArray(tools),
    "enrich()",
    "a registry, or an array of toolsets",
    tools,
    "A runtime has a registry: runtime.registry.",
  );
  if (!("list" in tools)) return tools.filter(isEnabled).map((toolset) => ({ ...toolset, tools: (toolset.tools ?? []).filter(isEnabled) }));
  const found = new Map<Toolset, Tool[]>();
  for (const { tool, toolset } of tools.list()) {
    if (toolset.name === OWN_NAMESPACE) continue;
    addTo(found, toolset, tool);
  }
  return Array.from(found, ([toolset, own]) => ({ ...toolset, tools: own }));
}

const HASH_LENGTH = 8;

function isEnabled({ enabled }: { readonly enabled?: boolean }): boolean {
  return enabled !== false;
}

/** Returns every tool of the toolsets, in order, each with a unique id. */
export function createCatalog(toolsets: readonly Toolset[]): readonly CatalogTool[] {
  const taken = new Set<string>();
  return toolsets.flatMap(({ name: namespace, tools = [] }) =>
    tools.map((given) => {
      const tool = toPlainTool(given); // an enrichment may copy it, which would lose the methods of a class
      const name = qualifiedName(namespace, tool.name);
      const id = chooseUniqueId(name, tool, taken);
      taken.add(id);
      return { id, namespace, qualifiedName: name, tool };
    }),
  );
}

function chooseUniqueId(name: string, tool: Tool, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  const overload = `${name}#${hashSchema(tool)}`;
  let id = overload;
  for (let count = 2; taken.has(id); count++) id = `${overload}-${count}`;
  return id;
}

function hashSchema({ inputSchema }: Tool): string {
  try {
    return schemaFingerprint(inputSchema).slice(0, HASH_LENGTH);
  } catch {
    return "overload"; // the schema is not JSON: the tool cannot be called, but is listed
  }
}
