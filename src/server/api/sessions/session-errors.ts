/** Errors of requests that use sessions. */
import type { CallUnderWay } from "../../../call/context/calls-under-way.ts";
import { plural, formatList } from "../../../core/base/wording.ts";
import { ToolError } from "../../../core/error.ts";
import type { StoredSession } from "../../../core/store/store.ts";

export function stoppingError(): ToolError {
  return new ToolError("unavailable", "The server is stopping.", { retryable: true, outcome: "not_started", retryAfterMs: 1_000 });
}

/** Replaces the error for a session id that is in use, whose hint names methods of the TypeScript API. */
export function toApiError(thrown: unknown, id: string | undefined): ToolError {
  const error = ToolError.fromUnknown(thrown);
  if (error.code !== "duplicate" || id === undefined) return error;
  return new ToolError("duplicate", `A session ${JSON.stringify(id)} already exists.`, {
    outcome: "not_started",
    hint: `Use the routes under /v1/sessions/${encodeURIComponent(id)}, or choose another id.`,
    cause: thrown,
  });
}

/** The error if too many sessions stay open to begin another. */
export function tooManyOpenSessions(maxOpenSessions: number): ToolError {
  return new ToolError("limit_exceeded", `The server has ${maxOpenSessions} sessions open that only their clients can end.`, {
    outcome: "not_started",
    hint: "Commit, discard or delete branches and sessions that are not needed any more.",
    operatorHint: "Raise maxOpenSessions of [serve.limits]; with a store, sessions without branches are closed when they are idle.",
  });
}

/** The error of a keyed request that is not begun, because without a store too many such sessions are remembered. */
export function tooManyKeyedRequests(): ToolError {
  return new ToolError("unavailable", "The server cannot keep any more requests with an Idempotency-Key that took long.", {
    outcome: "not_started",
    retryable: true,
    retryAfterMs: HOUR_MS,
    operatorHint: "A store that outlives the process keeps them on disk.",
  });
}

const HOUR_MS = 60 * 60 * 1_000;

/**
 * Replaces the error of a claim, whose hint names a method of the TypeScript API. The request is forwarded to the process that has the session; a client
 * gets this error if that process announced no address, or if its address belongs to another process by now.
 */
export class SessionElsewhereError extends ToolError {
  readonly sessionId: string;

  constructor({ sessionId, openedBy, openedAt }: Pick<StoredSession, "sessionId" | "openedBy" | "openedAt">, cause?: unknown) {
    super("resource_busy", `Session ${JSON.stringify(sessionId)} is open in ${openedBy ?? "another process"}.`, {
      retryable: true,
      outcome: "not_started",
      cause,
      ...(openedAt === undefined ? { operatorHint: NO_ADDRESS_HINT } : { hint: RELEASE_HINT, retryAfterMs: 2_000 }),
    });
    this.sessionId = sessionId;
  }
}

const NO_ADDRESS_HINT =
  "Start each process of the store with the --address at which the others reach it, or with server.listen({ address }): they then forward requests for the session to it.";

export const RELEASE_HINT = "Send it again in a moment: the sessions of a process that has ended are released.";

/** The error of a request without results, because its calls continue in another process. */
export function releasedCallsError(
  sessionId: string,
  { calls, isKeyed }: { readonly calls: readonly CallUnderWay[]; readonly isKeyed: boolean },
): ToolError {
  const waits = calls.map(
    ({ callId, name, waitsFor }) => `${name} (${callId}) ${waitsFor === "answer" ? "waits for an answer" : "has not started"}`,
  );
  const session = JSON.stringify(sessionId);
  return new ToolError(
    "unavailable",
    `The server is stopping, and has released the session ${session} with ${plural(calls.length, "call")} in progress: ${formatList(waits)}.`,
    {
      retryable: isKeyed,
      outcome: "unknown",
      retryAfterMs: 1_000,
      hint: isKeyed
        ? "Send the request again with the same Idempotency-Key: the calls continue, and none is made twice."
        : `Check before you send it again: the calls continue when a request opens the session, and GET /v1/calls/{callId}?sessionId=${encodeURIComponent(sessionId)} has their results then.`,
    },
  );
}
