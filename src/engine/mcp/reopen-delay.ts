const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;

/** The wait before a client opens a connection or stream to a server again, after this many failures in a row. */
export function reopenDelayMs(failures: number): number {
  return Math.min(FIRST_MS * 2 ** failures, LONGEST_MS);
}
