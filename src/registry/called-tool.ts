/** Finds the tool that a call had reached. */
import type { RegisteredTool } from "./registered-tool.ts";
import type { Registry } from "./registry.ts";

/** The tool of this name; of overloads, the one that the input is meant for. Undefined if it no longer exists. */
export function findCalledTool(registry: Registry, name: string, input: unknown): RegisteredTool | undefined {
  const overload = registry.overloads(name).length > 1 ? registry.match({ name, input }) : undefined;
  return overload ?? registry.get(name);
}
