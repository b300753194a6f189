/** Returns the tools that are not offered because they differ from their pins. */
import { formatListWithCount } from "../../core/base/wording.ts";
import { formatForOperator } from "../../core/error.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import type { Registry } from "../../registry/registry.ts";
import type { CommandContext } from "../command.ts";
import { warn } from "./open-runtime.ts";

export function blockedTools(registry: Registry): readonly RegisteredTool[] {
  return [...registry].filter(({ blocked, denied, enabled }) => enabled && denied === undefined && blocked !== undefined);
}

/** Says why the tool is blocked and what to do; "" if it is not. */
export function blockedText({ blocked }: RegisteredTool): string {
  return blocked === undefined ? "" : formatForOperator(blocked);
}

/** Lists on standard error the tools that are left out of the output, of all toolsets or of one. */
export function printBlockedNote(context: CommandContext, registry: Registry, toolset?: string): void {
  const blocked = blockedTools(registry).filter((tool) => toolset === undefined || tool.toolset.name === toolset);
  if (blocked.length === 0) return;
  const names = formatListWithCount(blocked.map(({ qualifiedName }) => qualifiedName));
  warn(context, `Left out, because they are not as they were pinned: ${names}. See haft lock --check.`);
}
