/** Makes an error of an answer that is no success: what the provider said, and what that means for another try. */
import type { ErrorCode } from "../core/error-codes.ts";
import { ToolError } from "../core/error.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../core/base/json.ts";
import type { Clock } from "../core/ports.ts";
import { excerpt } from "../engine/rest/answer-text.ts";
import { readRetryAfter } from "../core/retry-after.ts";
import { readWireJson } from "../wire/framing/wire-json.ts";
import { NO_CREDIT, TOO_LONG, providerError } from "../wire/provider-error.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { valueText } from "../core/content.ts";

const MAX_MESSAGE = 1_000;
const MAX_KIND = 100;
/** So much of a message is searched for words that say what it means. */
const MAX_SEARCHED = 4_096;

export interface FailedAnswer {
  /** The model's name, for the message. */
  readonly model: string;
  readonly status: number;
  readonly headers: Headers;
  /** The body, as far as it was read. */
  readonly text: string;
  /** Where the key comes from: `Set OPENAI_API_KEY, or give apiKey.` */
  readonly keyHint: string;
}

interface Meaning {
  readonly code: ErrorCode;
  readonly retryable?: boolean;
  readonly hint?: string;
}

interface Rule extends Meaning {
  /** By status alone, or together with `says`. */
  readonly statuses: readonly number[];
  /** Is found in the provider's kind of error or in its message. */
  readonly says?: RegExp;
}

const KEY_REFUSED: Meaning = { code: "permission_denied" };
const REQUEST_TOO_LONG: Meaning = {
  code: "too_large",
  hint: "Shorten the conversation, offer fewer tools, or take a model with a larger context.",
};
const ACCOUNT_EMPTY: Meaning = { code: "limit_exceeded", retryable: false, hint: "The provider's account has no credit left for this." };
const NO_MODEL: Meaning = { code: "not_found", hint: "Check the name of the model and the base URL." };
const BUSY: Meaning = { code: "unavailable", retryable: true };

/** The first that fits says what an answer means. Several providers say with a 400 or a 429 what others have a status for. */
const RULES: readonly Rule[] = [
  { ...ACCOUNT_EMPTY, statuses: [402] },
  { ...ACCOUNT_EMPTY, statuses: [400, 403, 429], says: NO_CREDIT },
  { ...REQUEST_TOO_LONG, statuses: [413] },
  { ...REQUEST_TOO_LONG, statuses: [400, 422], says: TOO_LONG },
  { ...REQUEST_TOO_LONG, statuses: [429], says: /request too large/iu },
  { ...KEY_REFUSED, statuses: [401, 403] },
  {
    ...KEY_REFUSED,
    statuses: [400],
    says: /api key not valid|api_key_invalid|invalid api key|incorrect api key|invalid_api_key/iu,
  },
  { ...NO_MODEL, statuses: [404] },
  {
    ...NO_MODEL,
    statuses: [400],
    says: /model_not_found|invalid_model|model identifier is invalid|model not exist|unknown model/iu,
  },
  { code: "timeout", statuses: [408, 504] },
  { ...BUSY, statuses: [429], says: /overloaded/iu },
  { code: "rate_limited", statuses: [429] },
  { code: "rate_limited", statuses: [400], says: /throttlingexception|servicequotaexceededexception/iu },
  { code: "model_failed", retryable: true, statuses: [409, 424, 425] },
  { code: "model_failed", statuses: [501, 505] },
];

/** Reads what went wrong. The message holds at most 1,000 characters of what the provider said, and nothing that steers a terminal. */
export function providerFailure(answer: FailedAnswer, clock: Clock): ToolError {
  const { model, status, headers, text, keyHint } = answer;
  const said = readSaid(text, headers);
  const { code, retryable, hint } = meaningOf(status, said);
  const retryAfterMs = retryAfter(headers, said.body, clock);
  const asked = headers.get("x-should-retry");
  const again = asked === "true" ? true : asked === "false" ? false : retryable;
  const requestId = requestIdOf(headers);
  const given = code === "permission_denied" ? keyHint : hint;
  return new ToolError(code, `${model} answered HTTP ${status}${said.kind === "" ? "" : ` (${said.kind})`}: ${said.message}`, {
    ...(again === undefined ? {} : { retryable: again }),
    ...(given === undefined || given === "" ? {} : { operatorHint: given }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(requestId === undefined ? {} : { details: [`The provider calls this request ${requestId}.`] }),
  });
}

/**
 * Reads the error that a success has in place of a reply; undefined where its body says nothing of one. Its code follows from the
 * provider's words alone.
 */
export function failureInReply({ model, headers, text }: Omit<FailedAnswer, "status" | "keyHint">, clock: Clock): ToolError | undefined {
  const { message, kind, body } = readSaid(text, headers);
  const error = body === undefined ? undefined : errorOf(body);
  if (error === undefined || !saysAnything(error)) return undefined;
  const report = `${model} answered with an error in place of a reply${kind === "" ? "" : ` (${kind})`}: ${message}`;
  return providerError({
    report,
    words: [kind, ...wordsOf(error).map(String)],
    text: message,
    retryAfterMs: retryAfter(headers, body, clock),
  });
}

/** A reply may have a message too, which is an object. */
function saysAnything(error: JsonValue): boolean {
  return typeof error === "string" || (isJsonObject(error) && !isJsonObject(error["message"]) && messageOf(error) !== "");
}

function meaningOf(status: number, { kind, message }: Said): Meaning {
  const text = `${kind} ${message}`.slice(0, MAX_SEARCHED);
  const rule = RULES.find(({ statuses, says }) => statuses.includes(status) && (says?.test(text) ?? true));
  if (rule !== undefined) return rule;
  return status >= 500 ? BUSY : { code: "model_failed" };
}

interface Said {
  readonly message: string;
  /** The provider's own word for the kind of error; empty for none. */
  readonly kind: string;
  readonly body: JsonValue | undefined;
}

function readSaid(text: string, headers: Headers): Said {
  const body = text.trim() === "" ? undefined : readBody(text);
  const amazon = (headers.get("x-amzn-errortype") ?? "").split(":")[0] ?? "";
  if (body === undefined) {
    const message = isHtml(text) ? `a web page: ${excerpt(withoutTags(text), 200)}` : excerpt(text, MAX_MESSAGE);
    return { message: message === "" ? "it said no more." : message, kind: excerpt(amazon, MAX_KIND), body };
  }
  const error = errorOf(body);
  const message = excerpt(messageOf(error), MAX_MESSAGE);
  const kind = amazon === "" ? kindOf(error) : amazon;
  return { message: message === "" ? excerpt(text, MAX_MESSAGE) : message, kind: excerpt(kind, MAX_KIND), body };
}

function readBody(text: string): JsonValue | undefined {
  try {
    return readWireJson(text);
  } catch {
    return undefined; // nested deeper than anybody reads
  }
}

/** Where the error is: under `error`, in the first of a list, or the body itself. */
function errorOf(body: JsonValue): JsonValue {
  const first = isJsonArray(body) ? (body[0] ?? "") : body;
  if (!isJsonObject(first)) return first;
  const { error, code, type } = first;
  if (typeof error === "string") return { ...omitUndefined({ code, type }), message: error };
  return isJsonObject(error) ? error : first;
}

function messageOf(error: JsonValue): string {
  if (!isJsonObject(error)) return valueText(error);
  const { message = error["Message"] ?? error["detail"], metadata } = error;
  const text = valueText(message);
  const raw = isJsonObject(metadata) ? metadata["raw"] : undefined; // a gateway's provider, as it wrote it
  return typeof raw === "string" ? `${text}: ${raw}` : text;
}

/** `invalid_request_error`, `RESOURCE_EXHAUSTED`: the words of `type`, `code`, `status` and Amazon's `__type`, without numbers. */
function kindOf(error: JsonValue): string {
  return [...new Set(wordsOf(error).filter((word) => typeof word === "string"))].join(", ");
}

function wordsOf(error: JsonValue): readonly (string | number)[] {
  if (!isJsonObject(error)) return [];
  const words = [error["type"], error["code"], error["status"], error["__type"]];
  return words.filter((word): word is string | number => typeof word === "number" || (typeof word === "string" && word !== ""));
}

/** The wait that is named by the first of `retry-after-ms`, `retry-after` and Google's `RetryInfo`. */
function retryAfter(headers: Headers, body: JsonValue | undefined, clock: Clock): number | undefined {
  return readRetryAfter((name) => headers.get(name), clock.wallTime()) ?? retryInfo(body);
}

/** @see https://cloud.google.com/apis/design/errors — `google.rpc.RetryInfo`: seconds with an `s` behind them */
function retryInfo(body: JsonValue | undefined): number | undefined {
  const error = body === undefined ? undefined : errorOf(body);
  const details = isJsonObject(error) ? error["details"] : undefined;
  if (!isJsonArray(details)) return undefined;
  const info = details
    .slice(0, 20)
    .find((detail): detail is JsonObject => isJsonObject(detail) && typeof detail["retryDelay"] === "string");
  const seconds = /^(\d{1,6}(?:\.\d{1,9})?)s$/u.exec(String(info?.["retryDelay"] ?? ""))?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}

function requestIdOf(headers: Headers): string | undefined {
  const id = headers.get("request-id") ?? headers.get("x-request-id") ?? headers.get("x-amzn-requestid");
  return id !== null && /^[\w-]{1,128}$/u.test(id) ? id : undefined;
}

export function isHtml(text: string): boolean {
  return /^\s{0,100}<(?:!doctype\s|html)/iu.test(text.slice(0, 200));
}

/** Enough of a page's words to recognise it by. */
function withoutTags(html: string): string {
  return html.slice(0, MAX_SEARCHED).replaceAll(/<[^<>]*>/gu, " ");
}
