/** Stops a server in an order that loses no accepted work. */
import type { ToolCall } from "../../core/call.ts";
import { declaresNoWrites } from "../../core/resources/effects.ts";
import { findCalledTool } from "../../registry/called-tool.ts";
import { handOverResume } from "./sessions/calls-in-progress.ts";
import { settlesWithin } from "./settles-within.ts";
import type { ApiServices } from "./services.ts";

/**
 * Drains a server that already refuses new calls. Streams end with `draining`. Running calls and forwarded requests may end for `graceMs`; then calls
 * that declare no writes are cancelled. The others get `graceMs` again, then they are cancelled and their outcome is recorded as unknown. A session
 * in which nothing runs is closed or handed over at once, also if calls wait for a person; the others at the end. Jobs may end for `graceMs`; sessions
 * whose jobs still run are handed over if the store outlives the process. Calls of stored sessions that have not begun by then are not cancelled: they
 * continue where the session is opened next. An abort of the signal ends the waits; its caller cancels the calls.
 */
export async function drain(services: ApiServices, signal?: AbortSignal): Promise<void> {
  const { events, submissions, forwardedWork, sessions, settings, clock } = services;
  events.close();
  sessions.drain();
  const { graceMs } = settings;
  if (!(await settlesWithin(Promise.all([submissions.whenIdle(), forwardedWork.whenIdle()]), graceMs, clock, signal))) {
    sessions.releaseUnstarted();
    const { registry } = services.runtime;
    cancelCalls(services, ({ name, input }) => declaresNoWrites(findCalledTool(registry, name, input)?.tool.effects));
    if (!(await settlesWithin(submissions.whenIdle(), graceMs, clock, signal))) {
      cancelCalls(services);
      await settlesWithin(submissions.whenIdle(), graceMs, clock);
    }
  }
  const jobsOfAgents = settlesWithin(whenJobsOfAgentsEnd(services), graceMs, clock, signal);
  await settlesWithin(Promise.all([sessions.closeAll(signal), jobsOfAgents]), graceMs + FINAL_WRITE_MS, clock);
}

/** Waits for the running jobs of agents, whose sessions the pool does not have; not for those that wait for a person. */
async function whenJobsOfAgentsEnd({ agents, runtime }: Pick<ApiServices, "agents" | "runtime">): Promise<void> {
  const sessions = new Set(Array.from(agents.values(), ({ session }) => session.id));
  const work = runtime.underWay.filter(({ sessionId, waitsFor }) => sessions.has(sessionId) && waitsFor === undefined);
  const jobs = new Set(runtime.running.flatMap(({ jobId }) => jobId ?? []));
  await Promise.allSettled(work.flatMap(({ callId }) => (jobs.has(callId) ? runtime.jobs.wait(callId) : [])));
}

/** Additional time in which sessions write their last events, after `graceMs` for their jobs, in milliseconds. */
const FINAL_WRITE_MS = 5_000;

/**
 * Cancels running calls. Not cancelled, since it would end them for good: jobs that another process can continue, with the calls they make; calls of
 * sessions that are being resumed; and calls of stored sessions that wait for a person, locks or slots.
 */
export function cancelCalls(
  { runtime, store, log }: Pick<ApiServices, "runtime" | "store" | "log">,
  shouldCancel = (_call: Pick<ToolCall, "name" | "input">): boolean => true,
): void {
  for (const id of runtime.sessions.resuming) handOverResume(id, { runtime, log });
  const canHandOverJobs = store?.outlivesProcess === true;
  const waiting = new Set(runtime.underWay.flatMap(({ callId, waitsFor }) => (waitsFor === undefined ? [] : callId)));
  for (const { callId, name, input, jobId } of runtime.running)
    if (shouldCancel({ name, input }) && !(canHandOverJobs && jobId !== undefined) && !waiting.has(callId))
      runtime.cancel(callId, "the server is stopping");
}
