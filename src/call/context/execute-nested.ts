/** Types of the calls that a handler makes as part of its own; in a separate file because `CallRun` refers to them. */
import type { ToolError } from "../../core/error.ts";
import type { ToolCall } from "../../core/call.ts";
import type { ToolResult } from "../../core/result.ts";
import type { Session } from "../../session/session.ts";

export interface ExecuteNestedOptions {
  readonly signal: AbortSignal;
  readonly idempotencyKey?: string;
  readonly background?: boolean;
}

/** Makes the calls of a handler in the session of its own call. */
export type ExecuteNested<Run> = (
  run: Run,
  calls: ToolCall | readonly ToolCall[],
  options: ExecuteNestedOptions,
) => Promise<ToolResult | readonly ToolResult[]>;

/** The attempt of a call for which a session begins. */
export interface SessionAttempt {
  /** Aborts when the attempt ends, for any reason. */
  readonly endSignal: AbortSignal;
  /** Returns the error if the attempt can no longer use the session. */
  readonly getAbortError: () => ToolError | undefined;
  /** Called with the session before its interrupted calls are resumed. */
  readonly onStarted: (session: Session) => void;
}
