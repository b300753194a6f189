/** The error with which an engine passes a call on to the next source. */
import { shareClass } from "../base/share-class.ts";
import { ToolError } from "../error.ts";

/**
 * Thrown by an engine that replaces a tool if it has no answer to this call: the next source of the call's fallback chain is asked; without one, the
 * call ends with this error. An engine that has begun to answer throws a `ToolError` instead.
 */
export class NoAnswer extends ToolError {
  static {
    shareClass(this, "NoAnswer");
  }
}
