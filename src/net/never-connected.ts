/** Which failures of a request say that nothing of it was sent. */

/** Whether nothing can have been sent: there never was a connection. A network that is lost later fails reads and writes with codes of the same names. */
export function neverConnected(thrown: unknown): boolean {
  const call: unknown = thrown instanceof Error && "syscall" in thrown ? thrown.syscall : undefined;
  return NOT_CONNECTED.has(codeOf(thrown)) && call !== "read" && call !== "write";
}

export const BLOCKED_PORT = "blocked port";
/** Of `node --permission`. */
export const NOT_ALLOWED = "ERR_ACCESS_DENIED";

const NOT_CONNECTED: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  BLOCKED_PORT,
  NOT_ALLOWED,
]);

/** Node's error codes are single words; anything else could carry what a server sent. */
export function codeOf(thrown: unknown): string {
  if (thrown instanceof Error && thrown.message === "bad port") return BLOCKED_PORT; // as `fetch` says it, without a code
  const code: unknown = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  return typeof code === "string" && /^\w{1,64}$/u.test(code) ? code : "unknown";
}
