/** The tools whose results a delegate has seen, as the result of its call tells it. */
import { isJsonObject } from "../../core/base/json.ts";
import type { SessionEvent } from "../../core/event.ts";
import type { ToolResult } from "../../core/result.ts";
import type { Registry } from "../../registry/registry.ts";

/** The results of all calls that ended, those that tools have made themselves included. */
export function resultsIn(events: readonly SessionEvent[]): readonly ToolResult[] {
  return events.flatMap((event) => (event.type === "call-end" ? [event.result] : []));
}

/** Qualified names, each once, those of its own delegates included. */
export function calledTools(results: readonly ToolResult[], registry: Registry): readonly string[] {
  const names = new Set<string>();
  for (const result of results) {
    if (hasRun(result)) names.add(result.name);
    for (const name of calledByDelegate(result, registry)) names.add(name);
  }
  return [...names];
}

/** The tools that the delegate of a call has called. No third-party tool is believed about it: theirs are not composite. */
export function calledByDelegate({ name, metadata }: ToolResult, registry: Registry): readonly string[] {
  const told: unknown = metadata?.["delegate"];
  if (!isJsonObject(told) || registry.get(name)?.tool.composite !== true) return [];
  const called: unknown = told["called"];
  return Array.isArray(called) ? called.filter((each): each is string => typeof each === "string") : [];
}

/** Whether the tool, or a stand-in of it, has answered. */
export function hasRun({ attempts, origin }: ToolResult): boolean {
  return attempts > 0 || origin !== "live";
}
