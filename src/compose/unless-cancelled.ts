/** Ends a run's wait for a function of the program that supports no signal, such as a stop condition. */
import { rejectOnAbort } from "../core/base/reject-on-abort.ts";

/** Settles like `work`; resolves to undefined as soon as the run is cancelled, and rejects as soon as its session is closed. */
export async function unlessCancelled<T>(work: Promise<T>, run: AbortSignal, session: AbortSignal): Promise<T | undefined> {
  try {
    return await rejectOnAbort(rejectOnAbort(work, session), run);
  } catch (thrown: unknown) {
    if (run.aborted) return undefined;
    throw thrown;
  }
}
