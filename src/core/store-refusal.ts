/** Failures of a store that a caller need not try again, and that an operator ends. */
import { shareClass } from "./base/shared-class.ts";
import { ToolError } from "./error.ts";

/** The server of the store refuses a login, a certificate or a right: it may take the next one after a setting or a password was changed. */
export class StoreRefusal extends ToolError {
  static {
    shareClass(this, "StoreRefusal");
  }
}

/** Whether the store may serve later after this failure, so that work that was accepted can wait; false such as for one that is closed. */
export function mayServeLater(error: ToolError): boolean {
  return error.retryable || error instanceof StoreRefusal;
}
