/** A handler that was abandoned while it still ran: counted, held to its locks for a while, its end never shown to the model. */
import type { CallRun } from "./call-run.ts";

export interface Orphan {
  /** Called once when the handler ends after all. */
  settled(outcome: "returned" | "threw"): void;
}

/**
 * Lets go of a handler that did not answer in time.
 *
 * The runtime's own slot is free at once. What the handler writes stays locked, and the slots of its tool and
 * toolset stay taken, until it ends or `orphanHoldMs` passes.
 */
export function abandon(run: CallRun): Orphan {
  const { parts, ticket, toolName } = run;
  const abandonedAt = run.clock.now();
  const slots = run.slots ?? [];
  for (const limit of slots) if (limit === parts.limit) limit.release();
  const held = slots.filter((limit) => limit !== parts.limit);
  const keepsLock = (run.effects?.lock.writes.length ?? 0) > 0;
  if (!keepsLock) ticket?.release();
  run.ticket = undefined;
  run.slots = undefined;
  parts.counters.orphans++;
  parts.counters.abandoned++;
  countOrphan(run, 1);
  let holding = true;
  const letGo = (): void => {
    if (!holding) return;
    holding = false;
    cancelTimer();
    ticket?.release();
    for (const limit of held) limit.release();
  };
  const cancelTimer = run.clock.timer(letGo, parts.orphanHoldMs, { background: true });
  if (parts.listening) run.emit({ ...run.eventBase, type: "call-orphan", toolName, orphans: parts.counters.orphans });
  return {
    settled(outcome) {
      letGo();
      parts.counters.orphans--;
      countOrphan(run, -1);
      const lateMs = run.clock.now() - abandonedAt;
      parts.ports.log.debug(`${toolName} ended ${Math.round(lateMs)} ms after it was given up; what it ${outcome} is not used.`, { callId: run.callId });
      if (parts.listening) run.emit({ ...run.eventBase, type: "call-late", toolName, outcome, lateMs });
    },
  };
}

function countOrphan(run: CallRun, change: 1 | -1): void {
  const count = (run.parts.orphans.get(run.callId)?.count ?? 0) + change;
  if (count === 0) run.parts.orphans.delete(run.callId);
  else run.parts.orphans.set(run.callId, { toolName: run.toolName, count });
}
