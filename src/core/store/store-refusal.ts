/** Store failures that a retry does not fix, but an operator can. */
import { shareClass } from "../base/share-class.ts";
import { ToolError } from "../error.ts";

/** The store's server refuses the login, the certificate or a right: a later attempt may succeed once a setting or a password was changed. */
export class StoreRefusal extends ToolError {
  static {
    shareClass(this, "StoreRefusal");
  }
}

/** Whether the store may work again later, so that accepted work can wait; false, for example, for a closed store. */
export function mayRecoverLater(error: ToolError): boolean {
  return error.retryable || error instanceof StoreRefusal;
}
