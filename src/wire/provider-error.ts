/** Converts errors that providers send instead of a reply, or in the middle of one, to `ToolError`. */
import { omitUndefined } from "../core/base/omit-undefined.ts";
import type { ErrorCode } from "../core/error-codes.ts";
import { ToolError } from "../core/error.ts";

/**
 * Kinds of errors in order of precedence; each pattern is matched against the provider's code, type, status and name, in lower case.
 *
 * @see https://docs.anthropic.com/en/api/errors
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html#API_runtime_ConverseStream_Errors
 * @see https://ai.google.dev/gemini-api/docs/troubleshooting
 */
const KINDS: readonly { readonly code: ErrorCode; readonly words: RegExp; readonly retryable?: boolean }[] = [
  { code: "limit_exceeded", words: /^(?:402|insufficient_quota|insufficient_balance|billing\w*)$/u },
  {
    code: "permission_denied",
    words:
      /^(?:40[13]|invalid_api_key|(?:un)?authenticat\w*|permission\w*|unauthorized|(?:accessdenied|unrecognizedclient|expiredtoken)\w*)$/u,
  },
  { code: "not_found", words: /^(?:404|model_not_found|not_found\w*|resourcenotfound\w*)$/u },
  { code: "timeout", words: /^(?:408|504|timeout\w*|gateway_timeout|deadline_exceeded|modeltimeout\w*)$/u },
  {
    code: "rate_limited",
    words: /^(?:429|rate_?limit\w*|too_?many_?requests\w*|resource_exhausted|engine_overloaded\w*|(?:throttling|servicequota)\w*)$/u,
  },
  { code: "too_large", words: /^(?:413|context_length_exceeded|context_window\w*|request_too_large|string_above_max_length)$/u },
  {
    code: "unavailable",
    words:
      /^(?:50[023]|52\d|server_error|internal(?:_\w+|server\w*)?|api_error|overloaded\w*|(?:service_?)?unavailable\w*|bad_gateway|modelnotready\w*|vector_store_timeout)$/u,
    retryable: true,
  },
  // Groq validates what its models write, and the next attempt may be valid
  {
    code: "model_failed",
    words: /^(?:tool_use_failed|json_validate_failed|output_parse_failed|model(?:stream)?errorexception)$/u,
    retryable: true,
  },
];
/** How providers say, in code, type or message, that a request is longer than the model accepts. A name that is too long is another error. */
export const TOO_LONG = new RegExp(
  [
    "context[ _](?:length|window|size|limit)",
    "exceeds? (?:the )?(?:context|model)",
    "exceeds? (?:the )?max(?:imum)? (?:[a-z]{1,16} )?length",
    "(?:prompt|input|token length|conversation) (?:is )?too long",
    "too many (?:input )?tokens",
    "maximum (?:context|prompt length|model length|number of tokens)",
    "model token limit",
    "input token count",
    "range of input length",
    "`inputs` (?:must have less|tokens \\+ `max_new_tokens`)",
    "request payload size",
    "string_above_max_length",
  ].join("|"),
  "iu",
);
/** How providers say that the account has no credit left. The last alternative is Zhipu's. */
export const NO_CREDIT =
  /insufficient[ _](?:quota|balance)|credit balance is too low|billing_(?:hard_limit|error)|out of credits|exceeded_current_quota_error|used all available credits|余额不足/iu;
const NO_KEY = /api key (?:not valid|not found|expired)/iu;
const MAX_SEARCHED_CHARS = 4_096;

interface ReportedError {
  /** The whole message for the `ToolError`. */
  readonly report: string;
  /** The provider's code, type and status of the error. */
  readonly codes: readonly string[];
  readonly text: string;
  readonly retryAfterMs?: number | undefined;
}

export function providerError({ report, codes, text, retryAfterMs }: ReportedError): ToolError {
  const searched = [...codes, text].join(" ").slice(0, MAX_SEARCHED_CHARS);
  if (NO_CREDIT.test(searched)) return new ToolError("limit_exceeded", report, omitUndefined({ retryAfterMs }));
  const kind = KINDS.find((one) => codes.some((word) => one.words.test(word.toLowerCase())));
  return new ToolError(kind?.code ?? errorCodeFromText(searched), report, omitUndefined({ retryable: kind?.retryable, retryAfterMs }));
}

export function isKnownError(word: string): boolean {
  return KINDS.some(({ words }) => words.test(word.toLowerCase()));
}

function errorCodeFromText(text: string): ErrorCode {
  if (NO_KEY.test(text)) return "permission_denied";
  return TOO_LONG.test(text) ? "too_large" : "model_failed";
}
