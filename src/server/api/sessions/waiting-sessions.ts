/** Sessions with calls that another process can end: a server that stops leaves them as a crash does. */
import type { CallUnderWay } from "../../../call/context/calls-under-way.ts";
import { describeThrown } from "../../../core/error.ts";
import type { Log } from "../../../core/ports.ts";
import type { Runtime } from "../../../runtime/runtime.ts";

/** The calls under way of a session. */
export interface Waiting {
  /** The calls that another process can end. */
  readonly waiting: readonly CallUnderWay[];
  /** All its calls are such calls. */
  readonly isWaiting: boolean;
  /** All its calls wait for a person. */
  readonly asks: boolean;
}

/** By their ids, the sessions with calls under way. */
export function waitingSessions({ underWay }: Pick<Runtime, "underWay">): ReadonlyMap<string, Waiting> {
  const bySession = Map.groupBy(underWay, ({ sessionId }) => sessionId);
  return new Map(
    Array.from(bySession, ([id, calls]) => {
      const waiting = calls.filter(({ waitsFor }) => waitsFor !== undefined);
      const asks = calls.every(({ waitsFor }) => waitsFor === "answer");
      return [id, { waiting, isWaiting: waiting.length === calls.length, asks }];
    }),
  );
}

/** Begins to leave a session in which a call waits for a person. Other calls of it are cancelled first, but not jobs that other processes continue. Undefined where none waits. */
export async function leaveWaiting(runtime: Runtime, id: string, reason: string): Promise<{ readonly left: Promise<unknown> } | undefined> {
  const leavesJobs = runtime.store?.queue !== undefined;
  for (;;) {
    const calls = runtime.underWay.filter(({ sessionId }) => sessionId === id);
    if (!calls.some(({ waitsFor }) => waitsFor === "answer")) return undefined;
    const inJobs = new Set(runtime.running.flatMap(({ callId, jobId }) => (leavesJobs && jobId !== undefined ? callId : [])));
    const works = calls.filter(({ callId, waitsFor }) => waitsFor === undefined && !inJobs.has(callId));
    if (works.length === 0) return { left: runtime.sessions.handOver(id) };
    const ended = nextEnd(runtime);
    for (const { callId } of works) runtime.cancel(callId, reason);
    await ended;
  }
}

/** Leaves a session that is being resumed to the next process that does so: its calls wait for a person, or its time is over. Not waited for. */
export function leaveResume(id: string, { runtime, log }: { readonly runtime: Pick<Runtime, "sessions">; readonly log: Log }): void {
  runtime.sessions.handOver(id).catch((thrown: unknown) => log.warn(`A session was not left well: ${describeThrown(thrown)}`));
}

function nextEnd(runtime: Runtime): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = runtime.subscribe(({ type }) => {
    if (type === "call-end") resolve();
  });
  return promise.finally(stop);
}

/** Does the work in the next turn of the event loop, once for all that ask for it until then. */
export function onceSoon(work: () => void): () => void {
  let isPlanned = false;
  return () => {
    if (isPlanned) return;
    isPlanned = true;
    setImmediate(() => {
      isPlanned = false;
      work();
    });
  };
}
