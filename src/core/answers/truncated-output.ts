/** A stand-in's answer that had been truncated when the real tool gave it. */
import { ToolOutput, type ToolOutputOptions } from "../content.ts";
import type { ToolResult } from "../result.ts";

/**
 * An output that had been truncated: it need not match the schema, and is not truncated again unless larger than the limit here. A `partial` one is
 * checked, as it was then.
 */
export class TruncatedOutput extends ToolOutput {
  /** Without the handle, which is valid only in the recorded session. */
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
