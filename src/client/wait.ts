/** Waits, in browsers and Node alike. Resolves early when the signal aborts. */
export function wait(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, delayMs);
  const stop = (): void => {
    clearTimeout(timer);
    resolve();
  };
  if (signal?.aborted === true) stop();
  signal?.addEventListener("abort", stop, { once: true });
  return promise.finally(() => signal?.removeEventListener("abort", stop));
}
