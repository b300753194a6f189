import { isToolError } from "../core/error.ts";

/** Fails if something threw outside any call. @throws ToolError the reason of the signal, unless that is `cancelled`, which is an orderly end */
export function throwIfBroken(signal: AbortSignal): void {
  if (isBroken(signal)) throw signal.reason;
}

export function isBroken({ aborted, reason }: AbortSignal): boolean {
  return aborted && isToolError(reason) && reason.code !== "cancelled";
}
