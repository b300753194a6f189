/** Ends one caller's wait for what others may wait for too, or what heeds no signal. */

/**
 * Resolves as `work` does, or rejects as soon as the signal aborts, whatever `work` still does: a late rejection of it is not an
 * unhandled one. Leaves no listener behind.
 *
 * @param reason what it rejects with then. @default the signal's reason
 */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal, reason: () => unknown = () => signal.reason): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(reason());
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([aborted, work]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
