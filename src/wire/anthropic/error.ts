/** What went wrong at Anthropic, in our words. */
import type { ErrorCode } from "../../core/error-codes.ts";
import { ToolError } from "../../core/error.ts";
import { isJsonObject } from "../../core/base/json.ts";
import type { JsonValue } from "../../core/base/json.ts";

/** @see https://docs.anthropic.com/en/api/errors */
const CODES: ReadonlyMap<JsonValue | undefined, ErrorCode> = new Map([
  ["authentication_error", "permission_denied"],
  ["permission_error", "permission_denied"],
  ["billing_error", "limit_exceeded"],
  ["not_found_error", "not_found"],
  ["request_too_large", "too_large"],
  ["rate_limit_error", "rate_limited"],
  ["timeout_error", "timeout"],
  ["api_error", "unavailable"],
  ["overloaded_error", "unavailable"],
]);

/** The error in `{ type: "error", error: { type, message } }`. */
export function anthropicError(error: JsonValue | undefined): ToolError {
  const { type, message } = isJsonObject(error) ? error : {};
  const what = typeof message === "string" ? message : "it does not say what is wrong";
  const known = CODES.get(type) ?? "model_failed";
  const code = known === "model_failed" && /prompt is too long|exceeds? (?:the )?context/iu.test(what) ? "too_large" : known;
  const report = `Anthropic reports ${typeof type === "string" ? type : "an error"}: ${what}`;
  return new ToolError(code, report, code === "unavailable" ? { retryable: true } : {});
}
