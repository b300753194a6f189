/** A handler that was given up while it still ran: held to its locks for a while, counted, its end never shown to the model. */
import type { AdmittedCall } from "./call-run.ts";

export interface Orphan {
  /** Called once when the handler ends after all. A deaf one never asked for its signal: if it returned, it did all it does. */
  settled(outcome: "returned" | "threw", isDeaf: boolean): void;
}

/**
 * Lets go of a handler that did not answer in time.
 *
 * The runtime's own slot is free at once. What the handler writes stays locked, and the slots of its tool and
 * toolset stay taken, until it ends or `orphanHoldMs` passes. A handler that obeys its signal and ends before the
 * event loop comes round is no orphan; any other is counted and reported, and so is its late end.
 */
export function abandon(run: AdmittedCall): Orphan {
  const { parts, ticket } = run;
  const slots = run.slots ?? [];
  for (const limit of slots) if (limit === parts.limit) limit.release();
  const held = slots.filter((limit) => limit !== parts.limit);
  const keepsLock = run.effects.lock.writes.length > 0;
  if (!keepsLock) ticket?.release();
  run.ticket = undefined;
  run.slots = undefined;
  if (!(keepsLock && ticket !== undefined) && held.length === 0) return new AbandonedHandler(run, undefined);
  return new AbandonedHandler(run, () => {
    ticket?.release();
    for (const limit of held) limit.release();
  });
}

class AbandonedHandler implements Orphan {
  readonly #run: AdmittedCall;
  readonly #abandonedAt: number;
  /** Undefined where nothing is held any more. */
  #giveBack: (() => void) | undefined;
  readonly #cancelCount: () => void;
  readonly #cancelHold: (() => void) | undefined;
  #counted = false;

  constructor(run: AdmittedCall, giveBack: (() => void) | undefined) {
    const { clock, parts } = run;
    this.#run = run;
    this.#giveBack = giveBack;
    this.#abandonedAt = clock.now();
    this.#cancelCount = clock.timer(() => this.#count(), 0, { background: true });
    if (giveBack === undefined) return;
    this.#cancelHold = clock.timer(() => this.#letGo(), parts.orphanHoldMs, { background: true });
  }

  settled(outcome: "returned" | "threw", isDeaf: boolean): void {
    this.#cancelCount();
    this.#letGo();
    if (outcome === "returned" && isDeaf) recordEffect(this.#run);
    if (!this.#counted) return;
    const { parts, toolName, clock } = this.#run;
    parts.counters.orphans--;
    countOrphan(this.#run, -1);
    const lateMs = clock.now() - this.#abandonedAt;
    parts.ports.log.debug(`${toolName} ended ${Math.round(lateMs)} ms after it was given up; what it ${outcome} is not used.`, {
      callId: this.#run.callId,
    });
    if (parts.listening) this.#run.emit({ ...this.#run.eventBase, type: "call-late", toolName, outcome, lateMs });
  }

  #count(): void {
    const { parts, toolName } = this.#run;
    this.#counted = true;
    parts.counters.orphans++;
    parts.counters.abandoned++;
    countOrphan(this.#run, 1);
    if (parts.listening) this.#run.emit({ ...this.#run.eventBase, type: "call-orphan", toolName, orphans: parts.counters.orphans });
  }

  #letGo(): void {
    const giveBack = this.#giveBack;
    if (giveBack === undefined) return;
    this.#giveBack = undefined;
    this.#cancelHold?.();
    giveBack();
  }
}

/** The call's result said that nobody knows what it did; now its session knows. */
function recordEffect(run: AdmittedCall): void {
  if (run.effects.repeatable || run.route.rules.isPretended || !run.kept || run.turn.session.closed) return;
  run.record({ ...run.eventBase, type: "outcome-resolve", toolName: run.toolName, outcome: "applied" });
}

function countOrphan(run: AdmittedCall, change: 1 | -1): void {
  const count = (run.parts.orphans.get(run.callId)?.count ?? 0) + change;
  if (count === 0) run.parts.orphans.delete(run.callId);
  else run.parts.orphans.set(run.callId, { toolName: run.toolName, count });
}
