/** Waits on the runtime's clock that a signal can end. */
import type { Clock } from "../core/ports.ts";

/** Resolves after `delayMs`, or at once when the signal aborts. Keeps the process alive meanwhile unless `background`. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal, options?: { readonly background?: boolean }): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const done = (): void => {
      cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const cancel = clock.timer(done, delayMs, options);
    signal?.addEventListener("abort", done, { once: true });
  });
}

/** Runs `work` with a signal that aborts after `limitMs`, or together with `outer`. */
export async function withTimeLimit<T>(
  { clock, limitMs, outer }: { readonly clock: Clock; readonly limitMs: number; readonly outer?: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const clear = clock.timer(() => limit.abort(new Error("it did not answer in time")), limitMs);
  try {
    return await work(outer === undefined ? limit.signal : AbortSignal.any([outer, limit.signal]));
  } finally {
    clear();
  }
}
