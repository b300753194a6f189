/** Waits for work, but no longer than that. */
import type { Clock } from "../../core/ports.ts";
import { onAbort } from "../../policy/attempts/deadline.ts";

/** Resolves to whether the work ended in time, and before the signal aborts. Never rejects for what the work does. */
export async function untilOver(work: Promise<unknown>, timeoutMs: number, clock: Clock, signal?: AbortSignal): Promise<boolean> {
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
