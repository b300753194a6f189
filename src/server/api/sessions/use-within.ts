/** Uses a session for requests that do not wait for calls: they are answered in time, even if the session is being resumed for long. */
import { ToolError } from "../../../core/error.ts";
import type { RuntimeSession } from "../../../runtime/runtime-session.ts";
import { DEFAULT_WAIT_MS } from "../openapi/json-schema.ts";
import type { ApiServices } from "../services.ts";

export interface UseWithinOptions {
  /** Whether the work itself waits for calls and has no effect, so that its end is not awaited either. @default false */
  readonly waitsForCalls?: boolean;
}

/**
 * Runs work in a session, like `SessionPool.use`, unless it cannot begin within 30 s: the session is being resumed, and the interrupted calls, which
 * this continues, may wait for a person for days. The work then never begins.
 *
 * @throws ToolError `resource_busy`, as a rejection; as the work
 */
export async function useWithin<T>(
  id: string,
  work: (session: RuntimeSession) => Promise<T> | T,
  { sessions, clock }: Pick<ApiServices, "sessions" | "clock">,
  { waitsForCalls = false }: UseWithinOptions = {},
): Promise<T> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  let hasBegun = false;
  let isLate = false;
  const cancel = clock.timer(
    () => {
      if (hasBegun && !waitsForCalls) return;
      isLate = true;
      reject(callsRunError(`Session ${JSON.stringify(id)} cannot be used: its calls still run.`));
    },
    DEFAULT_WAIT_MS,
    { background: true },
  );
  const used = sessions.use(id, (session) => {
    if (isLate) return undefined;
    hasBegun = true;
    return work(session);
  });
  try {
    return (await Promise.race([used, tooLate])) as T; // undefined only if it is late
  } finally {
    cancel();
  }
}

/** The error of a request that calls have kept from beginning. */
export function callsRunError(message: string): ToolError {
  return new ToolError("resource_busy", message, {
    retryable: true,
    outcome: "not_started",
    retryAfterMs: 1_000,
    hint: "Send the request again when they have ended. A call may wait for approval: GET /v1/approvals lists the questions.",
  });
}
