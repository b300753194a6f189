/** Stops a server in an order in which nothing that was accepted is lost. */
import { declaresNoWrites } from "../../core/effects.ts";
import { untilOver } from "./until-over.ts";
import type { ApiServices } from "./services.ts";

/**
 * The server takes no more calls when this begins. Streams end with `draining`, calls under way and requests that were passed on may end for `graceMs`, then those that change nothing are
 * cancelled; those that write get as long again, and what is left is cancelled, its outcome recorded as unknown. Then the sessions are let go, those with jobs to
 * other processes where the store has a queue. When the signal aborts, all calls are cancelled at once.
 */
export async function drain(
  { events, submissions, passedOn, runtime, sessions, settings, clock }: ApiServices,
  signal?: AbortSignal,
): Promise<void> {
  events.close();
  const { graceMs } = settings;
  if (!(await untilOver(Promise.all([submissions.whenIdle(), passedOn.whenIdle()]), graceMs, clock, signal))) {
    cancelCalls(runtime, (name) => declaresNoWrites(runtime.registry.get(name)?.tool.effects));
    if (!(await untilOver(submissions.whenIdle(), graceMs, clock, signal))) {
      cancelCalls(runtime, () => true);
      await untilOver(submissions.whenIdle(), graceMs, clock);
    }
  }
  await untilOver(sessions.end(), graceMs + LEAST_END_MS, clock);
}

/** The sessions have so long to write their last events, once their jobs have had theirs to end. */
const LEAST_END_MS = 5_000;

function cancelCalls(runtime: ApiServices["runtime"], isMeant: (name: string) => boolean): void {
  for (const { callId, name } of runtime.running) if (isMeant(name)) runtime.cancel(callId, "the server is stopping");
}
