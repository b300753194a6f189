/** Runs a batch once under its idempotency key, and finds its first results again later. */
import type { ToolCall } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import type { SessionEvent } from "../core/event.ts";
import { createPendingResult } from "../core/jobs/job-message.ts";
import { wasBlockedByStore } from "../core/not-started-error.ts";
import type { ToolResult } from "../core/result.ts";
import { failsBatch, type Submission } from "../call/batch.ts";
import { outcomeUnknownError } from "../call/admit/reconcile-call.ts";
import { readCall } from "../call/admit/read-call.ts";
import type { ExecuteOptions } from "../call/execute-options.ts";
import { ToolExecutionError } from "../call/tool-execution-error.ts";
import { interruptedResult } from "./resume/open-call.ts";
import { preReadCalls, type CallRunner } from "./run-calls.ts";
import { closedSessionError } from "./session-errors.ts";
import { servicesOf, type RuntimeSession } from "./runtime-session.ts";
import { toStoreError, whenStored } from "./when-stored.ts";
import { digestOfCalls, type KeyedOptions, type SubmittedBatch } from "./submissions.ts";

export interface SubmitServices {
  readonly runner: CallRunner;
  /** Reads the events of a session, from a position on. */
  events(session: RuntimeSession, from: number): AsyncIterable<SessionEvent>;
}

/** Implements `RuntimeSession.execute` with an `idempotencyKey`. */
export function submitCalls(
  session: RuntimeSession,
  calls: readonly ToolCall[],
  { keepsRefused = false, ...options }: KeyedOptions,
  services: SubmitServices,
): Promise<readonly ToolResult[]> {
  if (session.closed) return Promise.reject(closedSessionError(session));
  if (options.recordHistory === false) return Promise.reject(unrecordedError());
  const { idempotencyKey } = options;
  const { inputLimits } = servicesOf(session);
  const sent = preReadCalls(calls, inputLimits);
  const digest = digestOfCalls(sent, inputLimits);
  const submitted = session.submissions.results(idempotencyKey, digest, {
    run: () => runList(session, sent, options, { runner: services.runner, submission: { idempotencyKey, digest } }),
    read: async (submitted) => {
      const results = await readResults(session, { submitted, sent }, services.events(session, submitted.startsAt)).catch(
        (thrown: unknown) => {
          throw toStoreError(thrown, undefined); // submitted before: the calls may have run, whatever keeps their results from being read
        },
      );
      await whenStored(session, results);
      if (keepsRefused) return results;
      const callIds = results.map((result) => (wasBlockedByStore(result) ? undefined : result.callId));
      const blockedCalls = sent.filter((_call, index) => callIds[index] === undefined);
      if (blockedCalls.length === 0) return results;
      const work = { runner: services.runner, submission: { idempotencyKey, digest, callIds } };
      const rerunResults = await runList(session, blockedCalls, options, work).catch((thrown: unknown) => {
        throw thrown instanceof ToolError ? toStoreError(thrown, results) : thrown;
      });
      const ends = rerunResults.values();
      return results.map((result) => (wasBlockedByStore(result) ? (ends.next().value ?? result) : result));
    },
  });
  return options.onError === "throw" ? submitted.then((results) => throwFailure(results, services.runner)) : submitted;
}

/** Rejects with earlier results of which one failed, as the batch would have: it was submitted without `onError`, or a crash cut off its rollback. */
function throwFailure(results: readonly ToolResult[], { alert }: CallRunner): readonly ToolResult[] {
  const failed = results.find(failsBatch);
  if (failed === undefined) return results;
  const error = new ToolExecutionError(failed, results);
  alert(error);
  throw error;
}

async function runList(
  session: RuntimeSession,
  calls: readonly ToolCall[],
  options: ExecuteOptions,
  { runner, submission }: { readonly runner: CallRunner; readonly submission: Submission },
): Promise<readonly ToolResult[]> {
  const results = await runner.run(session, calls, options, submission);
  return Array.isArray(results) ? (results as readonly ToolResult[]) : []; // an array of calls gives an array of results
}

async function readResults(
  session: RuntimeSession,
  { submitted: { callIds }, sent }: { readonly submitted: SubmittedBatch; readonly sent: readonly ToolCall[] },
  events: AsyncIterable<SessionEvent>,
): Promise<readonly ToolResult[]> {
  const wanted = new Set(callIds);
  const found = new Map<string, ToolResult>();
  const idsOfStarted = new Map<string, string | undefined>(); // with the ids that the callers gave
  const placeholders = new Map<string, ToolResult>();
  for await (const event of events) {
    if (!("callId" in event) || !wanted.has(event.callId)) continue;
    const { callId } = event;
    if (event.type === "call-start") idsOfStarted.set(callId, event.call.id);
    if (event.type === "job-start")
      placeholders.set(callId, createPendingResult({ callId, id: idsOfStarted.get(callId), name: event.toolName, mode: event.mode }));
    if (event.type === "output-keep") restoreOutput(session, event);
    if (event.type === "call-end") found.set(callId, event.result);
    if (found.size === wanted.size) break;
  }
  for (const [callId, placeholder] of placeholders) if (!found.has(callId)) found.set(callId, placeholder);
  // The recording or snapshot behind the session was taken before these calls began: whether they ran is not known, and nothing will end them.
  for (const [index, callId] of callIds.entries()) {
    if (idsOfStarted.has(callId)) continue;
    const { id, name } = readCall(sent[index], servicesOf(session).inputLimits).call;
    found.set(callId, interruptedResult({ callId, id, name }, outcomeUnknownError(name, "The recording ends before this call.")));
  }
  if (found.size < wanted.size)
    throw new ToolError("resource_busy", "The calls that were submitted under this idempotency key have not all ended yet.", {
      hint: "Submit them again when they have: a call that a crash interrupted is being resumed.",
    });
  return callIds.flatMap((callId) => found.get(callId) ?? []);
}

/** Restores the whole answer in memory, so that a program finds it after a crash as before. */
function restoreOutput(session: RuntimeSession, { callId, output, content }: SessionEvent & { readonly type: "output-keep" }): void {
  const { largeResults } = servicesOf(session);
  if (output === undefined && content === undefined) return; // not all of it is in memory
  if (!largeResults.has(session.id, callId)) largeResults.store(session.id, callId, output, content);
}

function unrecordedError(): ToolError {
  return new ToolError("invalid_argument", 'The options "idempotencyKey" and "recordHistory: false" of execute() exclude each other.', {
    hint: "A result that is not recorded cannot be returned again.",
  });
}
