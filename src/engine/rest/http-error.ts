/** Makes an error from a failed answer: the service's message, and whether a retry may succeed. */
import type { ErrorCode, Outcome } from "../../core/error-codes.ts";
import { ToolError } from "../../core/error.ts";
import type { Clock } from "../../core/ports.ts";
import { readRetryAfter } from "../../core/formats/retry-after.ts";
import type { HttpResponse } from "../../net/http-request.ts";
import { http } from "../../net/node-http.ts";
import { ChunkBuffer } from "../../core/formats/chunk-buffer.ts";
import { decodeText, excerpt } from "./answer-text.ts";
import { isTextType, parseMediaType } from "./media-type.ts";

const MAX_READ_BYTES = 64 * 1024;
const MAX_MESSAGE = 200;
const MAX_DETAILS = 1_000;

interface StatusMeaning {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly outcome: Outcome;
}

const REFUSED: StatusMeaning = { code: "execution_failed", retryable: false, outcome: "failed" };

/** The credentials were refused, or do not allow the operation. */
const DENIED: StatusMeaning = { code: "permission_denied", retryable: false, outcome: "failed" };

/** Statuses that mean something else than refused (4xx) or failed (5xx). */
const MEANINGS: ReadonlyMap<number, StatusMeaning> = new Map<number, StatusMeaning>([
  [401, DENIED],
  [403, DENIED],
  [408, { code: "timeout", retryable: true, outcome: "unknown" }],
  [424, { code: "execution_failed", retryable: false, outcome: "unknown" }],
  [425, { code: "network_error", retryable: true, outcome: "not_started" }],
  [429, { code: "rate_limited", retryable: true, outcome: "not_started" }],
  [499, { code: "execution_failed", retryable: false, outcome: "unknown" }],
  [501, REFUSED],
  [502, { code: "network_error", retryable: true, outcome: "unknown" }],
  [503, { code: "network_error", retryable: true, outcome: "unknown" }],
  [504, { code: "timeout", retryable: true, outcome: "unknown" }],
  [505, REFUSED],
  [529, { code: "rate_limited", retryable: true, outcome: "unknown" }],
]);

const BROKEN: StatusMeaning = { code: "execution_failed", retryable: true, outcome: "unknown" };
/** A redirect that cannot be followed; it is not known whether anything was done. */
const NOT_FOLLOWED: StatusMeaning = { code: "execution_failed", retryable: false, outcome: "unknown" };

/** @param sent the credentials of the call, for 401 and 403; see `RequestCredentials.described` */
export async function toHttpError(response: HttpResponse, sent: string, clock: Clock): Promise<ToolError> {
  const { status, headers } = response;
  const text = await readText(response);
  const reason = text === "" ? (http.STATUS_CODES[status] ?? "no reason given") : excerpt(text, MAX_MESSAGE);
  const auth = status === 401 || status === 403 ? ` (It was sent ${sent}.)` : "";
  const retryAfterMs = readRetryAfter((name) => headers.get(name)?.[0], clock.wallTime());
  const { code, retryable, outcome } = meaningOf(status);
  return new ToolError(code, `HTTP ${status}: ${reason}${auth}`, {
    retryable,
    outcome,
    cause: { status },
    ...(text.length > MAX_MESSAGE ? { details: [excerpt(text, MAX_DETAILS)] } : {}),
    ...(retryable && retryAfterMs !== undefined ? { retryAfterMs } : {}),
  });
}

function meaningOf(status: number): StatusMeaning {
  return MEANINGS.get(status) ?? (status >= 500 ? BROKEN : status >= 400 ? REFUSED : NOT_FOLLOWED);
}

/** The beginning of the body. If the connection breaks, the part that arrived: the status is known in any case. */
async function readText(response: HttpResponse): Promise<string> {
  const pieces = new ChunkBuffer();
  let bytes = 0;
  try {
    for await (const chunk of response.body) {
      pieces.add(chunk);
      bytes += chunk.byteLength;
      if (bytes >= MAX_READ_BYTES) break;
    }
  } catch (error: unknown) {
    if (ToolError.fromUnknown(error).code === "cancelled") throw error;
  }
  const mediaType = parseMediaType(response.headers.get("content-type")?.[0]);
  const all = pieces.concat();
  if (mediaType.type !== "" && !isTextType(mediaType.type)) return "";
  return decodeText(all.subarray(0, MAX_READ_BYTES), mediaType)?.trim() ?? "";
}
