/** The events of one session, in memory. A branch shares the events of its parent without copying them. */
import type { SessionEvent } from "../core/event.ts";
import type { HistoryEntry } from "../core/history.ts";
import type { ToolResult } from "../core/result.ts";

/** The part of a log that a branch starts from. It reaches further than the part that the log itself starts from. */
interface LogBase {
  readonly log: SessionLog;
  readonly length: number;
}

/**
 * An append-only list of events. Positions start at 0.
 *
 * Branching takes constant time. The log of a session in a store drops its oldest events from memory once it has twice as many as `keep`.
 */
export class SessionLog {
  readonly #base: LogBase | undefined;
  readonly #keep: number;
  #own: SessionEvent[] = [];
  /** How many of its own events are no longer in memory. */
  #dropped = 0;
  readonly #systemMessages: { readonly position: number; readonly event: SessionEvent }[] = [];
  /** The calls of rolled-back batches and voided messages, with the position of the event that took them back. */
  #revoked: Map<string, number> | undefined;

  constructor(options: { readonly base?: LogBase; readonly keep?: number } = {}) {
    this.#base = options.base;
    this.#keep = options.keep ?? Infinity;
  }

  get length(): number {
    return (this.#base?.length ?? 0) + this.#dropped + this.#own.length;
  }

  /** The position of the first event in memory; all later ones are in memory too. */
  get firstKept(): number {
    let reach: LogBase = { log: this, length: Infinity };
    while (reach.log.#dropped === 0 && reach.log.#base !== undefined) reach = reach.log.#base;
    const { log, length } = reach;
    return log.#dropped === 0 ? 0 : Math.min(length, (log.#base?.length ?? 0) + log.#dropped);
  }

  push(event: SessionEvent): void {
    if (event.type === "batch-rollback" || (event.type === "round-end" && event.voided !== undefined)) {
      this.#revoked ??= new Map();
      for (const callId of event.callIds) this.#revoked.set(callId, this.length);
    } else if (event.type === "call-start" && event.parentCallId !== undefined && this.wasRevoked(event.parentCallId))
      (this.#revoked ??= new Map()).set(event.callId, this.length);
    this.#own.push(event);
    if (this.#own.length < this.#keep * 2) return;
    const start = (this.#base?.length ?? 0) + this.#dropped;
    for (const [index, old] of this.#own.slice(0, -this.#keep).entries())
      if (old.type === "message-add" && old.message.role === "system") this.#systemMessages.push({ position: start + index, event: old });
    this.#own = this.#own.slice(-this.#keep);
    this.#dropped += this.#keep;
  }

  /** The system messages that are no longer in `events`, oldest first. */
  get droppedSystemMessages(): readonly SessionEvent[] {
    const found: (readonly SessionEvent[])[] = [];
    let reach: LogBase | undefined = { log: this, length: Infinity };
    while (reach !== undefined) {
      const { log, length }: LogBase = reach;
      found.push(log.#systemMessages.filter(({ position }) => position < length).map(({ event }) => event));
      reach = log.#base;
    }
    return found.reverse().flat();
  }

  /** Whether the call was rolled back with its batch, or voided with its message. Takes time independent of the log's length. */
  wasRevoked(callId: string): boolean {
    let reach: LogBase | undefined = { log: this, length: Infinity };
    while (reach !== undefined) {
      const { log, length }: LogBase = reach;
      const position = log.#revoked?.get(callId);
      if (position !== undefined && position < length) return true;
      reach = log.#base;
    }
    return false;
  }

  /** Returns a log that continues from the first `length` events of this one. */
  branch(length: number, keep?: number): SessionLog {
    let base: LogBase = { log: this, length };
    while (base.log.#base !== undefined && base.length <= base.log.#base.length) base = { log: base.log.#base.log, length: base.length };
    return new SessionLog({ base, ...(keep === undefined ? {} : { keep }) });
  }

  /** Returns the events in memory before position `length`, oldest first. */
  events(length: number = this.length): readonly SessionEvent[] {
    if (this.#base === undefined && this.#dropped === 0 && length >= this.#own.length) return this.#own;
    const parts: (readonly SessionEvent[])[] = [];
    let reach: LogBase | undefined = { log: this, length };
    while (reach !== undefined) {
      const { log, length: end }: LogBase = reach;
      const start: number = (log.#base?.length ?? 0) + log.#dropped;
      if (end > start) parts.push(log.#own.slice(0, end - start));
      reach = log.#dropped > 0 || log.#base === undefined ? undefined : { log: log.#base.log, length: Math.min(end, log.#base.length) };
    }
    return parts.reverse().flat();
  }

  /** Returns the events from a position on, and before `end`; undefined if they go back further than this log's own events in memory. */
  since(position: number, end: number = Infinity): readonly SessionEvent[] | undefined {
    const start = (this.#base?.length ?? 0) + this.#dropped;
    return position < start ? undefined : this.#own.slice(position - start, Math.max(0, end - start));
  }

  /** The events in memory that were recorded after the branch was created. */
  get own(): readonly SessionEvent[] {
    return this.#own;
  }
}

/**
 * Returns the calls among these events in the order they arrived, each with its result, except those of batches that were rolled back. Calls of a
 * voided message, and calls made inside them, are included: they did run.
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
    else if (event.type === "call-end") setResult(entries, event.callId, event.result, event.input);
    else if (event.type === "outcome-resolve") setOutcome(entries, event.callId, event.outcome);
  }
  return [...entries.values()];
}

type Entries = Map<string, HistoryEntry>;

function setResult(entries: Entries, callId: string, result: ToolResult, input: HistoryEntry["input"]): void {
  const entry = entries.get(callId);
  if (entry !== undefined) entries.set(callId, { ...entry, ...(input === undefined ? {} : { input }), result });
}

function setOutcome(entries: Entries, callId: string, resolved: "applied"): void {
  const entry = entries.get(callId);
  if (entry !== undefined) entries.set(callId, { ...entry, resolved });
}
