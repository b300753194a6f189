/** Waits for work, but no longer than that. */
import type { Clock } from "../../core/ports.ts";

/** Resolves to whether the work ended in time. Never rejects for what the work does. */
export async function untilOver(work: Promise<unknown>, timeoutMs: number, clock: Clock): Promise<boolean> {
  const { promise: tooLate, resolve } = Promise.withResolvers<false>();
  const cancel = clock.timer(() => resolve(false), timeoutMs);
  const over = work.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([over, tooLate]);
  } finally {
    cancel();
  }
}
