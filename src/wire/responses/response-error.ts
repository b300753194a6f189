/** The errors that OpenAI's Responses sends in a reply's place, or in the middle of one. */
import type { ErrorCode } from "../../core/error-codes.ts";
import { ToolError } from "../../core/error.ts";
import { isJsonObject } from "../../core/base/json.ts";
import type { JsonObject } from "../../core/base/json.ts";
import { textOf } from "../read-field.ts";

interface KnownError {
  readonly code: ErrorCode;
  readonly retryable?: boolean;
}

const UNAVAILABLE: KnownError = { code: "unavailable", retryable: true };
const KNOWN: ReadonlyMap<string, KnownError> = new Map<string, KnownError>([
  ["rate_limit_exceeded", { code: "rate_limited" }],
  ["rate_limit_error", { code: "rate_limited" }],
  ["too_many_requests", { code: "rate_limited" }],
  ["insufficient_quota", { code: "limit_exceeded" }],
  ["model_not_found", { code: "not_found" }],
  ["invalid_api_key", { code: "permission_denied" }],
  ["context_length_exceeded", { code: "too_large" }],
  ["string_above_max_length", { code: "too_large" }],
  ["server_error", UNAVAILABLE],
  ["internal_error", UNAVAILABLE],
  ["overloaded", UNAVAILABLE],
  ["service_unavailable", UNAVAILABLE],
  ["vector_store_timeout", UNAVAILABLE],
]);

/** The error of an `error` event, of `response.failed`, or of a body that says it failed. */
export function responseError(from: JsonObject): ToolError {
  const about = errorIn(from) ?? from;
  const word = textOf(about["code"]) ?? textOf(about["type"]) ?? "";
  const message = textOf(about["message"]) ?? "it did not say why";
  const { code, retryable } = KNOWN.get(word) ?? { code: "model_failed" as const };
  const named = word === "" || word === "error" || word.startsWith("response.") ? "" : ` (${word})`;
  return new ToolError(code, `The model's provider failed${named}: ${message}`, retryable === undefined ? {} : { retryable });
}

/** An error stands by itself, in the event, or in the response that the event is of. */
function errorIn({ error, response }: JsonObject): JsonObject | undefined {
  if (isJsonObject(error)) return error;
  return isJsonObject(response) && isJsonObject(response["error"]) ? response["error"] : undefined;
}
