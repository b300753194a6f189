/** What a runtime hands to a source, with what the source had to say. */
import type { SourceContext, ToolSource } from "../../src/core/source.ts";
import type { Toolset } from "../../src/core/toolset.ts";

export interface Loaded {
  readonly toolsets: readonly Toolset[];
  readonly warnings: readonly string[];
}

export async function loadSource(source: ToolSource): Promise<Loaded> {
  const warnings: string[] = [];
  const context: SourceContext = { signal: new AbortController().signal, log: { debug() {}, warn: (message) => warnings.push(message) } };
  return { toolsets: await source.load(context), warnings };
}

/** `namespace: names`, line by line. */
export function namesOf(toolsets: readonly Toolset[]): readonly string[] {
  return toolsets.map((toolset) => `${toolset.name}: ${(toolset.tools ?? []).map((tool) => tool.name).join(" ")}`);
}
