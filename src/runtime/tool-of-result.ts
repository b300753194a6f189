/** Finds the tool that a result is of. */
import type { ToolResult } from "../core/result.ts";
import { findCalledTool } from "../registry/called-tool.ts";
import type { RegisteredTool } from "../registry/registered-tool.ts";
import { latestEvents } from "../session/latest-events.ts";
import type { RuntimeSession } from "./runtime-session.ts";

type ResultSource = Pick<RuntimeSession, "registry" | "length" | "log" | "logSince" | "firstKept">;

/** The tool whose call ended with this result, of overloads by the input of the call in the log. Undefined if it no longer exists. */
export function toolOfResult(session: ResultSource, { name, callId }: ToolResult): RegisteredTool | undefined {
  const { registry } = session;
  return registry.overloads(name).length < 2 ? registry.get(name) : findCalledTool(registry, name, findInput(session, callId));
}

/** The input that ran, or else the input that the model sent. */
function findInput(session: ResultSource, callId: string): unknown {
  for (const event of latestEvents(session)) {
    if (event.type === "call-end" && event.callId === callId && event.input !== undefined) return event.input;
    if (event.type === "call-start" && event.callId === callId) return event.call.input;
  }
  return undefined;
}
