/** Time limits for the steps of a contract, which a broken subject may never reach. */
import { AssertionError } from "node:assert/strict";
import { systemPorts } from "../core/system/system-ports.ts";

/** How long an expected step may take, in milliseconds, unless the subject sets `timeoutMs`. */
export const PATIENCE_MS = 20_000;

/** Waits for work. Rejects with `what` if it has not settled after `ms` of real time. Leaves no timer behind. */
export async function assertSettlesWithin<T>(work: PromiseLike<T>, ms: number, what: string): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const cancel = systemPorts.clock.timer(() => reject(new AssertionError({ message: `${what} within ${ms} ms: it did not.` })), ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    cancel();
  }
}
