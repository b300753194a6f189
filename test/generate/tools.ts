/** Small tools and toolsets for tests of enrichments and samplers. */
import type { JsonSchema, Tool } from "../../src/core/tool.ts";
import type { Toolset } from "../../src/core/toolset.ts";

export type Properties = Readonly<Record<string, JsonSchema>>;

export function objectOf(properties: Properties): JsonSchema {
  return { type: "object", properties };
}

/** A tool that takes and gives these properties; without `gives` it says nothing of its output. */
export function tool(name: string, takes: Properties = {}, gives?: Properties): Tool {
  return {
    name,
    description: "",
    inputSchema: objectOf(takes),
    ...(gives === undefined ? {} : { outputSchema: objectOf(gives) }),
  };
}

export function toolset(name: string, ...tools: readonly Tool[]): Toolset {
  return { name, tools };
}

export const TEXT: JsonSchema = { type: "string" };
