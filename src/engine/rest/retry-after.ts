/** Reads how long a service asks to be left alone. */
import type { Clock } from "../../core/ports.ts";

/** The longest wait that is honoured. */
const MAX_WAIT_MS = 86_400_000;

/**
 * Milliseconds from now, at most a day; undefined for what makes no sense.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-retry-after: seconds, or a date, which is compared to the Date of the answer
 */
export function readRetryAfter(headers: ReadonlyMap<string, readonly string[]>, clock: Clock): number | undefined {
  const value = headers.get("retry-after")?.[0]?.trim() ?? "";
  if (/^\d{1,20}(?:\.\d{1,9})?$/u.test(value)) return Math.min(Number(value) * 1_000, MAX_WAIT_MS);
  const date = value.length <= 64 && /^[A-Za-z]/u.test(value) ? Date.parse(value) : Number.NaN;
  const then = Date.parse(headers.get("date")?.[0] ?? "");
  const waitMs = date - (Number.isNaN(then) ? clock.wallTime() : then);
  return waitMs > 0 ? Math.min(waitMs, MAX_WAIT_MS) : undefined;
}
