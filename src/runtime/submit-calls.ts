/** Runs a batch under its idempotency key, once, and finds its first results again. */
import type { ToolCall } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import type { SessionEvent } from "../core/event.ts";
import type { ToolResult } from "../core/result.ts";
import type { ExecuteOptions } from "../call/execute-options.ts";
import { readAhead, type CallRunner } from "./run-calls.ts";
import { closedSession, partsOf, type RuntimeSession } from "./runtime-session.ts";
import { digestOfCalls, type Submitted } from "./submissions.ts";

export interface SubmitParts {
  readonly runner: CallRunner;
  /** Reads what a session recorded, from a position on. */
  events(session: RuntimeSession, from: number): AsyncIterable<SessionEvent>;
}

/** As `RuntimeSession.execute` with an `idempotencyKey`. */
export function submitCalls(
  session: RuntimeSession,
  calls: readonly ToolCall[],
  options: ExecuteOptions & { readonly idempotencyKey: string },
  parts: SubmitParts,
): Promise<readonly ToolResult[]> {
  if (session.closed) return Promise.reject(closedSession(session));
  if (options.recordHistory === false) return Promise.reject(unrecorded());
  const { idempotencyKey } = options;
  const { inputLimits } = partsOf(session);
  const sent = readAhead(calls, inputLimits);
  const digest = digestOfCalls(sent, inputLimits);
  return session.submissions.results(idempotencyKey, digest, {
    run: async () => {
      const results = await parts.runner.run(session, sent, options, { idempotencyKey, digest });
      return Array.isArray(results) ? (results as readonly ToolResult[]) : []; // a list of calls gives a list of results
    },
    read: async (submitted) => {
      const results = await readResults(submitted, parts.events(session, submitted.startsAt));
      await whenStored(session);
      return results;
    },
  });
}

/** Resolves when what was recorded is durable, where that is to be waited for. */
export async function whenStored(session: RuntimeSession): Promise<void> {
  const { eventLog } = session;
  if (eventLog?.options.durability !== "async") await eventLog?.whenDurable();
  if (session.broken !== undefined) throw session.broken;
}

async function readResults({ callIds }: Submitted, events: AsyncIterable<SessionEvent>): Promise<readonly ToolResult[]> {
  const wanted = new Set(callIds);
  const found = new Map<string, ToolResult>();
  for await (const event of events) {
    if (event.type === "call-end" && wanted.has(event.callId)) found.set(event.callId, event.result);
    if (found.size === wanted.size) break;
  }
  if (found.size < wanted.size)
    throw new ToolError("resource_busy", "The calls that were submitted under this idempotency key have not all ended yet.", {
      hint: "Submit them again when they have: a call of theirs that a crash interrupted is being taken up.",
    });
  return callIds.flatMap((callId) => found.get(callId) ?? []);
}

function unrecorded(): ToolError {
  return new ToolError("invalid_argument", 'The options "idempotencyKey" and "recordHistory: false" of execute() exclude each other.', {
    hint: "A result that is not recorded cannot be given again.",
  });
}
