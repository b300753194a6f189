/** Classifies what a handler threw: the kind of failure, and whether a retry may help. */
import { MAX_MESSAGE_LENGTH, ToolError, describeThrown, isToolError, type ToolErrorOptions } from "../../core/error.ts";
import { ignoreRejection } from "../../core/system/ignore-rejections.ts";
import type { ErrorCode } from "../../core/error-codes.ts";
import { readRetryAfter } from "../../core/formats/retry-after.ts";
import { wordSet } from "../../core/base/wording.ts";

interface Finding {
  readonly code: ErrorCode;
  readonly retryable?: boolean;
  readonly retryAfterMs?: number;
}

const MAX_CAUSES = 5;

/**
 * Makes a ToolError of any thrown value; never throws, whatever the value's getters do.
 *
 * A ToolError is returned unchanged: the thrower decides. Otherwise the value and up to four of its causes are checked, in this order: an
 * abort or timeout error by name, a Node or undici error by its own `code`, an HTTP error by `status`, with its Retry-After header. Any other
 * error is judged by the words in its message.
 *
 * The message has the message of the cause that decided, and of the cause of a failed `fetch`, whose own message names no reason.
 *
 * The outcome is always `unknown`, even if a connection was refused: the handler may have had its effect before it failed. Only a thrower who
 * knows that nothing happened can say so, with a ToolError.
 */
export function classifyError(thrown: unknown): ToolError {
  if (isToolError(thrown)) return thrown;
  ignoreRejection(thrown);
  let link: unknown = thrown;
  for (let depth = 0; depth < MAX_CAUSES && link !== undefined && link !== null; depth++) {
    const finding = classifyByName(link) ?? classifyBySystemCode(link) ?? classifyByStatus(link);
    if (finding !== undefined) return buildError(finding, thrown, link);
    link = readField(link, "cause");
  }
  return buildError(classifyByMessage(thrown) ?? { code: "execution_failed" }, thrown, findFetchReason(thrown) ?? thrown);
}

/** Returns the cause of an error of Node's `fetch`: its own message is only `fetch failed`, whatever the reason, such as an expired certificate. */
function findFetchReason(thrown: unknown): unknown {
  if (readField(thrown, "name") !== "TypeError" || readField(thrown, "message") !== "fetch failed") return undefined;
  return readField(thrown, "cause") ?? undefined;
}

function classifyByName(link: unknown): Finding | undefined {
  const name = readField(link, "name");
  if (name === "AbortError") return { code: "execution_failed" };
  if (name === "TimeoutError") return { code: "timeout" };
  return undefined;
}

/** Errors of a connection that was lost or never made. */
const CONNECTION_FAILED: ReadonlySet<string> = wordSet(
  "ECONNREFUSED ENOTFOUND EAI_AGAIN UND_ERR_CONNECT_TIMEOUT ECONNRESET ECONNABORTED EPIPE ETIMEDOUT ESOCKETTIMEDOUT " +
    "EHOSTUNREACH EHOSTDOWN ENETUNREACH ENETDOWN ENETRESET ERR_STREAM_PREMATURE_CLOSE UND_ERR_SOCKET " +
    "UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT",
);

/** @see https://nodejs.org/api/errors.html#common-system-errors and https://undici.nodejs.org/#/docs/api/Errors (2026-01) */
function classifyBySystemCode(link: unknown): Finding | undefined {
  const code = readOwnField(link, "code");
  if (typeof code !== "string") return undefined;
  if (code === "ABORT_ERR" || code === "UND_ERR_ABORTED") return { code: "execution_failed" };
  if (ACCESS_REFUSED.has(code)) return ACCESS_DENIED;
  return CONNECTION_FAILED.has(code) ? { code: "network_error" } : undefined;
}

/** The operating system or Node's permission model does not let the process do this. */
const ACCESS_REFUSED: ReadonlySet<string> = new Set(["EACCES", "EPERM", "ERR_ACCESS_DENIED"]);
const ACCESS_DENIED: Finding = { code: "permission_denied", retryable: false };

/** HTTP status codes that suggest a retry. 529 is what some model providers answer when they are overloaded. */
const TEMPORARY_STATUS: ReadonlyMap<number, ErrorCode> = new Map<number, ErrorCode>([
  [408, "timeout"],
  [425, "network_error"],
  [429, "rate_limited"],
  [502, "network_error"],
  [503, "network_error"],
  [504, "timeout"],
  [529, "rate_limited"],
]);

function classifyByStatus(link: unknown): Finding | undefined {
  const response = readField(link, "response");
  const status = statusOf(link) ?? statusOf(response);
  if (status === undefined) return undefined;
  if (status === 401 || status === 403) return ACCESS_DENIED;
  const code = TEMPORARY_STATUS.get(status);
  // any other 4xx is final, whatever its message says; a 5xx that is not in the table is judged by its message
  if (code === undefined) return status < 500 ? { code: "execution_failed", retryable: false } : undefined;
  const retryAfterMs = readRetryAfterHeader(readField(link, "headers")) ?? readRetryAfterHeader(readField(response, "headers"));
  return retryAfterMs === undefined ? { code } : { code, retryAfterMs };
}

function statusOf(holder: unknown): number | undefined {
  const status = readField(holder, "status") ?? readField(holder, "statusCode");
  return typeof status === "number" && status >= 400 && status <= 599 ? status : undefined;
}

/** 5xx status codes that are about this one request: the request is at fault, not the server. */
const REQUEST_ERROR_STATUSES: ReadonlySet<number> = new Set([501, 505]);

/** True if the error or one of its causes is the HTTP response of a broken server. */
export function isServerFailure(error: ToolError): boolean {
  let link: unknown = error;
  for (let depth = 0; depth <= MAX_CAUSES && link !== undefined && link !== null; depth++) {
    const status = statusOf(link) ?? statusOf(readField(link, "response"));
    if (status !== undefined) return status >= 500 && !REQUEST_ERROR_STATUSES.has(status);
    link = readField(link, "cause");
  }
  return false;
}

function readRetryAfterHeader(headers: unknown): number | undefined {
  return readRetryAfter((name) => readHeader(headers, name));
}

/** Returns a header, given its lower-case name, from a `Headers` object or a plain object in the usual spellings. */
function readHeader(headers: unknown, name: string): string | undefined {
  const headerCaseName = name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
  const value = callGet(headers, name) ?? readOwnField(headers, name) ?? readOwnField(headers, headerCaseName);
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value.length <= 64 ? value.trim() : undefined;
}

function callGet(headers: unknown, name: string): unknown {
  const get = readField(headers, "get");
  if (typeof get !== "function") return undefined;
  try {
    return Reflect.apply(get, headers, [name]);
  } catch {
    return undefined;
  }
}

/** Words in the messages of exceptions that carry no better information. The first match decides. */
const MESSAGE_WORDS: readonly (readonly [string, ErrorCode])[] = [
  ["rate limit", "rate_limited"],
  ["timeout", "timeout"],
  ["connection", "network_error"],
  ["network", "network_error"],
  ["temporary", "execution_failed"],
  ["try again", "execution_failed"],
];
/** Mistakes in the handler's code: a message such as `reading 'connection'` is not about a lost connection. */
const PROGRAMMING_ERRORS: ReadonlySet<unknown> = new Set(["TypeError", "ReferenceError", "SyntaxError", "RangeError"]);

function classifyByMessage(thrown: unknown): Finding | undefined {
  if (PROGRAMMING_ERRORS.has(readField(thrown, "name"))) return undefined;
  const text = describeThrown(thrown).slice(0, MAX_MESSAGE_LENGTH).toLowerCase();
  const found = MESSAGE_WORDS.find(([word]) => text.includes(word));
  return found === undefined ? undefined : { code: found[1], retryable: true };
}

function buildError(finding: Finding, thrown: unknown, link: unknown): ToolError {
  const { code, ...rest } = finding;
  const options: ToolErrorOptions = { ...rest, outcome: "unknown", cause: thrown };
  return new ToolError(
    code,
    link === thrown ? describe(thrown) : `${describe(thrown).slice(0, MAX_MESSAGE_LENGTH / 2)}: ${describe(link)}`,
    options,
  );
}

/** Returns the message, or the system code if the message is empty, as for connection attempts to several addresses. */
function describe(thrown: unknown): string {
  const code = readOwnField(thrown, "code");
  return typeof code === "string" && readField(thrown, "message") === "" ? code : describeThrown(thrown);
}

function readField(holder: unknown, key: string): unknown {
  if (!isObject(holder)) return undefined;
  try {
    return Reflect.get(holder, key);
  } catch {
    return undefined;
  }
}

function readOwnField(holder: unknown, key: string): unknown {
  try {
    return isObject(holder) && Object.hasOwn(holder, key) ? Reflect.get(holder, key) : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}
