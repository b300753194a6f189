/** Failures of the official client while it obtains a token: before it sends a request, or after the server has refused it for its token. */
import { causesOf } from "../../core/base/causes.ts";
import { isJsonObject } from "../../core/base/json.ts";
import { describeThrown } from "../../core/error.ts";

/** The mark of the official client on such an error; it is the same symbol in every copy of the client. */
const MARK = Symbol.for("mcp.authSeamEscape");
/** Maximum number of problems of an answer that are named. */
const MAX_PROBLEMS = 3;

/** Such a failure of a request that is not sent by the official client. */
export class TokenFailure extends Error {
  override readonly name = "TokenFailure";

  constructor(cause: unknown) {
    super(describeThrown(cause), { cause });
  }
}

export function isTokenFailure(error: unknown): boolean {
  for (const each of causesOf(error))
    if (each instanceof TokenFailure || (typeof each === "object" && each !== null && Reflect.get(each, MARK) === true)) return true;
  return false;
}

/** The reason as the end of a sentence. An answer that the client could not read is described by its wrong fields. */
export function describeTokenFailure(error: unknown): string {
  const [issues] = [...causesOf(error)].flatMap((each): readonly unknown[] =>
    each instanceof Error && "issues" in each ? [each.issues] : [],
  );
  if (!Array.isArray(issues)) return describeThrown(error).replace(/\.$/u, "");
  const problems = issues.slice(0, MAX_PROBLEMS).map((issue: unknown) => {
    const { path, message } = isJsonObject(issue) ? issue : {};
    return `${Array.isArray(path) ? path.join(".") : ""}: ${String(message)}`;
  });
  return `an answer of the authorization server is invalid (${problems.join("; ")})`;
}
