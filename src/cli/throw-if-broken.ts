/** A command that runs until it is stopped, and was not stopped: something threw outside any call. */
import { isToolError } from "../core/error.ts";

/** @throws ToolError that the signal aborted with, except `cancelled`, by which a person or a system ends the command in order */
export function throwIfBroken(signal: AbortSignal): void {
  const reason: unknown = signal.aborted ? signal.reason : undefined;
  if (isToolError(reason) && reason.code !== "cancelled") throw reason;
}
