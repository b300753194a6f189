/** Sessions with calls that another process can finish: a stopping server leaves them as a crash would. */
import type { CallUnderWay } from "../../../call/context/calls-under-way.ts";
import { describeThrown } from "../../../core/error.ts";
import { onNextTurn } from "../../../core/system/lazy-timer.ts";
import type { Log } from "../../../core/ports.ts";
import type { Runtime } from "../../../runtime/runtime.ts";

/** The calls in progress of a session. */
export interface SessionCalls {
  /** Calls that another process can finish. */
  readonly waiting: readonly CallUnderWay[];
  /** Whether all calls are in `waiting`. */
  readonly isWaiting: boolean;
  /** Whether all calls wait for a person. */
  readonly awaitsPerson: boolean;
}

/** Sessions with calls in progress, by id. */
export function groupCallsBySession({ underWay }: Pick<Runtime, "underWay">): ReadonlyMap<string, SessionCalls> {
  const bySession = Map.groupBy(underWay, ({ sessionId }) => sessionId);
  return new Map(
    Array.from(bySession, ([id, calls]) => {
      const waiting = calls.filter(({ waitsFor }) => waitsFor !== undefined);
      const awaitsPerson = calls.every(({ waitsFor }) => waitsFor === "answer");
      return [id, { waiting, isWaiting: waiting.length === calls.length, awaitsPerson }];
    }),
  );
}

/** Begins to hand over a session if a call waits for a person; first cancels its calls outside jobs of other processes. undefined if none waits. */
export async function handOverWaiting(
  runtime: Runtime,
  id: string,
  reason: string,
): Promise<{ readonly handedOver: Promise<unknown> } | undefined> {
  const canHandOverJobs = runtime.store?.outlivesProcess === true;
  for (;;) {
    const calls = runtime.underWay.filter(({ sessionId }) => sessionId === id);
    if (!calls.some(({ waitsFor }) => waitsFor === "answer")) return undefined;
    const inJobs = new Set(runtime.running.flatMap(({ callId, jobId }) => (canHandOverJobs && jobId !== undefined ? callId : [])));
    const works = calls.filter(({ callId, waitsFor }) => waitsFor === undefined && !inJobs.has(callId));
    if (works.length === 0) return { handedOver: runtime.sessions.handOver(id) };
    const ended = nextEnd(runtime);
    for (const { callId } of works) runtime.cancel(callId, reason);
    await ended;
  }
}

/** Hands over a session that is being resumed, because its calls wait for a person or the grace period is over. Does not wait for it. */
export function handOverResume(id: string, { runtime, log }: { readonly runtime: Pick<Runtime, "sessions">; readonly log: Log }): void {
  runtime.sessions.handOver(id).catch((thrown: unknown) => log.warn(`A session could not be released: ${describeThrown(thrown)}`));
}

function nextEnd(runtime: Runtime): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = runtime.subscribe(({ type }) => {
    if (type === "call-end") resolve();
  });
  return promise.finally(stop);
}

/** Returns a function that runs `work` in the next turn of the event loop, once for all calls until then. */
export function onceNextTick(work: () => void): () => void {
  let isPlanned = false;
  return () => {
    if (isPlanned) return;
    isPlanned = true;
    onNextTurn(() => {
      isPlanned = false;
      work();
    });
  };
}
