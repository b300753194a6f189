import type { ToolContext } from "../core/context.ts";
import { ToolError } from "../core/error.ts";
import { sessionOfContext } from "../call/context/tool-context.ts";
import { RuntimeSession } from "../runtime/runtime-session.ts";

/** Returns the session of the agent whose model called a tool. @throws ToolError `unavailable` for a call outside of a session */
export function runtimeSessionOf(context: ToolContext): RuntimeSession {
  const session = sessionOfContext(context);
  if (session instanceof RuntimeSession) return session;
  throw new ToolError("unavailable", "This tool works only for an agent, within its session.");
}
