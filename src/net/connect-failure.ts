/** Recognizes failures of a request of which nothing was sent. */

/** True if no connection was made, so that nothing was sent. False for reads and writes, whose errors have the same codes. */
export function failedToConnect(thrown: unknown): boolean {
  const call: unknown = thrown instanceof Error && "syscall" in thrown ? thrown.syscall : undefined;
  return CONNECT_ERROR_CODES.has(errorCodeOf(thrown)) && call !== "read" && call !== "write";
}

export const BLOCKED_PORT = "blocked port";
/** Error code of `node --permission`. */
export const ACCESS_DENIED = "ERR_ACCESS_DENIED";

const CONNECT_ERROR_CODES: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  BLOCKED_PORT,
  ACCESS_DENIED,
]);

/** Returns Node's error code, a single word; "unknown" for anything else, which could contain text from a server. */
export function errorCodeOf(thrown: unknown): string {
  if (thrown instanceof Error && thrown.message === "bad port") return BLOCKED_PORT; // as `fetch` says it, without a code
  const code: unknown = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  return typeof code === "string" && /^\w{1,64}$/u.test(code) ? code : "unknown";
}
