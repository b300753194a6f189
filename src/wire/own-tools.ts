/** Tools that a request names in the provider's own words. */
import { ToolError } from "../core/error.ts";
import type { JsonObject } from "../core/base/json.ts";
import type { ToolChoice } from "../core/model.ts";
import type { EncodedTools } from "./wire-format.ts";

/** The name that a tool's own words give it. */
export function namedWords({ name }: JsonObject): readonly string[] {
  return typeof name === "string" ? [name] : [];
}

/**
 * The provider's name for the tool that the model must call; undefined where the choice is not of one tool.
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
