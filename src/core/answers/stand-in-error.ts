/** An error that a stand-in answers with in place of a tool. */
import { shareClass } from "../base/share-class.ts";
import type { JsonValue } from "../base/json.ts";
import { withoutHandle, type Truncation } from "./truncated-output.ts";
import type { ToolError, ToolErrorOptions } from "../error.ts";
import type { Fidelity } from "./fidelity.ts";
import { ReturnedFailure } from "./returned-failure.ts";

/** An error with a fidelity, like `ToolOutput.fidelity` of an output; any other error has the fidelity of its origin. */
export class StandInError extends ReturnedFailure {
  static {
    shareClass(this, "StandInError");
  }

  readonly fidelity: Fidelity;
  /** Set if the answer is the remaining part of one that was truncated, as in `TruncatedOutput.truncation`. */
  readonly truncation: Truncation | undefined;

  constructor(
    code: ToolError["code"],
    message: string,
    options: ToolErrorOptions & {
      readonly fidelity: Fidelity;
      readonly answer?: JsonValue | undefined;
      readonly truncation?: Truncation | undefined;
    },
  ) {
    super(code, message, { ...options, answer: options.answer });
    this.fidelity = options.fidelity;
    this.truncation = options.truncation === undefined ? undefined : withoutHandle(options.truncation);
  }
}
