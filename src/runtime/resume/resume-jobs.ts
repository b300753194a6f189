/** Decides which background jobs and nested calls are run again after a crash, and in which order. */
import { isRealSource } from "../../core/answers/answer-source.ts";
import { isJsonObject } from "../../core/base/json.ts";
import { ToolError } from "../../core/error.ts";
import { outcomeUnknownError } from "../../call/admit/reconcile-call.ts";
import { findCallsWithSession } from "../nested-session.ts";
import { mayHaveWritten } from "../not-run-errors.ts";
import { noteNestedIntent, type OpenCall } from "./open-call.ts";
import type { Store } from "../../core/store/store.ts";
import { servicesOf, type RuntimeSession } from "../runtime-session.ts";
import { addTo } from "../../core/base/add-to.ts";

/** Number of starts after which a job is not run again, if each was ended by a crash while it did not only wait: it is probably the cause. */
const MAX_STARTS = 3;

interface JobDecisions {
  /** Why jobs were cancelled meanwhile, by the id of their calls. */
  readonly cancelled: ReadonlyMap<string, string>;
  /** Whether calls are run again at all. */
  readonly runsAgain: boolean;
}

/** The errors of jobs, and of their nested calls, that are not run again, by the id of the call. */
export function findJobErrors(open: readonly OpenCall[], { cancelled, runsAgain }: JobDecisions): ReadonlyMap<string, ToolError> {
  const errors = new Map<string, ToolError>();
  const reasons = new Map<string, string>();
  for (const call of open) {
    const { callId, parentCallId, job } = call;
    const reason = (job === undefined ? undefined : cancelled.get(callId)) ?? reasons.get(parentCallId ?? "");
    if (reason !== undefined) {
      reasons.set(callId, reason);
      errors.set(callId, cancelledJobError(call, reason));
    } else if (errors.has(parentCallId ?? "")) errors.set(callId, nestedInParkedError(call));
    else if (runsAgain && job !== undefined && job.starts - job.safeStarts >= MAX_STARTS)
      errors.set(callId, parkedJobError(call, job.starts - job.safeStarts));
  }
  return errors;
}

/** The nested calls of each job that run before it, by the id of the job; nested calls that are not run again are resumed with all others. */
export function groupCallsByJob(
  open: readonly OpenCall[],
  errors: ReadonlyMap<string, ToolError>,
): ReadonlyMap<string, readonly OpenCall[]> {
  const jobs = findEnclosingJobs(open);
  const calls = new Map<string, OpenCall[]>();
  for (const call of open) {
    const enclosing = jobs.get(call.callId);
    if (
      enclosing === undefined ||
      call.job !== undefined ||
      call.hasIncompleteMessage ||
      enclosing.hasIncompleteMessage ||
      errors.has(call.callId)
    )
      continue;
    addTo(calls, enclosing.callId, call);
  }
  return calls;
}

/**
 * The order to resume calls in: the innermost first, because a call is not run again if a call that was made in it has had its effect meanwhile, and
 * composite tools need the results of their nested calls. At one depth, those of each turn together, then composite ones.
 */
export function orderCalls(session: RuntimeSession, open: readonly OpenCall[]): readonly (readonly OpenCall[])[] {
  const depths = findDepths(open);
  const ofTurns = Map.groupBy(
    open.filter((call) => !isComposite(session, call)),
    ({ callId, turnId }) => `${depths.get(callId)} ${turnId}`,
  );
  const groups = [
    ...ofTurns.values(),
    ...open
      .filter((call) => isComposite(session, call))
      .toReversed()
      .map((call) => [call]),
  ];
  const depthOf = ([first]: readonly OpenCall[]): number => depths.get(first?.callId ?? "") ?? 0;
  return groups.toSorted((one, other) => depthOf(other) - depthOf(one));
}

/** How many of the open calls each is nested in. A caller comes before its nested calls. */
function findDepths(open: readonly OpenCall[]): ReadonlyMap<string, number> {
  const depths = new Map<string, number>();
  for (const { callId, parentCallId } of open) depths.set(callId, (depths.get(parentCallId ?? "") ?? -1) + 1);
  return depths;
}

/** The nearest job that each call is nested in, by the id of the call. */
function findEnclosingJobs(open: readonly OpenCall[]): ReadonlyMap<string, OpenCall> {
  const jobs = new Map<string, OpenCall>();
  const byId = new Map(open.map((call) => [call.callId, call]));
  for (const { callId, parentCallId } of open) {
    const parent = byId.get(parentCallId ?? "");
    const enclosing = parent?.job === undefined ? jobs.get(parentCallId ?? "") : parent;
    if (enclosing !== undefined) jobs.set(callId, enclosing);
  }
  return jobs;
}

function parkedJobError({ call, job }: OpenCall, starts: number): ToolError {
  return new ToolError("job_parked", `${job?.toolName ?? call.name} was not run again: its process ended ${starts} times while it ran.`, {
    hint: "It may be what ends the process. Call it again only with another input, or when the cause is known to be gone.",
    operatorHint: "Find out why the process ended; then call it again.",
  });
}

function nestedInParkedError({ call, intent }: OpenCall): ToolError {
  if (intent !== undefined) return outcomeUnknownError(call.name);
  return new ToolError("cancelled", `${call.name} was not run again: the background job that it was made in is parked.`, {
    outcome: "unknown",
  });
}

/** The error of a job that was cancelled while no process ran it, and of its nested calls. */
export function cancelledJobError({ call, job }: OpenCall, reason: string): ToolError {
  return new ToolError("cancelled", `${job?.toolName ?? call.name} was cancelled: ${reason}`, {
    outcome: job?.starts === 0 ? "not_started" : "unknown",
  });
}

/**
 * The errors of calls that are not run by themselves, by their ids: those that had not been dispatched, and were made by the handler of a call that
 * is not composite. That handler makes them again if it is run again; otherwise no one waits for them. Background jobs continue without their handler.
 */
export function findNestedErrors(session: RuntimeSession, open: readonly OpenCall[]): ReadonlyMap<string, ToolError> {
  const errors = new Map<string, ToolError>();
  const byId = new Map(open.map((call) => [call.callId, call]));
  for (const call of open) {
    const outer = byId.get(call.parentCallId ?? "");
    if (outer === undefined || outer === call || call.job !== undefined) continue;
    if (!errors.has(outer.callId) && isComposite(session, outer)) continue;
    if (call.intent === undefined && call.remoteId === undefined) errors.set(call.callId, madeAgainError(session, call, outer));
  }
  return errors;
}

/**
 * Notes which calls had made others that continue, or may have had an effect, without an intent: jobs, and all calls if intents do not wait for the
 * disk.
 */
export function noteNestedEffects(session: RuntimeSession, open: readonly OpenCall[]): void {
  const isAsync = session.eventLog?.options.durability === "async";
  const byId = new Map(open.map((call) => [call.callId, call]));
  for (const call of open) {
    if (!(isAsync || call.job !== undefined) || !mayHaveEffect(session, call)) continue;
    noteNestedIntent(byId.get(call.parentCallId ?? ""), byId);
  }
}

/** Notes which calls had made others that had begun sessions: what was done in these is not in the log of this session. */
export async function noteNestedSessions(session: RuntimeSession, open: readonly OpenCall[], store: Store): Promise<void> {
  const byId = new Map(open.map((call) => [call.callId, call]));
  const owners = new Map<string, OpenCall>();
  const isRepeated = new Set<OpenCall>(); // its handler, or one around it, would make its calls again
  for (const call of open) {
    const outer = byId.get(call.parentCallId ?? "");
    if (!isComposite(session, call) || (outer !== undefined && isRepeated.has(outer))) isRepeated.add(call);
    if (!isRepeated.has(call)) continue;
    for (const callId of isComposite(session, call) ? [call.callId, ...call.endedWithin] : call.endedWithin) owners.set(callId, call);
  }
  for (const callId of await findCallsWithSession(store, { sessionId: session.id, callIds: [...owners.keys()] }))
    noteNestedIntent(owners.get(callId), byId);
}

function mayHaveEffect(session: RuntimeSession, { call, answerFrom }: OpenCall): boolean {
  if (answerFrom?.every(isRealSource) === false) return false;
  const services = servicesOf(session);
  const input = isJsonObject(call.input) ? call.input : {};
  return services.registry
    .overloads(call.name)
    .some((tool) => tool.tool.composite === true || !services.planOf(tool).effectsOf(input).repeatable);
}

function isComposite({ registry }: RuntimeSession, { call }: OpenCall): boolean {
  return registry.overloads(call.name).some(({ tool }) => tool.composite === true);
}

function madeAgainError(session: RuntimeSession, open: OpenCall, outer: OpenCall): ToolError {
  const mayHaveRun = mayHaveWritten(session, open);
  return new ToolError(
    "cancelled",
    `${open.call.name} was not run${mayHaveRun ? " again" : ""}: the process ended while the handler of ${outer.call.name}, which had made the call, ran.`,
    {
      outcome: mayHaveRun ? "unknown" : "not_started",
      hint: `If ${outer.call.name} is run again, it makes its calls again.`,
    },
  );
}
