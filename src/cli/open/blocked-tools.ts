/** Tools that are not offered because they are not as they were pinned. */
import { operatorText } from "../../core/error.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import type { Registry } from "../../registry/registry.ts";
import type { CommandContext } from "../command.ts";
import { warn } from "./open-runtime.ts";

export function blockedTools(registry: Registry): readonly RegisteredTool[] {
  return [...registry].filter(({ blocked, denied, enabled }) => enabled && denied === undefined && blocked !== undefined);
}

/** Why, and what to do. */
export function blockedText({ blocked }: RegisteredTool): string {
  return blocked === undefined ? "" : operatorText(blocked);
}

const MAX_NAMED = 5;

/** Says on standard error which tools are left out of what is shown, of all toolsets or of one. */
export function noteBlocked(context: CommandContext, registry: Registry, toolset?: string): void {
  const blocked = blockedTools(registry).filter((tool) => toolset === undefined || tool.toolset.name === toolset);
  if (blocked.length === 0) return;
  const names = blocked.slice(0, MAX_NAMED).map(({ qualifiedName }) => qualifiedName);
  const more = blocked.length > MAX_NAMED ? ` and ${blocked.length - MAX_NAMED} more` : "";
  warn(context, `Left out, because they are not as they were pinned: ${names.join(", ")}${more}. See haft lock --check.`);
}
