/** Any error as the answer to a request, without the details that are for the operator alone. */
import { ERROR_CODES, type ErrorCode } from "../../../core/error-codes.ts";
import { ToolError, errorInfo } from "../../../core/error.ts";
import type { Ids, Log } from "../../../core/ports.ts";
import { HttpError } from "../../http/http-error.ts";
import { problemAnswer, problemOf } from "../../http/problem.ts";
import type { WholeAnswer } from "../../http/whole-answer.ts";

/** Codes of requests that are wrong, whose column speaks of calls of a program. */
const STATUS: Partial<Record<ErrorCode, number>> = { invalid_argument: 400, cancelled: 409, corrupt_record: 422, execution_failed: 500 };

/** Codes whose texts may name files, addresses and statements. */
const FOR_OPERATORS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["store_failed", "execution_failed", "invalid_config"]);

/** @param thrown whatever a handler threw */
export function errorAnswer(thrown: unknown, { log, ids }: { readonly log: Log; readonly ids: Ids }): WholeAnswer {
  const error = ToolError.fromUnknown(thrown);
  const status = error instanceof HttpError ? error.status : statusOf(error);
  const { retryAfterMs } = error;
  const headers = {
    ...(error instanceof HttpError ? error.headers : {}),
    ...(retryAfterMs === undefined && status !== 503
      ? {}
      : { "retry-after": String(Math.max(1, Math.ceil((retryAfterMs ?? 1_000) / 1_000))) }),
    // Clients that repeat such answers by themselves would repeat what was begun.
    "x-should-retry": error.retryable && error.outcome === "not_started" ? "true" : "false",
  };
  if (!FOR_OPERATORS.has(error.code)) return problemAnswer(problemOf(errorInfo(error), { status }), headers);
  const name = ids.next("error");
  log.warn(`A request failed (${name}): ${error.message}`);
  const shown = { code: error.code, retryable: error.retryable, outcome: error.outcome };
  const message = `${error.code === "store_failed" ? "The store cannot be used now" : "The request failed"}. The server's log has it as ${name}.`;
  return problemAnswer(problemOf({ ...shown, message }, { status }), headers);
}

/** A session with events of a newer version is no mistake of the request: another process, of that version, can have it. */
function statusOf({ code, retryable }: ToolError): number {
  if (code === "corrupt_record" && retryable) return ERROR_CODES.unavailable.http;
  return STATUS[code] ?? ERROR_CODES[code].http;
}
