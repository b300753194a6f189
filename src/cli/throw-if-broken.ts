/** A command that runs until it is stopped, and was not stopped: something threw outside any call. */
import { isToolError } from "../core/error.ts";

/** @throws ToolError that the signal aborted with, except `cancelled`, by which a person or a system ends the command in order */
export function throwIfBroken(signal: AbortSignal): void {
  if (isBroken(signal)) throw signal.reason;
}

export function isBroken({ aborted, reason }: AbortSignal): boolean {
  return aborted && isToolError(reason) && reason.code !== "cancelled";
}
