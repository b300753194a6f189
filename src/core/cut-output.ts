/** The answer of a stand-in that was cut when the tool gave it. */
import { ToolOutput, type ToolOutputOptions } from "./content.ts";
import type { ToolResult } from "./result.ts";

/** It is taken as it is: what is left of an answer need not fit the schema of the whole, and is not cut once more. */
export class CutOutput extends ToolOutput {
  /** Without the handle, by which only the session that was recorded knows the rest. */
  readonly truncation: NonNullable<ToolResult["truncation"]>;

  constructor(options: ToolOutputOptions, { totalBytes, shownBytes }: NonNullable<ToolResult["truncation"]>) {
    super(options);
    this.truncation = Object.freeze({ handle: undefined, totalBytes, shownBytes });
  }
}
