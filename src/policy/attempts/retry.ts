/** Decides whether a failed attempt may be repeated, and after how long. */
import { checkNumber } from "../../core/base/number-bounds.ts";
import { checkMs } from "../../core/call-settings.ts";
import { ToolError } from "../../core/error.ts";
import type { Random } from "../../core/ports.ts";

/** How often a call is tried, and how long to wait between attempts. */
export interface RetrySettings {
  /** Wait before the second attempt, in milliseconds. @default 1_000 */
  readonly delayMs?: number;
  /** The factor by which each wait is multiplied to get the next. @default 2 */
  readonly factor?: number;
  /** Longest wait between two attempts, in milliseconds; only the error's `retryAfterMs` may exceed it. @default 10_000 */
  readonly maxDelayMs?: number;
  /** Whether to randomize the waits, so that callers that failed together do not retry together. @default true */
  readonly jitter?: boolean;
}

export interface RetryQuestion {
  readonly error: ToolError;
  /** The attempt that has just ended; the first is 1. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Whether the call's effects allow a repeat even if an earlier attempt may have taken effect. */
  readonly repeatable: boolean;
}

/** Longest wait that a service may ask for, in milliseconds. */
const MAX_RETRY_AFTER_MS = 60_000;
/** Share of the wait by which it is randomized, in either direction. */
const JITTER_SHARE = 0.25;

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
 * `delayMs * factor ** (attempt - 1)`, randomized by a quarter in either direction and never above `maxDelayMs`; or what the error's
 * `retryAfterMs` asks for, at most 60 s, whichever is longer. With the defaults, attempts are at 0, about 1, 3 and 7 s.
 */
export function retryDelay(error: ToolError, attempt: number, settings: RetrySettings, random: Random): number {
  const maxDelayMs = settings.maxDelayMs ?? 10_000;
  const firstMs = settings.delayMs ?? 1_000;
  const backoffMs = firstMs <= 0 ? 0 : Math.min(maxDelayMs, firstMs * (settings.factor ?? 2) ** (attempt - 1));
  const waitMs = (settings.jitter ?? true) ? addJitter(backoffMs, maxDelayMs, random) : backoffMs;
  const askedMs = error.retryAfterMs ?? 0;
  return askedMs > waitMs ? Math.max(waitMs, Math.min(askedMs, MAX_RETRY_AFTER_MS)) : waitMs;
}

function addJitter(delayMs: number, maxDelayMs: number, random: Random): number {
  const lowest = delayMs * (1 - JITTER_SHARE);
  const highest = Math.min(delayMs * (1 + JITTER_SHARE), maxDelayMs);
  return lowest + (highest - lowest) * random.next();
}

/** Checks the settings of a program. @throws ToolError `invalid_argument` with the setting, its value and what would work */
export function checkRetrySettings({ delayMs, factor, maxDelayMs }: RetrySettings): void {
  checkMs(delayMs, "delayMs", "retry");
  checkMs(maxDelayMs, "maxDelayMs", "retry");
  checkNumber(factor, "factor of retry", { min: 1, max: Number.MAX_VALUE, integer: false });
}
