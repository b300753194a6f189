/** Ends a program so early that its call can still answer with its output. */
import { GRACE_MS, type ProgramLimits } from "../../processes/run-program.ts";

/** How long before the deadline of its call a program is ended, in milliseconds. */
const STOP_MARGIN_MS = 3_500;
/** Ending a program takes at most 1 / `STOP_MARGIN_SHARE` of the remaining time. */
const STOP_MARGIN_SHARE = 4;
/** The share of the time between the end of a program and the deadline of its call that it may use to end cleanly. */
const GRACE_SHARE = 1 / 2;

/** Returns how long a program may run, and how long it may take to end after SIGTERM, in a call that has `leftMs` left. */
export function limitTime(wantedMs: number, leftMs: number): Required<Pick<ProgramLimits, "timeoutMs" | "graceMs">> {
  const endingMs = Math.min(STOP_MARGIN_MS, leftMs / STOP_MARGIN_SHARE);
  const timeoutMs = Math.min(wantedMs, Math.max(1, leftMs - endingMs));
  return { timeoutMs, graceMs: Math.min(GRACE_MS, Math.max(0, leftMs - timeoutMs) * GRACE_SHARE) };
}
