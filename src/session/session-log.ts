/** The events of one session, in memory: what a branch shares with its parent is never copied. */
import type { SessionEvent } from "../core/event.ts";
import type { HistoryEntry } from "../core/history.ts";
import type { ToolResult } from "../core/result.ts";

/** The part of a log that a branch was taken from. */
interface LogBase {
  readonly log: SessionLog;
  readonly length: number;
}

/**
 * An append-only list of events. Positions count from 0.
 *
 * Taking a branch costs the same however long the log is. A log that a store keeps forgets its oldest events once there are
 * twice as many as `keep`.
 */
export class SessionLog {
  readonly #base: LogBase | undefined;
  readonly #keep: number;
  #own: SessionEvent[] = [];
  /** How many of its own events are no longer here. */
  #forgotten = 0;
  readonly #systemMessages: { readonly position: number; readonly event: SessionEvent }[] = [];
  /** The calls of batches that were rolled back and of voided messages, with the position of the event about it. */
  #takenBack: Map<string, number> | undefined;

  constructor(options: { readonly base?: LogBase; readonly keep?: number } = {}) {
    this.#base = options.base;
    this.#keep = options.keep ?? Infinity;
  }

  get length(): number {
    return (this.#base?.length ?? 0) + this.#forgotten + this.#own.length;
  }

  /** Position of the first event that is still in memory, all later ones being there as well. */
  get firstKept(): number {
    let { log, length }: LogBase = { log: this, length: Infinity };
    while (log.#forgotten === 0 && log.#base !== undefined) {
      length = Math.min(length, log.#base.length);
      ({ log } = log.#base);
    }
    return log.#forgotten === 0 ? 0 : Math.min(length, (log.#base?.length ?? 0) + log.#forgotten);
  }

  push(event: SessionEvent): void {
    if (event.type === "batch-rollback" || (event.type === "round-end" && event.voided !== undefined)) {
      this.#takenBack ??= new Map();
      for (const callId of event.callIds) this.#takenBack.set(callId, this.length);
    } else if (event.type === "call-start" && event.parentCallId !== undefined && this.wasTakenBack(event.parentCallId))
      (this.#takenBack ??= new Map()).set(event.callId, this.length);
    this.#own.push(event);
    if (this.#own.length < this.#keep * 2) return;
    const start = (this.#base?.length ?? 0) + this.#forgotten;
    for (const [index, old] of this.#own.slice(0, -this.#keep).entries())
      if (old.type === "message-add" && old.message.role === "system") this.#systemMessages.push({ position: start + index, event: old });
    this.#own = this.#own.slice(-this.#keep);
    this.#forgotten += this.#keep;
  }

  /** The events that steer the model and are no longer here, the oldest first. */
  get forgottenSystemMessages(): readonly SessionEvent[] {
    const found: (readonly SessionEvent[])[] = [];
    let reach: LogBase | undefined = { log: this, length: Infinity };
    while (reach !== undefined) {
      const { log, length }: LogBase = reach;
      found.push(log.#systemMessages.filter(({ position }) => position < length).map(({ event }) => event));
      reach = log.#base;
    }
    return found.reverse().flat();
  }

  /** Whether the call was rolled back with its batch, or voided with its message. Costs the same however long the log is. */
  wasTakenBack(callId: string): boolean {
    let reach: LogBase | undefined = { log: this, length: Infinity };
    while (reach !== undefined) {
      const { log, length }: LogBase = reach;
      const position = log.#takenBack?.get(callId);
      if (position !== undefined && position < length) return true;
      reach = log.#base === undefined ? undefined : { log: log.#base.log, length: Math.min(length, log.#base.length) };
    }
    return false;
  }

  /** Begins a log that continues from the first `length` events of this one. */
  branch(length: number, keep?: number): SessionLog {
    let base: LogBase = { log: this, length };
    while (base.log.#base !== undefined && base.length <= base.log.#base.length)
      base = { log: base.log.#base.log, length: Math.min(base.length, base.log.#base.length) };
    return new SessionLog({ base, ...(keep === undefined ? {} : { keep }) });
  }

  /** The events in memory before `length`, the oldest first. */
  events(length: number = this.length): readonly SessionEvent[] {
    if (this.#base === undefined && this.#forgotten === 0 && length >= this.#own.length) return this.#own;
    const parts: (readonly SessionEvent[])[] = [];
    let reach: LogBase | undefined = { log: this, length };
    while (reach !== undefined) {
      const { log, length: end }: LogBase = reach;
      const start: number = (log.#base?.length ?? 0) + log.#forgotten;
      if (end > start) parts.push(log.#own.slice(0, end - start));
      reach = log.#forgotten > 0 || log.#base === undefined ? undefined : { log: log.#base.log, length: Math.min(end, log.#base.length) };
    }
    return parts.reverse().flat();
  }

  /** The events from this position on, and before another; undefined when they go further back than those in memory that are its own. */
  since(position: number, end: number = Infinity): readonly SessionEvent[] | undefined {
    const start = (this.#base?.length ?? 0) + this.#forgotten;
    return position < start ? undefined : this.#own.slice(position - start, Math.max(0, end - start));
  }

  /** The events after the branch was taken. */
  get own(): readonly SessionEvent[] {
    return this.#own;
  }
}

/**
 * The calls among these events in the order they arrived, each with its result, without the batches that were rolled back. The calls of a
 * voided message and those that were made in them are among them: they were made, if for nothing.
 */
export function historyOf(events: readonly SessionEvent[]): readonly HistoryEntry[] {
  const entries = new Map<string, HistoryEntry>();
  const rolledBack = new Set<string>();
  for (const event of events) {
    if (event.type === "call-start") {
      if (event.parentCallId !== undefined && rolledBack.has(event.parentCallId)) rolledBack.add(event.callId);
      else entries.set(event.callId, { callId: event.callId, turnId: event.turnId, call: event.call, result: undefined });
    } else if (event.type === "batch-rollback")
      for (const callId of event.callIds) {
        entries.delete(callId);
        rolledBack.add(callId);
      }
    else if (event.type === "call-end") end(entries, event.callId, event.result, event.input);
    else if (event.type === "outcome-resolve") resolve(entries, event.callId, event.outcome);
  }
  return [...entries.values()];
}

type Entries = Map<string, HistoryEntry>;

function end(entries: Entries, callId: string, result: ToolResult, input: HistoryEntry["input"]): void {
  const entry = entries.get(callId);
  if (entry !== undefined) entries.set(callId, { ...entry, ...(input === undefined ? {} : { input }), result });
}

function resolve(entries: Entries, callId: string, resolved: "applied"): void {
  const entry = entries.get(callId);
  if (entry !== undefined) entries.set(callId, { ...entry, resolved });
}
