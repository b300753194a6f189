/** Responses that several routes share: results with their problems, and batches that take longer. */
import { ToolError } from "../../../core/error.ts";
import type { ToolResult } from "../../../core/result.ts";
import { toProblem } from "../../http/problem.ts";
import { TextResponse } from "../../http/text-response.ts";
import { withoutStorePlace } from "../../store-failures.ts";
import type { ApiResult } from "../openapi/component-types.ts";
import type { BatchState } from "./submissions.ts";

/** A result for a client: a failed one also has its error as a problem. It does not say where the store is. */
export function toApiResult(of: ToolResult): ApiResult {
  const result = withoutStorePlace(of);
  const { error, callId } = result;
  return error === undefined ? result : { ...result, problem: toProblem(error, { callId }) };
}

/** Makes a JSON response. The router adds a header that forbids automatic retries, which would run calls twice. */
export function jsonResponse(body: unknown, status: number = 200, headers: Readonly<Record<string, string>> = {}): TextResponse {
  return new TextResponse(status, { "content-type": "application/json", "cache-control": "no-store", ...headers }, JSON.stringify(body));
}

/** Makes an empty response with status 204. */
export function noContent(): TextResponse {
  return new TextResponse(204, {}, "");
}

/** Path prefix of the results of calls that took longer than their request. */
export const SUBMISSIONS_PATH = "/v1/submissions/";

/**
 * Responds 200 with the results, or 202 with the `Location` of the future results. It names the session, so that another server of the store can find
 * them.
 *
 * @throws ToolError of a batch that failed as a whole
 */
export function batchResponse(
  waited: BatchState,
  { sessionId, basePath }: { readonly sessionId: string | undefined; readonly basePath: string },
): TextResponse {
  if ("submissionId" in waited) {
    const query = sessionId === undefined ? "" : `?sessionId=${encodeURIComponent(sessionId)}`;
    const location = `${basePath}${SUBMISSIONS_PATH}${encodeURIComponent(waited.submissionId)}${query}`;
    return jsonResponse({ submissionId: waited.submissionId, location }, 202, { location, "retry-after": "1" });
  }
  if ("thrown" in waited.outcome) throw ToolError.fromUnknown(waited.outcome.thrown);
  return waited.outcome.answer;
}

export function pageOf<Entry>(
  entries: readonly Entry[],
  offset: number,
  limit: number,
): { readonly page: readonly Entry[]; readonly next?: string } {
  const page = entries.slice(offset, offset + limit);
  return offset + limit < entries.length ? { page, next: String(offset + limit) } : { page };
}
