/** Errors over HTTP, as defined by RFC 9457. @see https://www.rfc-editor.org/rfc/rfc9457 */
import { ERROR_CODES, type ErrorCode, type Outcome } from "../../core/error-codes.ts";
import type { ErrorInfo } from "../../core/error.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { escapeInvisible } from "../../core/base/escape-invisible.ts";
import { TextResponse } from "./text-response.ts";
import { capitalize } from "../../core/base/wording.ts";

/** An error as `application/problem+json`: no stack, no cause. */
export interface Problem {
  /** A stable URN for each error code: `urn:haft:error:invalid_input`. */
  readonly type: string;
  /** The code as words. */
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  /** Whether the same request, unchanged, may succeed later. */
  readonly retryable: boolean;
  /** Whether the call was started, and what is known of its effect. */
  readonly outcome: Outcome;
  readonly hint?: string;
  /** One line per problem, such as each wrong field with its `$` path. */
  readonly details?: readonly string[];
  readonly callId?: string;
}

export const PROBLEM_TYPE = "application/problem+json";

/** Fields of a problem that are not fields of its error. */
export interface ProblemOptions {
  /** @default the status of the code */
  readonly status?: number | undefined;
  readonly callId?: string | undefined;
}

/** Makes the problem of an error. Invisible characters are escaped in its texts, which may quote third-party text. */
export function toProblem(error: ErrorInfo, { status, callId }: ProblemOptions = {}): Problem {
  const { code, message, retryable, outcome, details } = error;
  const hint = error.hint ?? error.operatorHint;
  return {
    type: `urn:haft:error:${code}`,
    title: capitalize(code.replaceAll("_", " ")),
    status: status ?? ERROR_CODES[code].http,
    detail: escapeInvisible(message),
    code,
    retryable,
    outcome,
    ...omitUndefined({
      hint: hint === undefined ? undefined : escapeInvisible(hint),
      callId,
      details: details?.map((line) => escapeInvisible(line)),
    }),
  };
}

export function problemResponse(problem: Problem, headers: Readonly<Record<string, string>> = {}): TextResponse {
  return new TextResponse(
    problem.status,
    { "content-type": PROBLEM_TYPE, "cache-control": "no-store", ...headers },
    JSON.stringify(problem),
  );
}
