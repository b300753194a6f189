/**
 * Handlers that were abandoned while they ran: they keep locks and slots for a while, are counted, and their late end is never shown to the model.
 */
import { roundMs } from "../../core/system/system-ports.ts";
import type { LateListener } from "../../policy/attempts/deadline.ts";
import { announceUnfinishedWrite } from "../cache/announce-write.ts";
import type { AdmittedCall, CallServices } from "../call-run.ts";
import { releaseResource } from "./held-resources.ts";
import { limitOf, type HeldSlot } from "./lent-resources.ts";

/** The part of an abandoned handler's context that is used here. */
interface HandlerContext {
  /** The handler read its signal, so it may have stopped halfway. */
  readonly hasReadSignal: boolean;
}

/**
 * Abandons a handler that did not answer in time.
 *
 * The runtime's own slot is free at once. The handler's write locks, and the slots of its tool and toolset, are kept until it ends or `orphanHoldMs`
 * passes. A handler that obeys its signal and ends before the next turn of the event loop is no orphan; any other is counted and reported, and so is
 * its late end. A handler may never end: until it does, the whole call is kept in memory if it writes, else only its name.
 */
export function abandonHandler(
  run: AdmittedCall,
  context: HandlerContext,
  whenEnded: ((lateMs: number) => void) | undefined,
): LateListener {
  const { services, toolName, ticket, slots = [] } = run;
  const keepsLock = run.effects.lock.writes.length > 0;
  const isKept = (held: HeldSlot): boolean => (held === ticket ? keepsLock : limitOf(held) !== services.limit);
  const all: readonly HeldSlot[] = ticket === undefined ? slots : [ticket, ...slots];
  for (const held of all) if (!isKept(held)) releaseResource(run, held);
  const kept = all.filter(isKept);
  run.ticket = undefined;
  run.slots = undefined;
  const write = run.effects.writes.length > 0 ? { run, context, announceEnd: announceUnfinishedWrite(run) } : undefined;
  const orphan = new AbandonedHandler(run, write, whenEnded);
  const name = { services, toolName };
  if (kept.length > 0)
    orphan.holdUntilEnd(() => {
      for (const held of kept) releaseResource(name, held);
    }, services.orphanHoldMs);
  return orphan;
}

interface AbandonedWrite {
  readonly run: AdmittedCall;
  readonly context: HandlerContext;
  announceEnd(): void;
}

class AbandonedHandler implements LateListener {
  readonly #services: CallServices;
  readonly #base: { readonly callId: string; readonly sessionId: string; readonly turnId: string };
  readonly #toolName: string;
  readonly #abandonedAt: number;
  readonly #write: AbandonedWrite | undefined;
  readonly #whenEnded: ((lateMs: number) => void) | undefined;
  /** Undefined once everything is released. */
  #release: (() => void) | undefined;
  #cancelHold: (() => void) | undefined;
  /** Undefined once the orphan is counted. */
  #cancelCount: (() => void) | undefined;

  constructor(
    { services, callId, turn, toolName }: AdmittedCall,
    write: AbandonedWrite | undefined,
    whenEnded: ((lateMs: number) => void) | undefined,
  ) {
    const { clock } = services.ports;
    this.#services = services;
    this.#base = { callId, sessionId: turn.session.id, turnId: turn.id };
    this.#toolName = toolName;
    this.#abandonedAt = clock.now();
    this.#write = write;
    this.#whenEnded = whenEnded;
    this.#cancelCount = clock.timer(() => this.#count(), 0, { background: true });
  }

  holdUntilEnd(release: () => void, holdMs: number): void {
    this.#release = release;
    this.#cancelHold = this.#services.ports.clock.timer(() => this.#releaseHeld(), holdMs, { background: true });
  }

  onSettled(outcome: "returned" | "threw"): void {
    const isCounted = this.#cancelCount === undefined;
    this.#cancelCount?.();
    this.#whenEnded?.(this.#services.ports.clock.now() - this.#abandonedAt);
    this.#write?.announceEnd();
    this.#releaseHeld();
    if (outcome === "returned" && this.#write !== undefined) recordAppliedEffect(this.#write);
    if (isCounted) this.#uncount(outcome);
  }

  #count(): void {
    const services = this.#services;
    const { callId } = this.#base;
    this.#cancelCount = undefined;
    services.counters.orphans++;
    services.counters.abandoned++;
    if (this.#release !== undefined) countHolder(services, callId, { toolName: this.#toolName, change: 1 });
    if (services.listening) {
      const at = services.ports.clock.wallTime();
      services.emit({ ...this.#base, at, type: "call-orphan", toolName: this.#toolName, orphans: services.counters.orphans });
    }
  }

  #uncount(outcome: "returned" | "threw"): void {
    const services = this.#services;
    const { clock, log } = services.ports;
    const toolName = this.#toolName;
    services.counters.orphans--;
    const lateMs = roundMs(clock.now() - this.#abandonedAt);
    log.debug(`${toolName} ended ${Math.round(lateMs)} ms after it was abandoned; what it ${outcome} is not used.`, {
      callId: this.#base.callId,
    });
    if (services.listening) services.emit({ ...this.#base, at: clock.wallTime(), type: "call-late", toolName, outcome, lateMs });
  }

  #releaseHeld(): void {
    const release = this.#release;
    if (release === undefined) return;
    this.#release = undefined;
    this.#cancelHold?.();
    this.#cancelHold = undefined;
    if (this.#cancelCount === undefined) countHolder(this.#services, this.#base.callId, { toolName: this.#toolName, change: -1 });
    release();
  }
}

/**
 * Records that an abandoned write was applied, as the call's result said only that its outcome is unknown. Only a handler that ignored its signal is
 * known to have done everything: one that read it may have stopped halfway.
 */
function recordAppliedEffect({ run, context }: AbandonedWrite): void {
  if (context.hasReadSignal || run.effects.repeatable || run.route.rules.isPretended || !run.isLogged || run.turn.session.closed) return;
  run.record({ ...run.eventBase, type: "outcome-resolve", toolName: run.toolName, outcome: "applied" });
}

/** Counts an orphan that holds locks, so that calls waiting for them can name it. */
function countHolder(
  { orphans }: CallServices,
  callId: string,
  { toolName, change }: { readonly toolName: string; readonly change: 1 | -1 },
): void {
  const count = (orphans.get(callId)?.count ?? 0) + change;
  if (count === 0) orphans.delete(callId);
  else orphans.set(callId, { toolName, count });
}
