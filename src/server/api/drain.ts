/** Stops a server in an order in which nothing that was accepted is lost. */
import { declaresNoWrites } from "../../core/effects.ts";
import { leaveResume } from "./sessions/waiting-sessions.ts";
import { untilOver } from "./until-over.ts";
import type { ApiServices } from "./services.ts";

/**
 * The server takes no more calls when this begins. Streams end with `draining`, calls under way and requests that were passed on may end for `graceMs`, then those that change nothing are
 * cancelled; those that write get as long again, and what is left is cancelled, its outcome recorded as unknown. A session in which nothing runs is let go at
 * once, also where calls wait for a person; the others then, those with jobs to other processes where the store has a queue. In a session of the store, calls that have not begun by then are not cancelled: they continue where it is opened next. When the signal aborts, it waits for none of them: its caller cancels the calls.
 */
export async function drain(services: ApiServices, signal?: AbortSignal): Promise<void> {
  const { events, submissions, passedOn, sessions, settings, clock } = services;
  events.close();
  sessions.drain();
  const { graceMs } = settings;
  if (!(await untilOver(Promise.all([submissions.whenIdle(), passedOn.whenIdle()]), graceMs, clock, signal))) {
    sessions.leaveUnbegun();
    cancelCalls(services, (name) => declaresNoWrites(services.runtime.registry.get(name)?.tool.effects));
    if (!(await untilOver(submissions.whenIdle(), graceMs, clock, signal))) {
      cancelCalls(services);
      await untilOver(submissions.whenIdle(), graceMs, clock);
    }
  }
  await untilOver(sessions.end(signal), graceMs + LEAST_END_MS, clock);
}

/** The sessions have so long to write their last events, once their jobs have had theirs to end. */
const LEAST_END_MS = 5_000;

/**
 * Background jobs that another process can continue are left, with what they call, and so are the calls of sessions that are being resumed, and those that
 * wait for a person, for locks or slots in a session of the store: to be cancelled would be their end.
 */
export function cancelCalls(
  { runtime, store, log }: Pick<ApiServices, "runtime" | "store" | "log">,
  isMeant = (_name: string): boolean => true,
): void {
  for (const id of runtime.sessions.resuming) leaveResume(id, { runtime, log });
  const leavesJobs = store?.queue !== undefined;
  const waiting = new Set(runtime.underWay.flatMap(({ callId, waitsFor }) => (waitsFor === undefined ? [] : callId)));
  for (const { callId, name, jobId } of runtime.running)
    if (isMeant(name) && !(leavesJobs && jobId !== undefined) && !waiting.has(callId)) runtime.cancel(callId, "the server is stopping");
}
