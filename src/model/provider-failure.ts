/** Makes an error from a failed answer: the provider's message, and whether a retry may succeed. */
import type { ErrorCode } from "../core/error-codes.ts";
import { ToolError } from "../core/error.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../core/base/json.ts";
import type { Clock } from "../core/ports.ts";
import { excerpt } from "../engine/rest/answer-text.ts";
import { readRetryAfter } from "../core/formats/retry-after.ts";
import { readWireJson } from "../wire/framing/wire-json.ts";
import { NO_CREDIT, TOO_LONG, providerError } from "../wire/provider-error.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { valueText } from "../core/content.ts";

const MAX_MESSAGE = 1_000;
const MAX_KIND = 100;
/** Maximum number of characters of a message that are searched for the words of `RULES`. */
const MAX_SEARCHED = 4_096;

export interface FailedAnswer {
  /** The model's name, for the message. */
  readonly model: string;
  readonly status: number;
  readonly headers: Headers;
  /** The body, or the part of it that was read. */
  readonly text: string;
  /** How to set the key: `Set OPENAI_API_KEY, or pass apiKey.` */
  readonly keyHint: string;
}

interface ErrorClass {
  readonly code: ErrorCode;
  readonly retryable?: boolean;
  readonly hint?: string;
}

interface Rule extends ErrorClass {
  /** The rule applies to these statuses, alone or together with `pattern`. */
  readonly statuses: readonly number[];
  /** Must match the provider's kind of error or its message. */
  readonly pattern?: RegExp;
}

const KEY_REFUSED: ErrorClass = { code: "permission_denied" };
const REQUEST_TOO_LONG: ErrorClass = {
  code: "too_large",
  hint: "Shorten the conversation, offer fewer tools, or use a model with a larger context window.",
};
const ACCOUNT_EMPTY: ErrorClass = {
  code: "limit_exceeded",
  retryable: false,
  hint: "The account at the provider has no credit left for this.",
};
const NO_MODEL: ErrorClass = { code: "not_found", hint: "Check the name of the model and the base URL." };
const BUSY: ErrorClass = { code: "unavailable", retryable: true };

/** The first rule that matches decides. Several providers use 400 or 429 where others have a status of its own. */
const RULES: readonly Rule[] = [
  { ...ACCOUNT_EMPTY, statuses: [402] },
  { ...ACCOUNT_EMPTY, statuses: [400, 403, 429], pattern: NO_CREDIT },
  { ...REQUEST_TOO_LONG, statuses: [413] },
  { ...REQUEST_TOO_LONG, statuses: [400, 422], pattern: TOO_LONG },
  { ...REQUEST_TOO_LONG, statuses: [429], pattern: /request too large/iu },
  { ...KEY_REFUSED, statuses: [401, 403] },
  {
    ...KEY_REFUSED,
    statuses: [400],
    pattern: /api key not valid|api_key_invalid|invalid api key|incorrect api key|invalid_api_key/iu,
  },
  { ...NO_MODEL, statuses: [404] },
  {
    ...NO_MODEL,
    statuses: [400],
    pattern: /model_not_found|invalid_model|model identifier is invalid|model not exist|unknown model/iu,
  },
  { code: "timeout", statuses: [408, 504] },
  { ...BUSY, statuses: [429], pattern: /overloaded/iu },
  { code: "rate_limited", statuses: [429] },
  { code: "rate_limited", statuses: [400], pattern: /throttlingexception|servicequotaexceededexception/iu },
  { code: "model_failed", retryable: true, statuses: [409, 424, 425] },
  { code: "model_failed", statuses: [501, 505] },
];

/** Makes the error of a failed answer. Its message holds at most 1,000 characters of the provider's, and no terminal control characters. */
export function createProviderError(answer: FailedAnswer, clock: Clock): ToolError {
  const { model, status, headers, text, keyHint } = answer;
  const reported = readReportedError(text, headers);
  const { code, retryable, hint } = classifyFailure(status, reported);
  const retryAfterMs = retryAfter(headers, reported.body, clock);
  const asked = headers.get("x-should-retry");
  const again = asked === "true" ? true : asked === "false" ? false : retryable;
  const requestId = findRequestId(headers);
  const given = code === "permission_denied" ? keyHint : hint;
  return new ToolError(code, `${model} answered HTTP ${status}${reported.kind === "" ? "" : ` (${reported.kind})`}: ${reported.message}`, {
    ...(again === undefined ? {} : { retryable: again }),
    ...(given === undefined || given === "" ? {} : { operatorHint: given }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(requestId === undefined ? {} : { details: [`The provider calls this request ${requestId}.`] }),
  });
}

/**
 * Reads an error that a provider sent with a success status in place of a reply; undefined if the body reports no error. Its code follows from the
 * provider's words alone.
 */
export function findErrorInReply({ model, headers, text }: Omit<FailedAnswer, "status" | "keyHint">, clock: Clock): ToolError | undefined {
  const { message, kind, body } = readReportedError(text, headers);
  const error = body === undefined ? undefined : findErrorObject(body);
  if (error === undefined || !hasErrorMessage(error)) return undefined;
  const report = `${model} answered with an error in place of a reply${kind === "" ? "" : ` (${kind})`}: ${message}`;
  return providerError({
    report,
    codes: [kind, ...readWords(error).map(String)],
    text: message,
    retryAfterMs: retryAfter(headers, body, clock),
  });
}

/** False if `message` is an object: that is a reply. */
function hasErrorMessage(error: JsonValue): boolean {
  return typeof error === "string" || (isJsonObject(error) && !isJsonObject(error["message"]) && formatErrorMessage(error) !== "");
}

function classifyFailure(status: number, { kind, message }: ReportedError): ErrorClass {
  const text = `${kind} ${message}`.slice(0, MAX_SEARCHED);
  const rule = RULES.find(({ statuses, pattern }) => statuses.includes(status) && (pattern?.test(text) ?? true));
  if (rule !== undefined) return rule;
  return status >= 500 ? BUSY : { code: "model_failed" };
}

interface ReportedError {
  readonly message: string;
  /** The provider's name for the kind of error, or an empty string. */
  readonly kind: string;
  readonly body: JsonValue | undefined;
}

function readReportedError(text: string, headers: Headers): ReportedError {
  const body = text.trim() === "" ? undefined : readBody(text);
  const amazon = (headers.get("x-amzn-errortype") ?? "").split(":")[0] ?? "";
  if (body === undefined) {
    const message = isHtml(text) ? `a web page: ${excerpt(stripTags(text), 200)}` : excerpt(text, MAX_MESSAGE);
    return { message: message === "" ? "it gave no reason." : message, kind: excerpt(amazon, MAX_KIND), body };
  }
  const error = findErrorObject(body);
  const message = excerpt(formatErrorMessage(error), MAX_MESSAGE);
  const kind = amazon === "" ? formatKind(error) : amazon;
  return { message: message === "" ? excerpt(text, MAX_MESSAGE) : message, kind: excerpt(kind, MAX_KIND), body };
}

function readBody(text: string): JsonValue | undefined {
  try {
    return readWireJson(text);
  } catch {
    return undefined; // nested deeper than `readWireJson` reads
  }
}

/** The error of a body: its `error`, the first item of an array, or the body itself. */
function findErrorObject(body: JsonValue): JsonValue {
  const first = isJsonArray(body) ? (body[0] ?? "") : body;
  if (!isJsonObject(first)) return first;
  const { error, code, type } = first;
  if (typeof error === "string") return { ...omitUndefined({ code, type }), message: error };
  return isJsonObject(error) ? error : first;
}

function formatErrorMessage(error: JsonValue): string {
  if (!isJsonObject(error)) return valueText(error);
  const { message = error["Message"] ?? error["detail"], metadata } = error;
  const text = valueText(message);
  const raw = isJsonObject(metadata) ? metadata["raw"] : undefined; // the original message of the provider behind a gateway
  return typeof raw === "string" ? `${text}: ${raw}` : text;
}

/** The strings of `type`, `code`, `status` and Amazon's `__type`, such as `invalid_request_error` or `RESOURCE_EXHAUSTED`, without numbers. */
function formatKind(error: JsonValue): string {
  return [...new Set(readWords(error).filter((word) => typeof word === "string"))].join(", ");
}

function readWords(error: JsonValue): readonly (string | number)[] {
  if (!isJsonObject(error)) return [];
  const words = [error["type"], error["code"], error["status"], error["__type"]];
  return words.filter((word): word is string | number => typeof word === "number" || (typeof word === "string" && word !== ""));
}

/** The wait that the provider asks for: the first of `retry-after-ms`, `retry-after` and Google's `RetryInfo`. */
function retryAfter(headers: Headers, body: JsonValue | undefined, clock: Clock): number | undefined {
  return readRetryAfter((name) => headers.get(name), clock.wallTime()) ?? readRetryInfo(body);
}

/** @see https://cloud.google.com/apis/design/errors — `google.rpc.RetryInfo`: seconds followed by `s` */
function readRetryInfo(body: JsonValue | undefined): number | undefined {
  const error = body === undefined ? undefined : findErrorObject(body);
  const details = isJsonObject(error) ? error["details"] : undefined;
  if (!isJsonArray(details)) return undefined;
  const info = details
    .slice(0, 20)
    .find((detail): detail is JsonObject => isJsonObject(detail) && typeof detail["retryDelay"] === "string");
  const seconds = /^(\d{1,6}(?:\.\d{1,9})?)s$/u.exec(String(info?.["retryDelay"] ?? ""))?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}

function findRequestId(headers: Headers): string | undefined {
  const id = headers.get("request-id") ?? headers.get("x-request-id") ?? headers.get("x-amzn-requestid");
  return id !== null && /^[\w-]{1,128}$/u.test(id) ? id : undefined;
}

export function isHtml(text: string): boolean {
  return /^\s{0,100}<(?:!doctype\s|html)/iu.test(text.slice(0, 200));
}

/** The text of the page's beginning, without its tags. */
function stripTags(html: string): string {
  return html.slice(0, MAX_SEARCHED).replaceAll(/<[^<>]*>/gu, " ");
}
