import type { Problem } from "../server/http/problem.ts";

/** The error of a failed operation: the server's problem, or the reason why the server could not be reached. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** The HTTP status; 0 if there was no response. */
  readonly status: number;
  /** The problem that the server reported; undefined if the response did not come from a Haft server. */
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
    return new ApiError(`The server at ${new URL(url).origin} did not answer: ${describeFailure(cause)}`, { status: 0, cause });
  }

  /** @internal */
  static redirected(url: string, { status, headers }: Response): ApiError {
    const to = headers.get("location") ?? "another address";
    const what = `The server at ${new URL(url).origin} redirects to ${to}, and a redirect is not followed for a request that changes something.`;
    return new ApiError(`${what} Give the client the address that it redirects to.`, { status });
  }
}

/** Node's `fetch` says only "fetch failed"; the reason is its cause, which has just a code if several addresses were tried. */
function describeFailure(thrown: unknown): string {
  const reason = thrown instanceof TypeError && thrown.cause instanceof Error ? thrown.cause : thrown;
  if (!(reason instanceof Error)) return String(reason);
  if (reason.message !== "") return reason.message.trim();
  return "code" in reason ? String(reason.code) : reason.name;
}

/** Makes the error of an unsuccessful response. */
export function toApiError({ status, headers }: Response, text: string): ApiError {
  if (headers.get("content-type")?.startsWith("application/problem+json") !== true)
    return new ApiError(`The server answered with status ${status}.`, { status });
  const problem = parseAnswer(text, status) as Problem; // the server's content type says so
  const hint = problem.hint === undefined ? "" : ` ${problem.hint}`;
  return new ApiError(`${problem.detail}${hint}`, { status, problem });
}

/** Parses the JSON of a response. @throws ApiError if it is not JSON, such as a response that a proxy truncated */
export function parseAnswer(text: string, status: number): unknown {
  try {
    return JSON.parse(text);
  } catch (cause: unknown) {
    throw new ApiError(`The server answered with status ${status}, and with JSON that cannot be read.`, { status, cause });
  }
}

/** Encodes a part of a path. @throws ApiError if no URL can have it: `fetch` removes the path segments "." and ".." */
export function encodePathPart(value: string): string {
  if (typeof value === "string" && value !== "." && value !== ".." && value.isWellFormed()) return encodeURIComponent(value);
  throw new ApiError(`${JSON.stringify(value)} cannot be part of an address.`, { status: 0 });
}
