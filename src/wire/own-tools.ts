/** Tools that a request names in the provider's own words. */
import { ToolError } from "../core/error.ts";
import { isJsonObject } from "../core/json.ts";
import type { ModelTool, ToolChoice } from "../core/model.ts";
import type { EncodedTools } from "./wire-format.ts";

/** By the name that a tool's own words for this format give it, the tool's; of `{ name }` and of `{ toolSpec: { name } }`. */
export function ownToolNames(tools: readonly ModelTool[], format: string): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { name, providers = {} } of tools) {
    const own = Object.hasOwn(providers, format) ? providers[format] : undefined;
    if (own === undefined) continue;
    const { toolSpec = own } = own;
    const written = isJsonObject(toolSpec) ? toolSpec["name"] : undefined;
    if (typeof written === "string") names.set(written, name);
  }
  return names;
}

/**
 * What the provider calls the tool that the model must call; undefined where the choice is not of one tool.
 *
 * @throws ToolError `invalid_argument` where that tool is not offered, or a call is required and there is no tool at all
 */
export function chosenTool(choice: ToolChoice, { tools, toolNames }: Pick<EncodedTools, "tools" | "toolNames">): string | undefined {
  if (choice === "required" && tools.length === 0) throw new ToolError("invalid_argument", "A call is required, but no tool is offered.");
  if (typeof choice === "string") return undefined;
  for (const [written, name] of toolNames) if (name === choice.tool) return written;
  throw new ToolError("invalid_argument", `The tool ${JSON.stringify(choice.tool)} is chosen, but not among those offered.`, {
    hint: `Offered are ${[...new Set(toolNames.values())].slice(0, 20).join(", ") || "none"}.`,
  });
}
