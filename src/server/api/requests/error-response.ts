/** Makes the response for any error, without details meant for the operator. */
import { ERROR_CODES, type ErrorCode } from "../../../core/error-codes.ts";
import { ToolError, errorInfo } from "../../../core/error.ts";
import { HttpError } from "../../http/http-error.ts";
import { problemResponse, toProblem } from "../../http/problem.ts";
import type { TextResponse } from "../../http/text-response.ts";
import { isForOperator, referToLog, type FailurePorts } from "../../store-failures.ts";

/** HTTP statuses that differ from the table of error codes, which is about calls: here the request itself failed. */
const STATUS: Partial<Record<ErrorCode, number>> = { invalid_argument: 400, cancelled: 409, corrupt_record: 422, execution_failed: 500 };

/** @param thrown any value that a handler threw */
export function errorResponse(thrown: unknown, ports: FailurePorts): TextResponse {
  const error = ToolError.fromUnknown(thrown);
  const status = error instanceof HttpError ? error.status : statusOf(error);
  const { retryAfterMs } = error;
  const headers = {
    ...(error instanceof HttpError ? error.headers : {}),
    ...(retryAfterMs === undefined && status !== 503
      ? {}
      : { "retry-after": String(Math.max(1, Math.ceil((retryAfterMs ?? 1_000) / 1_000))) }),
    // clients retry such responses automatically, which would repeat work that has begun
    "x-should-retry": error.retryable && error.outcome === "not_started" ? "true" : "false",
  };
  if (!isForOperator(error)) return problemResponse(toProblem(errorInfo(error), { status }), headers);
  const shown = { code: error.code, retryable: error.retryable, outcome: error.outcome };
  const message = referToLog("A request", error, ports);
  return problemResponse(toProblem({ ...shown, message }, { status }), headers);
}

/** The HTTP status of an error. A session with events of a newer version gives 503, since a process of that version can open it. */
function statusOf({ code, retryable }: ToolError): number {
  if (code === "corrupt_record" && retryable) return ERROR_CODES.unavailable.http;
  return STATUS[code] ?? ERROR_CODES[code].http;
}
