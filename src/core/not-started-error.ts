import { shareClass } from "./base/share-class.ts";
import { ToolError, pickHints, isToolError, type ErrorInfo } from "./error.ts";
import type { ToolResult } from "./result.ts";

/** Whether the store could not record the intent of the call: it had no effect, and may run once the store accepts writes. */
export function wasBlockedByStore({ error, attempts }: ToolResult): boolean {
  return attempts === 0 && error !== undefined && isFullStoreError(error);
}

/**
 * Thrown by the handler of a composite tool that only makes calls, if the store has kept the first of them from starting: the composite call then
 * counts as not attempted, so that it runs when its batch is submitted again.
 */
export class NotStartedError extends ToolError {
  static {
    shareClass(this, "NotStartedError");
  }

  constructor({ code, message, retryable, outcome, details = [], ...hints }: ErrorInfo) {
    super(code, message, { retryable, outcome, details, ...pickHints(hints) });
  }
}

const MARK = Symbol.for("haft.onlyMakesCalls");

/** Marks the handler of a composite tool that only makes calls. A handler that uses this one as a part may do other things, and is not marked. */
export function markOnlyMakesCalls<Handler extends object>(handler: Handler): Handler {
  return Object.defineProperty(handler, MARK, { value: true });
}

/** Whether a handler was marked as one that only makes calls. */
export function onlyMakesCalls(handler: object | undefined): boolean {
  return handler !== undefined && Object.hasOwn(handler, MARK);
}

/** Whether an error of this handler means that nothing at all happened. */
export function isNotStartedError(thrown: unknown, handler: object | undefined): boolean {
  return thrown instanceof NotStartedError && onlyMakesCalls(handler);
}

/** Returns the error to rethrow if the first call of such a handler was rejected with `thrown`. */
export function toNotStartedError(thrown: unknown): unknown {
  return isToolError(thrown) && isFullStoreError(thrown) ? new NotStartedError(thrown.toJSON()) : thrown;
}

function isFullStoreError({ code, outcome }: Pick<ErrorInfo, "code" | "outcome">): boolean {
  return code === "store_failed" && outcome === "not_started";
}
