/** What went wrong at Gemini, in our words. */
import type { ErrorCode } from "../../core/error-codes.ts";
import { ToolError } from "../../core/error.ts";
import { isJsonArray, isJsonObject } from "../../core/base/json.ts";
import type { JsonValue } from "../../core/base/json.ts";

/** @see https://ai.google.dev/gemini-api/docs/troubleshooting */
const CODES: ReadonlyMap<string, ErrorCode> = new Map([
  ["UNAUTHENTICATED", "permission_denied"],
  ["PERMISSION_DENIED", "permission_denied"],
  ["NOT_FOUND", "not_found"],
  ["401", "permission_denied"],
  ["403", "permission_denied"],
  ["404", "not_found"],
  ["RESOURCE_EXHAUSTED", "rate_limited"],
  ["TOO_MANY_REQUESTS", "rate_limited"],
  ["429", "rate_limited"],
  ["UNAVAILABLE", "unavailable"],
  ["INTERNAL", "unavailable"],
  ["500", "unavailable"],
  ["502", "unavailable"],
  ["503", "unavailable"],
  ["DEADLINE_EXCEEDED", "timeout"],
  ["GATEWAY_TIMEOUT", "timeout"],
  ["504", "timeout"],
]);
const TOO_LONG = /exceeds the maximum number of tokens|input token count|request payload size/iu;
const NO_KEY = /api key (?:not valid|not found|expired)/iu;

/** The error in `{ error: { code, status, message, details } }`; undefined where there is none. */
export function geminiError(body: JsonValue): ToolError | undefined {
  const error = isJsonObject(body) ? body["error"] : undefined;
  if (error === undefined || error === null) return undefined;
  const { code, status, message = error } = isJsonObject(error) ? error : {};
  const words = [status, code].flatMap((word) =>
    typeof word === "string" || typeof word === "number" ? [String(word).toUpperCase()] : [],
  );
  const text = typeof message === "string" ? message : JSON.stringify(message);
  const report = `Gemini reports ${words[0] ?? "an error"}: ${text}`;
  const retryAfterMs = delayOf(error);
  const kind = codeOf(words, text.slice(0, 4_096));
  return new ToolError(kind, report, {
    ...(kind === "unavailable" ? { retryable: true } : {}),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

function codeOf(words: readonly string[], text: string): ErrorCode {
  for (const word of words) {
    const code = CODES.get(word);
    if (code !== undefined) return code;
  }
  if (NO_KEY.test(text)) return "permission_denied";
  return TOO_LONG.test(text) ? "too_large" : "model_failed";
}

/** `google.rpc.RetryInfo` says `{ retryDelay: "12.5s" }`. */
function delayOf(error: JsonValue): number | undefined {
  const details = isJsonObject(error) ? error["details"] : undefined;
  for (const detail of isJsonArray(details) ? details : []) {
    const delay = isJsonObject(detail) ? detail["retryDelay"] : undefined;
    const seconds = typeof delay === "string" && delay.endsWith("s") ? Number(delay.slice(0, -1)) : Number.NaN;
    if (Number.isFinite(seconds) && seconds >= 0) return seconds * 1_000;
  }
  return undefined;
}
