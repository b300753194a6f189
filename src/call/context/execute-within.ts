/** How calls are run that a handler makes as part of its own; a file of its own because `CallRun` names it. */
import type { ToolError } from "../../core/error.ts";
import type { ToolCall } from "../../core/call.ts";
import type { ToolResult } from "../../core/result.ts";
import type { Session } from "../../session/session.ts";

export interface ExecuteWithinOptions {
  readonly signal: AbortSignal;
  readonly idempotencyKey?: string;
  readonly background?: boolean;
}

/** Makes the calls of a handler in the session of its own call. */
export type ExecuteWithin<Run> = (
  run: Run,
  calls: ToolCall | readonly ToolCall[],
  options: ExecuteWithinOptions,
) => Promise<ToolResult | readonly ToolResult[]>;

/** The attempt of a call that a session is begun for. */
export interface BeginningAttempt {
  /** Aborts when the attempt is over, whichever way. */
  readonly over: AbortSignal;
  /** Why it cannot have the session any more. */
  readonly late: () => ToolError | undefined;
  /** Called with the session before the calls that a crash interrupted in it are continued. */
  readonly begun: (session: Session) => void;
}
