/** The background jobs that a crash left behind, and the calls made in them: which are not run again, and which are run before their job. */
import { ToolError } from "../core/error.ts";
import { outcomeUnknown } from "../call/admit/reconcile-call.ts";
import type { OpenCall } from "./open-call.ts";
import { addTo } from "../core/base/add-to.ts";

/** A job that was running so many times when its process ended, and not waiting for an answer, is not run again: it may well be what ends them. */
const MAX_STARTS = 3;

interface JobFates {
  /** The reasons of jobs that were cancelled meanwhile, by the id of their calls. */
  readonly cancelled: ReadonlyMap<string, string>;
  /** Whether calls are run again at all. */
  readonly runsAgain: boolean;
}

/** Why jobs are not run again, nor the calls that were made in them, by the id of the call. */
export function endsOfJobs(open: readonly OpenCall[], { cancelled, runsAgain }: JobFates): ReadonlyMap<string, ToolError> {
  const ends = new Map<string, ToolError>();
  const reasons = new Map<string, string>();
  for (const call of open) {
    const { callId, parentCallId, job } = call;
    const reason = (job === undefined ? undefined : cancelled.get(callId)) ?? reasons.get(parentCallId ?? "");
    if (reason !== undefined) {
      reasons.set(callId, reason);
      ends.set(callId, cancelledJob(call, reason));
    } else if (ends.has(parentCallId ?? "")) ends.set(callId, madeInParked(call));
    else if (runsAgain && job !== undefined && job.starts - job.harmlessStarts >= MAX_STARTS)
      ends.set(callId, parkedJob(call, job.starts - job.harmlessStarts));
  }
  return ends;
}

/** By the id of a job, the calls that were made in it and are run before it is; those that are not run again are taken up with all others. */
export function callsInJobs(open: readonly OpenCall[], ends: ReadonlyMap<string, ToolError>): ReadonlyMap<string, readonly OpenCall[]> {
  const jobs = jobsAround(open);
  const calls = new Map<string, OpenCall[]>();
  for (const call of open) {
    const around = jobs.get(call.callId);
    if (around === undefined || call.job !== undefined || call.wasNeverWhole || around.wasNeverWhole || ends.has(call.callId)) continue;
    addTo(calls, around.callId, call);
  }
  return calls;
}

/** By the id of a call, the nearest job that it was made in. */
function jobsAround(open: readonly OpenCall[]): ReadonlyMap<string, OpenCall> {
  const jobs = new Map<string, OpenCall>();
  const byId = new Map(open.map((call) => [call.callId, call]));
  for (const { callId, parentCallId } of open) {
    const parent = byId.get(parentCallId ?? "");
    const around = parent?.job === undefined ? jobs.get(parentCallId ?? "") : parent;
    if (around !== undefined) jobs.set(callId, around);
  }
  return jobs;
}

function parkedJob({ call, job }: OpenCall, starts: number): ToolError {
  return new ToolError("job_parked", `${job?.toolName ?? call.name} was not run again: its process ended ${starts} times while it ran.`, {
    hint: "It may be what ends the process. Call it again only with another input, or when the cause is known to be gone.",
    operatorHint: "Find out why the process ended; then call it again.",
  });
}

function madeInParked({ call, intent }: OpenCall): ToolError {
  if (intent !== undefined) return outcomeUnknown(call.name);
  return new ToolError("cancelled", `${call.name} was not run again: the background job that it was made in is parked.`, {
    outcome: "unknown",
  });
}

/** The end of a job that was cancelled while no process ran it, and of the calls made in it. */
export function cancelledJob({ call, job }: OpenCall, reason: string): ToolError {
  return new ToolError("cancelled", `${job?.toolName ?? call.name} was cancelled: ${reason}`, {
    outcome: job?.starts === 0 ? "not_started" : "unknown",
  });
}
