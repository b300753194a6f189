/** A session that belongs to a call: what a handler that runs an agent of its own holds the agent's conversation in. */
import type { ToolContext } from "../core/context.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import { beginSessionWithin } from "../call/context/tool-context.ts";
import type { VisibilityRules } from "../policy/visibility.ts";
import { RuntimeSession } from "./runtime-session.ts";

/** Options of a session that belongs to a call. */
export interface SessionWithinOptions {
  /** Which tools the calls that a crash interrupted may still be of; it only narrows what the caller allows. @default what the caller allows */
  readonly allow?: VisibilityRules;
}

/**
 * Begins a session of the same runtime for the handler of a composite tool, such as a sub-agent's. Close it when the handler is done.
 *
 * It has a history and a state of its own. Where the caller's session is kept by a store it is kept too, and a handler that is run again after
 * a crash is given it back: with its messages, and a result for every call that had begun. In a simulation it is simulated and leaves no
 * trace: its reads see what the caller's session pretended to write, and the other way round. Its calls count as made inside this one, so
 * composite tools in it are refused when they would be too deep.
 *
 * Which tools its calls may be of is not kept with it: give `allow` to each `execute`, or to the loop that runs in it.
 *
 * The session of an earlier attempt that is being closed is waited for.
 *
 * @throws ToolError `unavailable` for a context that no runtime made; `duplicate` while the session of an earlier attempt is still open;
 * `invalid_argument` once the attempt has ended; `conflict` once the caller's session was handed over; `store_failed`. By rejecting
 */
export async function sessionWithin(context: ToolContext, options: SessionWithinOptions = {}): Promise<RuntimeSession> {
  checkKnownKeys(options, { allow: true }, "sessionWithin()");
  const session = await beginSessionWithin(context, options.allow);
  if (session instanceof RuntimeSession) return session;
  throw new ToolError("unavailable", "This tool works only where a runtime runs it.");
}
