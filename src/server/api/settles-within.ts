/** Waits for work, with a timeout. */
import type { Clock } from "../../core/ports.ts";
import { onAbort } from "../../core/base/on-abort.ts";

/** Resolves to whether the work ended, or failed, before the timeout and before the signal aborted. Never rejects. */
export async function settlesWithin(work: Promise<unknown>, timeoutMs: number, clock: Clock, signal?: AbortSignal): Promise<boolean> {
  const { promise: tooLate, resolve } = Promise.withResolvers<false>();
  const cancel = clock.timer(() => resolve(false), timeoutMs);
  const forget = signal === undefined ? undefined : onAbort(signal, () => resolve(false));
  const over = work.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([over, tooLate]);
  } finally {
    cancel();
    forget?.();
  }
}
