/** Lists the tools of a registry: those on offer, and separately those that the permission rules deny. */
import { pushAll } from "../core/collections/push-all.ts";
import type { RegisteredTool } from "./registered-tool.ts";
import { compareNames } from "./tool-search.ts";
import type { ToolsetEntry } from "./toolset-entry.ts";

/** Every tool that may be shown to models and clients, sorted by qualified name. */
export function listOfferedTools(entries: Iterable<ToolsetEntry>): readonly RegisteredTool[] {
  const offered: RegisteredTool[] = [];
  for (const entry of entries) {
    if (!entry.isOffered) continue;
    for (const family of entry.families.values())
      for (const registered of family.callable) if (registered.blocked === undefined) offered.push(registered);
  }
  return offered.sort(compareNames);
}

/** The tools that would be on offer if the permission rules did not deny them, sorted by qualified name. */
export function listDeniedTools(entries: Iterable<ToolsetEntry>): readonly RegisteredTool[] {
  const denied: RegisteredTool[] = [];
  for (const entry of entries)
    if (entry.isOffered) for (const family of entry.families.values()) if (family.denied !== undefined) pushAll(denied, family.tools);
  return denied.filter(({ enabled, blocked }) => enabled && blocked === undefined).sort(compareNames);
}
