/** A tool's answer from which credentials were struck out. */
import { ToolOutput, type ToolOutputOptions } from "../content.ts";

/** An output whose schema is checked against the output as it came, because a label in place of a credential may break the schema. */
export class StruckOutput extends ToolOutput {
  readonly #original: unknown;

  /** @param original the output with the credentials; it is only checked, and neither recorded nor shown */
  constructor(options: ToolOutputOptions, original: unknown) {
    super(options);
    this.#original = original;
  }

  get original(): unknown {
    return this.#original;
  }
}
