/**
 * Real time, for what is done to real processes: a server does not die sooner because a test's clock says so,
 * which is why the runtime's clock is not asked here.
 */

/** Monotonic milliseconds. */
export function processNow(): number {
  // oxlint-disable-next-line no-restricted-properties -- see the file comment
  return performance.now();
}

/** Calls `fire` once after `delayMs`; the returned function cancels it. */
export function processTimer(fire: () => void, delayMs: number): () => void {
  // oxlint-disable-next-line no-restricted-globals -- see the file comment
  const timer = setTimeout(fire, delayMs);
  return () => clearTimeout(timer);
}

/** Resolves after `delayMs`, or at once when the signal aborts. */
export function processPause(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const done = (): void => {
      cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const cancel = processTimer(done, delayMs);
    signal?.addEventListener("abort", done, { once: true });
  });
}
