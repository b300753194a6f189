/** The tools that a sequence may call, from a registry or a list of definitions. */
import { declaresNoWrites } from "../../core/resources/effects.ts";
import { ToolError } from "../../core/error.ts";
import { checkArgument } from "../../core/check-argument.ts";
import type { Tool } from "../../core/tool.ts";
import { missingToolError } from "../../registry/missing-tool-error.ts";
import { findNearNames } from "../../core/base/near-names.ts";
import { Registry } from "../../registry/registry.ts";
import { compileSchema, type Validator } from "../../schema/compile-schema.ts";

/** The parts of a tool that a check needs. */
export type SequenceTool = Pick<Tool, "name" | "inputSchema" | "effects">;

/** The tool or overloads that have a name. */
export interface FoundTool {
  /** The qualified name in a registry; in an array, the name of the definition. */
  readonly name: string;
  readonly validators: readonly Validator[];
  /** Whether the tool may write. */
  readonly mayWrite: boolean;
  /** Its handler, if it has one and no overloads. */
  readonly handler?: object | undefined;
}

const MAX_LISTED = 10;

/** Finds the tool with a name. Returns an error if there is none. */
export type FindTool = (name: string) => FoundTool | ToolError;

export function createToolFinder(tools: Registry | readonly SequenceTool[]): FindTool {
  if (!(tools instanceof Registry) && !Array.isArray(tools))
    throw new ToolError("invalid_argument", "tools of checkSequence() must be a registry or an array of definitions.");
  if (Array.isArray(tools))
    for (const tool of tools)
      checkArgument(typeof tool?.name === "string", "The check of a sequence or chain", "definitions of tools, each with a name", tool);
  const look = tools instanceof Registry ? (name: string) => findRegistered(tools, name) : createListFinder(tools);
  const found = new Map<string, FoundTool | ToolError>();
  return (name) => {
    let tool = found.get(name);
    if (tool === undefined) found.set(name, (tool = look(name)));
    return tool;
  };
}

function findRegistered(registry: Registry, name: string): FoundTool | ToolError {
  const resolved = registry.resolve(name);
  if (resolved instanceof ToolError) return resolved;
  const usable = resolved.filter(({ quarantine }) => quarantine === undefined);
  const [first] = resolved;
  if (first === undefined || usable.length === 0)
    return first?.quarantine ?? new ToolError("unavailable", `The tool ${JSON.stringify(name)} cannot be used.`);
  return {
    name: first.qualifiedName,
    validators: usable.map(({ inputValidator }) => inputValidator),
    mayWrite: usable.some(({ tool }) => !declaresNoWrites(tool.effects)),
    handler: usable.length === 1 ? usable[0]?.tool.execute : undefined,
  };
}

/** Finds tools in an array. Definitions without effects count as reads, so only references determine the order of their calls. */
function createListFinder(tools: readonly SequenceTool[]): FindTool {
  const known = new Map(tools.map((tool) => [tool.name, tool]));
  return (name) => {
    const tool = known.get(name);
    if (tool === undefined) return unknownToolError(name, [...known.keys()]);
    try {
      const mayWrite = tool.effects !== undefined && !declaresNoWrites(tool.effects);
      const handler = "execute" in tool && typeof tool.execute === "function" ? tool.execute : undefined;
      return { name, validators: [compileSchema(tool.inputSchema)], mayWrite, handler };
    } catch (thrown: unknown) {
      const cause = ToolError.fromUnknown(thrown, "invalid_schema");
      return new ToolError("unavailable", `The tool ${JSON.stringify(name)} cannot be used: ${cause.message}`, { cause });
    }
  };
}

function unknownToolError(name: string, names: readonly string[]): ToolError {
  return missingToolError(name, {
    unknownToolset: undefined,
    near: findNearNames(name, names),
    few: names.length <= MAX_LISTED ? names : undefined,
  });
}
