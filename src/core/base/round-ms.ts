/** A span of time to microseconds, in milliseconds: a clock's differences have more decimals than it can tell. */
export function roundMs(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
