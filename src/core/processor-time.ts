/** The processor time of this thread, cheap enough to be asked for at the beginning of each call. */

/** A reading is used for so long. */
const FRESH_MS = 5;

/** Node has the first since 22.19 and 23.9; the other counts all threads, which is at least as much. */
const usage = typeof process.threadCpuUsage === "function" ? () => process.threadCpuUsage() : () => process.cpuUsage();

let readAt = -Infinity;
let read = 0;

/** Milliseconds of processor time that this thread has used at `now`, by any clock; may be 5 ms old. */
export function processorTime(now: number): number {
  // A clock that has its own `now()` and the rest of the system's may be far ahead of the others.
  if (Math.abs(now - readAt) >= FRESH_MS) {
    const { user, system } = usage();
    [readAt, read] = [now, (user + system) / 1_000];
  }
  return read;
}
