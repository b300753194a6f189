import { shareClass } from "./base/shared-class.ts";
import { ToolError, hintsOf, isToolError, type ErrorInfo } from "./error.ts";
import type { ToolResult } from "./result.ts";

/** Whether the store could not take the intent of the call: nothing of it has happened, and it may be run when the store can. */
export function wasKeptFromStarting({ error, attempts }: ToolResult): boolean {
  return attempts === 0 && error !== undefined && isOfFullStore(error);
}

/**
 * Thrown by the handler of a composite tool that does nothing but make calls, where the store has kept the first of them from starting: it counts as not
 * attempted, so that it is run when its batch is sent again.
 */
export class KeptFromStarting extends ToolError {
  static {
    shareClass(this, "KeptFromStarting");
  }

  constructor({ code, message, retryable, outcome, details = [], ...hints }: ErrorInfo) {
    super(code, message, { retryable, outcome, details, ...hintsOf(hints) });
  }
}

const MARK = Symbol.for("haft.onlyMakesCalls");

/** Marks the handler of a composite tool that does nothing but make calls. One that uses it as a part of its own may do something besides, and is not marked. */
export function onlyMakesCalls<Handler extends object>(handler: Handler): Handler {
  return Object.defineProperty(handler, MARK, { value: true });
}

/** Whether an error of this handler says that nothing at all has happened. */
export function wasKeptByStore(thrown: unknown, handler: object | undefined): boolean {
  return thrown instanceof KeptFromStarting && handler !== undefined && Object.hasOwn(handler, MARK);
}

/** The error to throw on where the first call of such a handler was rejected with this one. */
export function keptFromStarting(thrown: unknown): unknown {
  return isToolError(thrown) && isOfFullStore(thrown) ? new KeptFromStarting(thrown.toJSON()) : thrown;
}

function isOfFullStore({ code, outcome }: Pick<ErrorInfo, "code" | "outcome">): boolean {
  return code === "store_failed" && outcome === "not_started";
}
