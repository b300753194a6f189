import type { ToolError } from "../core/error.ts";

/** The attempt of a call that a session is begun for. */
export interface BeginningAttempt {
  /** Aborts when the attempt is over, whichever way. */
  readonly over: AbortSignal;
  /** Why it cannot have the session any more. */
  late(): ToolError | undefined;
}
