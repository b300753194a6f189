/** Whether a failed attempt may be repeated, and after how long. */
import { checkNumber } from "../../core/base/number-bounds.ts";
import { checkMs } from "../../core/call-settings.ts";
import { ToolError } from "../../core/error.ts";
import type { Random } from "../../core/ports.ts";

/** How often a call is tried, and how long is waited between. */
export interface RetrySettings {
  /** Wait before the second attempt, in milliseconds. @default 1_000 */
  readonly delayMs?: number;
  /** The factor by which each wait is multiplied to get the next. @default 2 */
  readonly factor?: number;
  /** Longest wait between two attempts, in milliseconds; only the error itself may ask for more. @default 10_000 */
  readonly maxDelayMs?: number;
  /** Spread the waits, so that callers that failed together do not come back together. @default true */
  readonly jitter?: boolean;
}

export interface RetryQuestion {
  readonly error: ToolError;
  /** The attempt that has just ended; the first is 1. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** The call's effects allow a repeat although an earlier attempt may have had its effect. */
  readonly repeatable: boolean;
}

/** A service may make a call wait this long, and no longer. */
const MAX_RETRY_AFTER_MS = 60_000;
/** Half of the wait is spread, half of it to either side. */
const SPREAD = 0.25;

/**
 * Whether one more attempt is allowed.
 *
 * The thrower decides: only an error with `retryable` is tried again. A call that is not repeatable is tried
 * again only when the error says that it never began.
 */
export function mayRetry(question: RetryQuestion): boolean {
  const { error } = question;
  if (!error.retryable || question.attempt >= question.maxAttempts) return false;
  return question.repeatable || error.outcome === "not_started";
}

/**
 * The wait before attempt `attempt + 1`, in milliseconds.
 *
 * `delayMs * factor ** (attempt - 1)`, spread by a quarter to either side and never above `maxDelayMs`; or what
 * the error's `retryAfterMs` asks for, at most 60 s, whichever is longer. With the defaults, attempts are at
 * 0, about 1, 3 and 7 s.
 */
export function retryDelay(error: ToolError, attempt: number, settings: RetrySettings, random: Random): number {
  const maxDelayMs = settings.maxDelayMs ?? 10_000;
  const firstMs = settings.delayMs ?? 1_000;
  const backoffMs = firstMs <= 0 ? 0 : Math.min(maxDelayMs, firstMs * (settings.factor ?? 2) ** (attempt - 1));
  const waitMs = (settings.jitter ?? true) ? spread(backoffMs, maxDelayMs, random) : backoffMs;
  const askedMs = error.retryAfterMs ?? 0;
  return askedMs > waitMs ? Math.max(waitMs, Math.min(askedMs, MAX_RETRY_AFTER_MS)) : waitMs;
}

function spread(delayMs: number, maxDelayMs: number, random: Random): number {
  const lowest = delayMs * (1 - SPREAD);
  const highest = Math.min(delayMs * (1 + SPREAD), maxDelayMs);
  return lowest + (highest - lowest) * random.next();
}

/** Checks settings that come from a program. @throws ToolError `invalid_argument` naming the setting, its value and what would work */
export function checkRetry({ delayMs, factor, maxDelayMs }: RetrySettings): void {
  checkMs(delayMs, "delayMs", "retry");
  checkMs(maxDelayMs, "maxDelayMs", "retry");
  checkNumber(factor, "factor of retry", { min: 1, max: Number.MAX_VALUE, integer: false });
}
