/** The four call settings with every gap filled: a tool's own, else its toolset's, else the runtime's, else ours. */
import type { CallSettings } from "../core/tool.ts";

export const DEFAULT_CALL_SETTINGS: Required<CallSettings> = Object.freeze({
  timeoutMs: 30_000,
  deadlineMs: 0,
  maxAttempts: 4,
  maxResultBytes: 65_536,
});

/** Fills what `own` leaves open from `inherited`; returns `inherited` itself when `own` sets nothing. */
export function inheritSettings(own: CallSettings, inherited: Required<CallSettings>): Required<CallSettings> {
  if (!setsAny(own)) return inherited;
  return {
    timeoutMs: own.timeoutMs ?? inherited.timeoutMs,
    deadlineMs: own.deadlineMs ?? inherited.deadlineMs,
    maxAttempts: own.maxAttempts ?? inherited.maxAttempts,
    maxResultBytes: own.maxResultBytes ?? inherited.maxResultBytes,
  };
}

export function sameSettings(one: Required<CallSettings>, other: Required<CallSettings>): boolean {
  return (
    one.timeoutMs === other.timeoutMs &&
    one.deadlineMs === other.deadlineMs &&
    one.maxAttempts === other.maxAttempts &&
    one.maxResultBytes === other.maxResultBytes
  );
}

/** True when at least one of the four is set. */
export function setsAny(settings: CallSettings): boolean {
  return (
    settings.timeoutMs !== undefined ||
    settings.deadlineMs !== undefined ||
    settings.maxAttempts !== undefined ||
    settings.maxResultBytes !== undefined
  );
}
