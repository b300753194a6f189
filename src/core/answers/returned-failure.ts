/** The failure of a tool that reports it in its answer. */
import { shareClass } from "../base/share-class.ts";
import { ToolError, type ToolErrorOptions } from "../error.ts";
import type { JsonValue } from "../base/json.ts";

/** A failure that a tool returned instead of throwing it: the complete answer is kept with the error, and is what the model reads. */
export class ReturnedFailure extends ToolError {
  static {
    shareClass(this, "ReturnedFailure");
  }

  readonly answer: JsonValue | undefined;

  constructor(code: ToolError["code"], message: string, options: ToolErrorOptions & { readonly answer: JsonValue | undefined }) {
    super(code, message, options);
    this.answer = options.answer;
  }
}
