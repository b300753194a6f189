/** Waits that a contract makes for what must happen, and does not when a subject is broken. */
import { AssertionError } from "node:assert/strict";
import { systemPorts } from "../core/system-ports.ts";

/** So long what must happen is waited for, where a subject says nothing else. */
export const PATIENCE_MS = 20_000;

/** Rejects with what did not happen when it has not after `ms` of real time; leaves no timer behind. */
export async function within<T>(work: PromiseLike<T>, ms: number, what: string): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const cancel = systemPorts.clock.timer(() => reject(new AssertionError({ message: `${what} within ${ms} ms: it did not.` })), ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    cancel();
  }
}
