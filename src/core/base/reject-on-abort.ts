/** Ends one caller's wait for work that has other callers too, or that supports no signal. */
import { onAbort } from "./on-abort.ts";

/**
 * Settles like `work`, or rejects as soon as the signal aborts; a late rejection of `work` is then not an unhandled one. Removes its listener.
 *
 * @param reason returns the rejection reason for an abort. @default the signal's reason
 */
export async function rejectOnAbort<T>(work: Promise<T>, signal: AbortSignal, reason: () => unknown = () => signal.reason): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(reason());
  const forget = onAbort(signal, abort);
  try {
    return await Promise.race([aborted, work]);
  } finally {
    forget();
  }
}
