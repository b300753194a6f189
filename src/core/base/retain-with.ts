/** Keeps a request in memory as long as its response. */

/** The requests, by the object that keeps them. */
const RETAINED_REQUESTS = new WeakMap<object, object>();

/**
 * Keeps `request` from being garbage-collected before `holder` is: Node.js aborts the signal of a `Request` only while the request object exists, and
 * a response stream outlives its handler. A holder keeps one request.
 */
export function retainWith(holder: object, request: Request): void {
  RETAINED_REQUESTS.set(holder, request);
}
