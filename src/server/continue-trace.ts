/** Runs work for a client as part of the client's trace. */
import type { Runtime } from "../runtime/runtime.ts";

/** Runs `work` as part of the trace that a request names, if the runtime traces. @param read returns a header or another field of the request */
export function continueTrace<T>({ tracing }: Runtime, read: (name: string) => string | undefined, work: () => T): T {
  return tracing === undefined ? work() : tracing.continueTrace(read, work);
}
