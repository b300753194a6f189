/** The error of a failed operation: the server's problem, or that the server could not be reached. */
import type { Problem } from "../server/http/problem.ts";

/** The error of every operation of a client. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** 0 where there was no answer. */
  readonly status: number;
  /** Undefined where the answer was none of a Haft server. */
  readonly problem: Problem | undefined;

  /** @internal */
  constructor(
    message: string,
    { status, problem, cause }: { readonly status: number; readonly problem?: Problem; readonly cause?: unknown },
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.status = status;
    this.problem = problem;
  }

  /** @internal */
  static unreachable(url: string, cause: unknown): ApiError {
    const why = cause instanceof Error ? cause.message : String(cause);
    return new ApiError(`The server at ${new URL(url).origin} did not answer: ${why}`, { status: 0, cause });
  }

  /** @internal */
  static redirected(url: string, { status, headers }: Response): ApiError {
    const to = headers.get("location") ?? "another address";
    const what = `The server at ${new URL(url).origin} redirects to ${to}, which is not followed for a request that changes something.`;
    return new ApiError(`${what} Give the client the address that it leads to.`, { status });
  }
}

/** The error that an answer is. */
export function errorOf({ status, headers }: Response, text: string): ApiError {
  if (headers.get("content-type")?.startsWith("application/problem+json") !== true)
    return new ApiError(`The server answered with status ${status}.`, { status });
  const problem = parseAnswer(text, status) as Problem; // the server says so
  const hint = problem.hint === undefined ? "" : ` ${problem.hint}`;
  return new ApiError(`${problem.detail}${hint}`, { status, problem });
}

/** @throws ApiError for what is no JSON, such as an answer that a proxy has cut */
export function parseAnswer(text: string, status: number): unknown {
  try {
    return JSON.parse(text);
  } catch (cause: unknown) {
    throw new ApiError(`The server answered with status ${status}, and with JSON that cannot be read.`, { status, cause });
  }
}

/** A part of a path. @throws ApiError for text that no address can have: `fetch` drops dots as a part of a path */
export function pathPart(value: string): string {
  if (typeof value === "string" && value !== "." && value !== ".." && value.isWellFormed()) return encodeURIComponent(value);
  throw new ApiError(`${JSON.stringify(value)} cannot be part of an address.`, { status: 0 });
}
