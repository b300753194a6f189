/** A session that belongs to a call, for a handler that runs its own agent: it has the agent's conversation. */
import type { ToolContext } from "../core/context.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import { startSessionWithin } from "../call/context/tool-context.ts";
import type { VisibilityRules } from "../policy/visibility.ts";
import { RuntimeSession } from "./runtime-session.ts";

/** Options of a session that belongs to a call. */
export interface SessionWithinOptions {
  /** Which tools the calls that a crash interrupted may still use; it only narrows the caller's rules. @default the caller's rules */
  readonly allow?: VisibilityRules;
}

/**
 * Begins a session of the same runtime for the handler of a composite tool, such as a sub-agent's. Close it when the handler is done.
 *
 * It has its own history and state. If the caller's session is stored, so is this one, and a handler that is run again after a crash gets it back,
 * with its messages and a result for every call that had begun. In a simulation it is simulated and leaves no trace; both sessions see the pretended
 * writes of the other. Its calls count as nested in the caller's call, so composite tools are refused if they would be nested too deep, and a tool
 * that may run once per turn is refused if it has run in the turn of that call.
 *
 * Its calls may use at most the tools that the caller may use. Further rules are not stored: pass `allow` to each `execute`, or to the loop that runs
 * in it.
 *
 * Waits until the session of an earlier attempt has closed.
 *
 * @throws ToolError `unavailable` for a context that no runtime made; `duplicate` while the session of an earlier attempt is still open;
 * `invalid_argument` once the attempt has ended; `conflict` once the caller's session was handed over; `store_failed`; as a rejection
 */
export async function sessionWithin(context: ToolContext, options: SessionWithinOptions = {}): Promise<RuntimeSession> {
  checkKnownKeys(options, { allow: true }, "sessionWithin()");
  const session = await startSessionWithin(context, options.allow);
  if (session instanceof RuntimeSession) return session;
  throw new ToolError("unavailable", "This tool works only where a runtime runs it.");
}
