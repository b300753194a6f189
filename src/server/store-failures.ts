/** Errors of stores, whose messages may name files, addresses and SQL statements, as clients are shown them: a reference to the log. */
import type { ErrorCode } from "../core/error-codes.ts";
import type { ErrorInfo, ToolError } from "../core/error.ts";
import type { RuntimeEvent, SessionEvent } from "../core/event.ts";
import { formatForOperator } from "../core/error.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { getOrAdd } from "../core/base/get-or-add.ts";
import type { JobStatus } from "../core/jobs/job-status.ts";
import type { Clock, Ids, Log } from "../core/ports.ts";
import type { ToolResult } from "../core/result.ts";
import { throttledLog } from "../core/system/throttled-log.ts";

/** Codes, other than those of stores, of requests that failed as a whole for reasons that only the operator can act on. */
const OPERATOR_ONLY_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["execution_failed", "invalid_config"]);
/** How stores name where they keep their data, in errors whose codes others use too. */
const PLACE = /\bthe (?:store|file|artifacts in) \S*\//iu;

/** One throttled log for each log of a server. */
const LOGS = new WeakMap<Log, Log>();

export interface FailurePorts {
  readonly log: Log;
  readonly ids: Ids;
  readonly clock: Clock;
}

/** A log for failures that every request may have while the store is away: with at most 20 warnings a minute, it stays readable. */
export function failureLog({ log, clock }: Pick<FailurePorts, "log" | "clock">): Log {
  return getOrAdd(LOGS, log, () => throttledLog(log, clock));
}

/** Whether the error of a request says something that is meant for the operator only. */
export function isForOperator(error: Pick<ErrorInfo, "code" | "message">): boolean {
  return OPERATOR_ONLY_CODES.has(error.code) || isStoreFailure(error);
}

/** Logs the error of a request under a new name, and returns a message for its client that has this name. */
export function referToLog(what: string, error: ToolError, ports: FailurePorts): string {
  const name = ports.ids.next("error");
  failureLog(ports).warn(`${what} failed (${name}): ${formatForOperator(error)}`);
  return `${isStoreFailure(error) ? "The store cannot be used now" : "The request failed"}. The server's log has it as ${name}.`;
}

/** Whether the store failed. A record that is damaged says so, unless the error names the place of the whole store. */
export function isStoreFailure({ code, message }: Pick<ErrorInfo, "code" | "message">): boolean {
  return code === "store_failed" || (code === "corrupt_record" && PLACE.test(message));
}

/** The result for a client, without what the error of a store says about its place: the log of the server has it under the id of the call. */
export function withoutStorePlace(result: ToolResult): ToolResult {
  return withShownError(result, result);
}

/** The job for a client: see `withoutStorePlace`. */
export function jobWithoutStorePlace<Job extends JobStatus>(job: Job): Job {
  return withShownError(job, { name: job.toolName, callId: job.id });
}

/** The event for a client: a result in it is that of `withoutStorePlace`, and so are other errors. */
export function eventWithoutStorePlace<Event extends SessionEvent | RuntimeEvent>(event: Event): Event {
  if (event.type === "call-end") {
    const result = withoutStorePlace(event.result);
    return result === event.result ? event : { ...event, result };
  }
  const failed: SessionEvent | RuntimeEvent = event;
  if (!("error" in failed) || failed.error === undefined) return event;
  const part = "toolset" in failed ? { name: failed.toolset } : { name: failed.toolName, callId: failed.callId };
  const error = shownError(failed.error, part);
  return error === failed.error ? event : { ...event, error };
}

/** The name of a failed call or toolset; the log has the error of a call under its id. */
interface FailedPart {
  readonly name: string;
  readonly callId?: string;
}

/** Returns the same value if its error may be shown as it is. */
function withShownError<T extends { readonly error?: ErrorInfo }>(failed: T, part: FailedPart): T {
  const error = failed.error && shownError(failed.error, part);
  return error === failed.error ? failed : { ...failed, error };
}

function shownError(error: ErrorInfo, { name, callId }: FailedPart): ErrorInfo {
  if (isStoreFailure(error)) {
    const { code, retryable, outcome, retryAfterMs } = error;
    const what = outcome === "not_started" ? "was not started" : "failed";
    const message = `${name} ${what}: the store cannot be used now. The server's log has it${callId === undefined ? "" : ` as ${callId}`}.`;
    return { code, message, retryable, outcome, ...omitUndefined({ retryAfterMs }) };
  }
  // the store through which processes share a toolset could not be reached
  if (error.code !== "unavailable" || error.operatorHint === undefined || !PLACE.test(error.operatorHint)) return error;
  const { operatorHint: _hidden, ...shown } = error;
  return shown;
}
