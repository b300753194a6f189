/** Marks handlers that another framework wrote: their answers are not mistakes of this program. */

const FOREIGN_HANDLERS = new WeakSet<object>();

export function markForeignHandler<Handler extends object>(handler: Handler): Handler {
  FOREIGN_HANDLERS.add(handler);
  return handler;
}

export function isForeignHandler(handler: object): boolean {
  return FOREIGN_HANDLERS.has(handler);
}
