/** The errors that providers send in a reply's place or in the middle of one, as ours. */
import type { ErrorCode } from "../../core/error-codes.ts";
import { ToolError } from "../../core/error.ts";
import { isJsonObject } from "../../core/base/json.ts";
import type { JsonValue } from "../../core/base/json.ts";

/** In the order they are looked for; each pattern is tried on the provider's code, type and status. */
const KINDS: readonly { readonly code: ErrorCode; readonly words: RegExp; readonly retryable?: boolean }[] = [
  { code: "limit_exceeded", words: /^(?:402|insufficient_quota|insufficient_balance|billing\w*)$/u },
  { code: "permission_denied", words: /^(?:40[13]|invalid_api_key|authentication\w*|permission\w*|unauthorized)$/u },
  { code: "not_found", words: /^(?:404|model_not_found|not_found\w*)$/u },
  { code: "timeout", words: /^(?:408|504|timeout\w*|gateway_timeout)$/u },
  { code: "rate_limited", words: /^(?:429|rate_?limit\w*|too_many_requests|resource_exhausted|engine_overloaded\w*)$/u },
  { code: "too_large", words: /^(?:413|context_length_exceeded|context_window\w*|request_too_large|string_above_max_length)$/u },
  {
    code: "unavailable",
    words: /^(?:50[023]|52\d|server_error|internal\w*|api_error|overloaded\w*|(?:service_)?unavailable\w*|bad_gateway)$/u,
    retryable: true,
  },
  // Groq checks what its models write, and the next try may be written better
  { code: "model_failed", words: /^(?:tool_use_failed|json_validate_failed|output_parse_failed)$/u, retryable: true },
];
const TOO_LONG = /maximum context length|context (?:length|window|size)|prompt is too long|too many tokens/u;

/** The error in `error`, whether it is an object with a code, or only text. */
export function chatError(error: JsonValue, provider = "The model's provider"): ToolError {
  const { code, type, status, message = error } = isJsonObject(error) ? error : {};
  const words = [code, type, status].flatMap((word) => (typeof word === "string" || typeof word === "number" ? [String(word)] : []));
  const text = typeof message === "string" ? message : JSON.stringify(message);
  const kind = KINDS.find((one) => words.some((word) => one.words.test(word.toLowerCase())));
  const known = kind?.code ?? (TOO_LONG.test(text.slice(0, 4096).toLowerCase()) ? "too_large" : "model_failed");
  const said = words.length === 0 ? "" : ` (${words.join(", ")})`;
  return new ToolError(known, `${provider} reports an error${said}: ${text}`, kind?.retryable === true ? { retryable: true } : {});
}
