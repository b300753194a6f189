/**
 * Handlers that were abandoned while they ran: they keep locks and slots for a while, are counted, and their late end is never shown to the model.
 */
import { roundMs } from "../../core/system-ports.ts";
import type { LateEnd } from "../../policy/attempts/deadline.ts";
import { writeEnded } from "../cache/announce-write.ts";
import type { AdmittedCall, CallParts } from "../call-run.ts";
import { giveBack } from "./hold.ts";
import { limitOf, type HeldSlot } from "./lent-hold.ts";

/** The part of an abandoned handler's context that is used here. */
interface HandlerContext {
  /** The handler read its signal, so it may have stopped halfway. */
  readonly tookSignal: boolean;
}

/**
 * Abandons a handler that did not answer in time.
 *
 * The runtime's own slot is free at once. The handler's write locks, and the slots of its tool and toolset, are kept until it ends or `orphanHoldMs`
 * passes. A handler that obeys its signal and ends before the next turn of the event loop is no orphan; any other is counted and reported, and so is
 * its late end. A handler may never end: until it does, the whole call is kept in memory if it writes, else only its name.
 */
export function abandon(run: AdmittedCall, context: HandlerContext, whenEnded?: (lateMs: number) => void): LateEnd {
  const { parts, toolName, ticket, slots = [] } = run;
  const keepsLock = run.effects.lock.writes.length > 0;
  const isKept = (held: HeldSlot): boolean => (held === ticket ? keepsLock : limitOf(held) !== parts.limit);
  const all: readonly HeldSlot[] = ticket === undefined ? slots : [ticket, ...slots];
  for (const held of all) if (!isKept(held)) giveBack(run, held);
  const kept = all.filter(isKept);
  run.ticket = undefined;
  run.slots = undefined;
  const write = run.effects.writes.length > 0 ? { run, context } : undefined;
  const orphan = new AbandonedHandler(run, write, whenEnded);
  const name = { parts, toolName };
  if (kept.length > 0)
    orphan.hold(() => {
      for (const held of kept) giveBack(name, held);
    }, parts.orphanHoldMs);
  return orphan;
}

interface AbandonedWrite {
  readonly run: AdmittedCall;
  readonly context: HandlerContext;
}

class AbandonedHandler implements LateEnd {
  readonly #parts: CallParts;
  readonly #base: { readonly callId: string; readonly sessionId: string; readonly turnId: string };
  readonly #toolName: string;
  readonly #abandonedAt: number;
  readonly #write: AbandonedWrite | undefined;
  readonly #whenEnded: ((lateMs: number) => void) | undefined;
  /** Undefined once everything is released. */
  #giveBack: (() => void) | undefined;
  #cancelHold: (() => void) | undefined;
  /** Undefined once the orphan is counted. */
  #cancelCount: (() => void) | undefined;

  constructor(
    { parts, callId, turn, toolName }: AdmittedCall,
    write: AbandonedWrite | undefined,
    whenEnded: ((lateMs: number) => void) | undefined,
  ) {
    const { clock } = parts.ports;
    this.#parts = parts;
    this.#base = { callId, sessionId: turn.session.id, turnId: turn.id };
    this.#toolName = toolName;
    this.#abandonedAt = clock.now();
    this.#write = write;
    this.#whenEnded = whenEnded;
    this.#cancelCount = clock.timer(() => this.#count(), 0, { background: true });
  }

  hold(giveBack: () => void, holdMs: number): void {
    this.#giveBack = giveBack;
    this.#cancelHold = this.#parts.ports.clock.timer(() => this.#letGo(), holdMs, { background: true });
  }

  settled(outcome: "returned" | "threw"): void {
    const isCounted = this.#cancelCount === undefined;
    this.#cancelCount?.();
    this.#whenEnded?.(this.#parts.ports.clock.now() - this.#abandonedAt);
    if (this.#write !== undefined) writeEnded(this.#write.run);
    this.#letGo();
    if (outcome === "returned" && this.#write !== undefined) recordEffect(this.#write);
    if (isCounted) this.#uncount(outcome);
  }

  #count(): void {
    const parts = this.#parts;
    const { callId } = this.#base;
    this.#cancelCount = undefined;
    parts.counters.orphans++;
    parts.counters.abandoned++;
    if (this.#giveBack !== undefined) countHolder(parts, callId, { toolName: this.#toolName, change: 1 });
    if (parts.listening) {
      const at = parts.ports.clock.wallTime();
      parts.emit({ ...this.#base, at, type: "call-orphan", toolName: this.#toolName, orphans: parts.counters.orphans });
    }
  }

  #uncount(outcome: "returned" | "threw"): void {
    const parts = this.#parts;
    const { clock, log } = parts.ports;
    const toolName = this.#toolName;
    parts.counters.orphans--;
    const lateMs = roundMs(clock.now() - this.#abandonedAt);
    log.debug(`${toolName} ended ${Math.round(lateMs)} ms after it was given up; what it ${outcome} is not used.`, {
      callId: this.#base.callId,
    });
    if (parts.listening) parts.emit({ ...this.#base, at: clock.wallTime(), type: "call-late", toolName, outcome, lateMs });
  }

  #letGo(): void {
    const giveBack = this.#giveBack;
    if (giveBack === undefined) return;
    this.#giveBack = undefined;
    this.#cancelHold?.();
    this.#cancelHold = undefined;
    if (this.#cancelCount === undefined) countHolder(this.#parts, this.#base.callId, { toolName: this.#toolName, change: -1 });
    giveBack();
  }
}

/**
 * Records that an abandoned write was applied, as the call's result said only that its outcome is unknown. Only a handler that ignored its signal is
 * known to have done everything: one that read it may have stopped halfway.
 */
function recordEffect({ run, context }: AbandonedWrite): void {
  if (context.tookSignal || run.effects.repeatable || run.route.rules.isPretended || !run.isLogged || run.turn.session.closed) return;
  run.record({ ...run.eventBase, type: "outcome-resolve", toolName: run.toolName, outcome: "applied" });
}

/** Counts an orphan that holds locks, so that calls waiting for them can name it. */
function countHolder(
  { orphans }: CallParts,
  callId: string,
  { toolName, change }: { readonly toolName: string; readonly change: 1 | -1 },
): void {
  const count = (orphans.get(callId)?.count ?? 0) + change;
  if (count === 0) orphans.delete(callId);
  else orphans.set(callId, { toolName, count });
}
