/** Tools that a request declares in the provider's own format. */
import { ToolError } from "../core/error.ts";
import type { JsonObject } from "../core/base/json.ts";
import type { ToolChoice } from "../core/model.ts";
import type { EncodedTools } from "./wire-format.ts";

/** Returns the name of a tool in the provider's own format, if it has one. */
export function declaredNames({ name }: JsonObject): readonly string[] {
  return typeof name === "string" ? [name] : [];
}

/**
 * Returns the provider's name for the tool that the model must call; undefined if the choice is not one particular tool.
 *
 * @throws ToolError `invalid_argument` if that tool is not offered, or if a call is required and there are no tools
 */
export function resolveToolChoice(choice: ToolChoice, { tools, toolNames }: Pick<EncodedTools, "tools" | "toolNames">): string | undefined {
  if (choice === "required" && tools.length === 0) throw new ToolError("invalid_argument", "A call is required, but no tool is offered.");
  if (typeof choice === "string") return undefined;
  for (const [written, name] of toolNames) if (name === choice.tool) return written;
  throw new ToolError("invalid_argument", `The tool ${JSON.stringify(choice.tool)} is chosen, but not among those offered.`, {
    hint: `Offered tools: ${[...new Set(toolNames.values())].slice(0, 20).join(", ") || "none"}.`,
  });
}
