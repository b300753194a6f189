/** Notices that another process has taken the session of a call that waits for a person. */
import { CallRun } from "../call-run.ts";
import { callOutside } from "./composite.ts";

/** How often the store is asked. */
const LOOK_MS = 1_000;

/**
 * Cancels a call once its session, or that of a call around it, was taken over or removed by another process: nothing of it can be recorded,
 * and that process asks its questions. The store is asked every second. Returns a function that ends the watch.
 */
export function watchClaim(run: CallRun): () => void {
  if (callsAround(run).every(({ turn }) => turn.session.eventLog === undefined)) return () => {};
  const { clock } = run;
  let isOver = false;
  let stop: (() => void) | undefined;
  const begin = (): void => void (stop = clock.timer(() => void look(), LOOK_MS, { background: true }));
  const look = async (): Promise<void> => {
    const calls = callsAround(run);
    // A store that cannot be reached takes nothing away: it is asked again.
    await Promise.allSettled(Array.from(new Set(calls.map(({ turn }) => turn.session.eventLog)), async (log) => log?.confirm?.()));
    if (isOver) return;
    const outermost = calls.findLastIndex(({ turn }) => turn.session.eventLog?.failure?.code === "conflict");
    if (outermost < 0) return begin();
    const reason = calls[outermost]?.turn.session.eventLog?.failure?.message ?? "";
    for (const call of calls.slice(0, outermost + 1).reverse()) call.cancel(reason);
  };
  begin();
  return () => {
    isOver = true;
    stop?.();
  };
}

/** The call, and those around it, the outermost last. */
export function callsAround(run: CallRun): readonly CallRun[] {
  const calls: CallRun[] = [];
  for (let around: unknown = run; around instanceof CallRun; around = callOutside(around)) calls.push(around);
  return calls;
}
