/** A mistake in the settings of a trigger, with the setting to blame. */
import { ToolError } from "../core/error.ts";
import type { ErrorCode } from "../core/error-codes.ts";

export class SettingsError extends ToolError {
  /** Undefined = the settings as a whole. */
  readonly key: string | undefined;

  constructor(
    key: string | undefined,
    message: string,
    { hint, code = "invalid_argument" }: { readonly hint?: string; readonly code?: ErrorCode } = {},
  ) {
    super(code, message, hint === undefined ? {} : { hint });
    this.key = key;
  }
}
