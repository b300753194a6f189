/** The errors of a stand-in for a tool, where its answer is an error. */
import { shareClass } from "./base/shared-class.ts";
import type { JsonValue } from "./base/json.ts";
import type { ToolError, ToolErrorOptions } from "./error.ts";
import type { Fidelity } from "./fidelity.ts";
import { ReturnedFailure } from "./returned-failure.ts";

/** Sets the fidelity of the error, as `ToolOutput.fidelity` does of an output; any other error has the fidelity of its origin. */
export class StandInError extends ReturnedFailure {
  static {
    shareClass(this, "StandInError");
  }

  readonly fidelity: Fidelity;

  constructor(
    code: ToolError["code"],
    message: string,
    options: ToolErrorOptions & { readonly fidelity: Fidelity; readonly answer?: JsonValue | undefined },
  ) {
    super(code, message, { ...options, answer: options.answer });
    this.fidelity = options.fidelity;
  }
}
