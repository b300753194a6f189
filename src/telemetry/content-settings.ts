import type { RedactText } from "./recorded-text.ts";

/** Whether the contents of calls are recorded, besides names and numbers. */
export interface ContentSettings {
  readonly recordInputs: boolean;
  readonly recordOutputs: boolean;
  readonly redact: RedactText | undefined;
  /** Whether a tool has this name. Any other name of a call is text of a model. */
  readonly isTool: (name: string) => boolean;
}
