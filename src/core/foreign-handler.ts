/** Handlers that another framework wrote: what they answer with is no mistake of this program. */

const FOREIGN = new WeakSet<object>();

export function markForeign<Handler extends object>(handler: Handler): Handler {
  FOREIGN.add(handler);
  return handler;
}

export function isForeign(handler: object): boolean {
  return FOREIGN.has(handler);
}
