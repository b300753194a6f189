/** Reads how long a service asks its clients to wait. */

/** Maximum wait that is respected, in milliseconds. */
const MAX_WAIT_MS = 86_400_000;
const DECIMAL = /^\d{1,12}(?:\.\d{1,12})?$/u;

/**
 * Returns how long to wait in milliseconds, at most a day; undefined for an invalid value. `retry-after-ms` has precedence over `retry-after`.
 *
 * @param headerOf returns the value of a header by its lower-case name
 * @param now wall-clock milliseconds, for a date in a response without a Date header. Left out, such a date is ignored
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-retry-after: seconds, or a date, which is compared to the Date of the response
 */
export function readRetryAfter(headerOf: (name: string) => string | null | undefined, now: number = Number.NaN): number | undefined {
  const ms = headerOf("retry-after-ms")?.trim() ?? "";
  if (DECIMAL.test(ms)) return Math.min(Number(ms), MAX_WAIT_MS);
  const value = headerOf("retry-after")?.trim() ?? "";
  if (DECIMAL.test(value)) return Math.min(Number(value) * 1_000, MAX_WAIT_MS);
  const date = value.length <= 64 && /^[A-Za-z]/u.test(value) ? Date.parse(value) : Number.NaN;
  const then = Date.parse(headerOf("date") ?? "");
  const waitMs = date - (Number.isNaN(then) ? now : then);
  return waitMs > 0 ? Math.min(waitMs, MAX_WAIT_MS) : undefined;
}
