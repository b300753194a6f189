/** The answer of a stand-in that was cut when the tool gave it. */
import { ToolOutput, type ToolOutputOptions } from "./content.ts";
import type { ToolResult } from "./result.ts";

/**
 * It need not fit the schema of the whole, and is not cut once more where it is no larger than what is shown here. A `partial` one is
 * checked, as it was then.
 */
export class CutOutput extends ToolOutput {
  /** Without the handle, by which only the session that was recorded knows the rest. */
  readonly truncation: Truncation;
  readonly isChecked: boolean;

  constructor(options: ToolOutputOptions, truncation: Truncation, isChecked: boolean) {
    super(options);
    this.truncation = withoutHandle(truncation);
    this.isChecked = isChecked;
  }
}

export type Truncation = NonNullable<ToolResult["truncation"]>;

export function withoutHandle({ totalBytes, shownBytes }: Truncation): Truncation {
  return Object.freeze({ handle: undefined, totalBytes, shownBytes });
}
