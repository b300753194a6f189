/** Blocks tools whose definition differs from the pinned one. */
import { ToolError } from "../core/error.ts";
import { isOptionsObject } from "../core/base/wording.ts";
import { checkArgument } from "../core/check-argument.ts";
import type { ToolPins } from "../core/tool-pins.ts";
import type { Tool } from "../core/tool.ts";
import { definitionFingerprint, readDefinition } from "../schema/definition-fingerprint.ts";
import { definitionDiff } from "./definition-diff.ts";
import type { LockData, PinnedTool } from "./pinned-tool.ts";
import { quoteForShell } from "../core/base/quote-for-shell.ts";
import { quoteExcerpt } from "../core/base/escape-invisible.ts";

/** Maximum number of characters shown of the description of a new tool. */
const SHOWN_LENGTH = 1_000;

/**
 * Checks tools against a lock file.
 *
 * A tool of a pinned toolset must have the fingerprint that it was pinned with, or one of them if it has overloads. New tools, and tools whose
 * definition cannot be read, are blocked too. Toolsets that are not pinned pass.
 */
export function toolPins(lock: LockData): ToolPins {
  checkArgument(
    isOptionsObject(lock) && "toolsets" in lock && lock.toolsets instanceof Map,
    "toolPins()",
    "the data of a lock file",
    lock,
    "readLock(path) resolves to it.",
  );
  const byToolset = new Map([...lock.toolsets].map(([name, { tools }]) => [name, Map.groupBy(tools, (tool) => tool.name)] as const));
  return {
    check(toolset, tool) {
      const pinned = byToolset.get(toolset);
      return pinned === undefined ? undefined : checkTool(toolset, tool, pinned.get(tool.name) ?? []);
    },
  };
}

function checkTool(toolset: string, tool: Tool, pinned: readonly PinnedTool[]): ToolError | undefined {
  const definition = readDefinition(tool);
  const name = JSON.stringify(`${toolset}::${tool.name}`);
  if (definition.faults.length > 0)
    return blockedError(toolset, `The definition of the tool ${name} cannot be compared with the one that was pinned.`, definition.faults);
  const [first] = pinned;
  if (first === undefined)
    return blockedError(toolset, `The tool ${name} was not there when its toolset was pinned.`, [
      `description: ${quoteExcerpt(tool.description, SHOWN_LENGTH)}`,
    ]);
  const fingerprint = definitionFingerprint(tool);
  if (pinned.some((one) => one.fingerprint === fingerprint)) return undefined;
  return blockedError(toolset, `The definition of the tool ${name} is not the one that was pinned.`, definitionDiff(first, definition));
}

function blockedError(toolset: string, message: string, details: readonly string[]): ToolError {
  return new ToolError("definition_changed", message, {
    details,
    operatorHint: `If the change is intended: haft lock ${quoteForShell(toolset)}`,
  });
}
