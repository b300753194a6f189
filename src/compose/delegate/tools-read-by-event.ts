/** The tools whose content a session has read, according to its events. */
import { isJsonObject } from "../../core/base/json.ts";
import type { SessionEvent } from "../../core/event.ts";
import type { ToolResult } from "../../core/result.ts";
import type { Registry } from "../../registry/registry.ts";
import { modelTools } from "../prompt/model-tools.ts";
import { toolsOfProviderCall } from "../provider-calls.ts";

/** Returns the results of all calls that ended, nested calls included. */
export function endedCallResults(events: readonly SessionEvent[]): readonly ToolResult[] {
  return events.flatMap((event) => (event.type === "call-end" ? [event.result] : []));
}

/**
 * Returns the qualified names of the tools whose content an event brings: of the result of a call and of the delegate that answered it, of the output
 * or question of a background job, and of the tools that the provider ran for a message.
 */
export function toolsReadByEvent(event: SessionEvent, registry: Registry): readonly string[] {
  if (event.type === "job-output") return [event.toolName];
  if (event.type === "round-end")
    return event.voided === undefined ? (event.providerTools ?? []).flatMap((name) => toolsOfProviderCall(name, modelTools(registry))) : [];
  if (event.type !== "call-end") return [];
  return [...(wasAnswered(event.result) ? [event.result.name] : []), ...toolsCalledByDelegate(event.result, registry)];
}

/** Returns the tools that the delegate of a call has called. Metadata of third-party tools is ignored: they are not composite. */
function toolsCalledByDelegate({ name, metadata }: ToolResult, registry: Registry): readonly string[] {
  const report: unknown = metadata?.["delegate"];
  if (!isJsonObject(report) || registry.get(name)?.tool.composite !== true) return [];
  const called: unknown = report["called"];
  return Array.isArray(called) ? called.filter((each): each is string => typeof each === "string") : [];
}

/** Whether the tool or its stand-in has answered. */
function wasAnswered({ attempts, origin }: ToolResult): boolean {
  return attempts > 0 || origin !== "live";
}
