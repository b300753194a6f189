/** What something that stands in for a tool answers with where its answer is an error. */
import { ToolError, type ToolErrorOptions } from "./error.ts";
import type { Fidelity } from "./fidelity.ts";

/** Says how near the error comes to the tool's own, as `ToolOutput.fidelity` does of an output; any other comes as near as its origin says. */
export class StandInError extends ToolError {
  readonly fidelity: Fidelity;

  constructor(code: ToolError["code"], message: string, options: ToolErrorOptions & { readonly fidelity: Fidelity }) {
    super(code, message, options);
    this.fidelity = options.fidelity;
  }
}
