import { isToolError } from "../core/error.ts";

/**
 * Fails if something threw outside any call while a command ran. @throws ToolError the reason of the signal, unless that is `cancelled`, which ends a
 * command in order
 */
export function throwIfBroken(signal: AbortSignal): void {
  if (isBroken(signal)) throw signal.reason;
}

export function isBroken({ aborted, reason }: AbortSignal): boolean {
  return aborted && isToolError(reason) && reason.code !== "cancelled";
}
