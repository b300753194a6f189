const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;

/** How long a client waits before it opens something of a server again, after so many failures in a row. */
export function reopenDelayMs(failures: number): number {
  return Math.min(FIRST_MS * 2 ** failures, LONGEST_MS);
}
