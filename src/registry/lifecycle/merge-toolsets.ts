/** Merges toolsets of the same name from different sources. */
import { ToolError } from "../../core/error.ts";
import type { Toolset } from "../../core/toolset.ts";

/** The failure of a toolset, or of a source, by its name. */
export interface ToolsetFailure {
  readonly toolset: string;
  readonly error: ToolError;
}

export interface MergedToolsets {
  /** One for each name, in the order in which the names first occur. */
  readonly toolsets: readonly Toolset[];
  readonly failed: readonly ToolsetFailure[];
}

/** Merges toolsets: those with one name and one engine combine their tools, and the settings of the first take precedence. */
export function mergeToolsets(toolsets: readonly Toolset[]): MergedToolsets {
  const merged = new Map<string, Toolset>();
  const failed: ToolsetFailure[] = [];
  for (const toolset of toolsets) {
    const { name } = toolset;
    const first = merged.get(name);
    if (first === undefined) merged.set(name, toolset);
    else if (first.engine === toolset.engine) merged.set(name, merge(first, toolset));
    else failed.push({ toolset: name, error: twoEnginesError(first, toolset) });
  }
  return { toolsets: [...merged.values()], failed };
}

function merge(first: Toolset, other: Toolset): Toolset {
  return {
    ...other,
    ...first,
    tools: [...(first.tools ?? []), ...(other.tools ?? [])],
    defaults: { ...other.defaults, ...first.defaults },
    enabled: first.enabled !== false || other.enabled !== false,
    overloads: first.overloads === true || other.overloads === true,
  };
}

function twoEnginesError(first: Toolset, other: Toolset): ToolError {
  const kinds = [first, other].map(({ engine }) => engine?.kind ?? "local").join(" and ");
  return new ToolError(
    "duplicate",
    `two sources give the toolset ${JSON.stringify(first.name)}, each with an engine of its own (${kinds}).`,
    {
      hint: "Give one of them another namespace, or both the same engine.",
    },
  );
}
