/** Keeps a request for as long as what answers it is there. */

/** By what they are kept with. */
const KEPT = new WeakMap<object, object>();

/**
 * Keeps `request` from being collected before `holder` is: Node.js aborts the signal of a `Request` only while the request itself is there,
 * and a stream that answers it outlives its handler. A holder keeps one.
 */
export function keepWith(holder: object, request: Request): void {
  KEPT.set(holder, request);
}
