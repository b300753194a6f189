/** Finds the tool that a result is of. */
import type { ToolResult } from "../core/result.ts";
import { findCalledTool } from "../registry/called-tool.ts";
import type { RegisteredTool } from "../registry/registered-tool.ts";
import type { RuntimeSession } from "./runtime-session.ts";

/** The tool whose call ended with this result, of overloads by the input of the call in the log. Undefined if it no longer exists. */
export function toolOfResult(session: Pick<RuntimeSession, "registry" | "log">, { name, callId }: ToolResult): RegisteredTool | undefined {
  const { registry } = session;
  if (registry.overloads(name).length < 2) return registry.get(name);
  const { log } = session; // a copy of the log: read only if it is needed
  const end = log.findLast((event) => event.type === "call-end" && event.callId === callId);
  const start = log.findLast((event) => event.type === "call-start" && event.callId === callId);
  const ran = end?.type === "call-end" ? end.input : undefined;
  return findCalledTool(registry, name, ran ?? (start?.type === "call-start" ? start.call.input : undefined));
}
