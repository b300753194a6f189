/** Answers that several routes give: results with their problems, and batches that take longer. */
import { ToolError } from "../../../core/error.ts";
import type { ToolResult } from "../../../core/result.ts";
import { problemOf } from "../../http/problem.ts";
import { WholeAnswer } from "../../http/whole-answer.ts";
import type { ApiResult } from "../openapi/component-types.ts";
import type { Waited } from "./submissions.ts";

/** A result as it is sent: a failed one says what is wrong as a problem, too. */
export function shownResult(result: ToolResult): ApiResult {
  const { error, callId } = result;
  return error === undefined ? result : { ...result, problem: problemOf(error, { callId }) };
}

/** JSON that is sent as it is. A client that repeats requests by itself would run its calls twice; the router forbids that. */
export function jsonAnswer(body: unknown, status: number = 200, headers: Readonly<Record<string, string>> = {}): WholeAnswer {
  return new WholeAnswer(status, { "content-type": "application/json", "cache-control": "no-store", ...headers }, JSON.stringify(body));
}

/** 204: it is done, and there is nothing to say. */
export function noContent(): WholeAnswer {
  return new WholeAnswer(204, {}, "");
}

/** The results of calls that took longer than their request are below it. */
export const SUBMISSIONS_PATH = "/v1/submissions/";

/**
 * 200 with the results, or 202 with the place where they will be, which names their session: another server of the store finds them by it.
 *
 * @throws ToolError why the batch failed as a whole
 */
export function batchAnswer(
  waited: Waited,
  { sessionId, basePath }: { readonly sessionId: string | undefined; readonly basePath: string },
): WholeAnswer {
  if ("submissionId" in waited) {
    const query = sessionId === undefined ? "" : `?sessionId=${encodeURIComponent(sessionId)}`;
    const location = `${basePath}${SUBMISSIONS_PATH}${encodeURIComponent(waited.submissionId)}${query}`;
    return jsonAnswer({ submissionId: waited.submissionId, location }, 202, { location, "retry-after": "1" });
  }
  if ("thrown" in waited.outcome) throw ToolError.fromUnknown(waited.outcome.thrown);
  return waited.outcome.answer;
}

/** A page of a list, and the cursor of the next. */
export function pageOf<Entry>(
  entries: readonly Entry[],
  offset: number,
  limit: number,
): { readonly page: readonly Entry[]; readonly next?: string } {
  const page = entries.slice(offset, offset + limit);
  return offset + limit < entries.length ? { page, next: String(offset + limit) } : { page };
}
