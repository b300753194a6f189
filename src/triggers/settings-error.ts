/** An error in the settings of a trigger, with the key of the invalid setting. */
import { ToolError } from "../core/error.ts";
import type { ErrorCode } from "../core/error-codes.ts";

export class SettingsError extends ToolError {
  /** The invalid setting; undefined if the settings are invalid as a whole. */
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
