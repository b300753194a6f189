/** How an engine says that it leaves a call to others. */
import { shareClass } from "./base/shared-class.ts";
import { ToolError } from "./error.ts";

/**
 * Thrown by an engine that answers in place of a tool and has no answer to this call: the next source of the call's fallback chain is asked, and
 * if there is none, this is the error. An engine that has begun to answer throws a `ToolError` instead.
 */
export class NoAnswer extends ToolError {
  static {
    shareClass(this, "NoAnswer");
  }
}
