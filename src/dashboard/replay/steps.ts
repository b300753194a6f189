/** The calls of a session that can be made again, and the points between them at which a branch can begin. */
import type { ComparedCall } from "../diff/align-calls.ts";
import type { LogEvent, LogEventOf } from "../server/log-event.ts";

/** A call that was not made by another call. */
export interface Step extends ComparedCall {
  /** The number of its group; calls of one group ran at the same time. */
  readonly group: number;
  /** Number of events of the session before the group. */
  readonly at: number;
}

export interface PositionedEvent {
  readonly position: number;
  readonly event: LogEvent;
}

type MutableStep = { -readonly [Key in keyof Step]: Step[Key] };

/** Folds the events of a session, in order. Leaves out calls of voided messages and of rolled-back batches. */
export function collectSteps(events: Iterable<PositionedEvent>): readonly Step[] {
  const fold = new StepFold();
  for (const { position, event } of events) fold.add(position, event);
  return fold.steps();
}

class StepFold {
  readonly #steps = new Map<string, MutableStep>();
  /** Calls of the current group that have not ended. `#isInRound`: whether the message that makes them has not ended. */
  readonly #open = new Set<string>();
  #isInRound = false;
  #group = 0;
  #groupStart = 0;
  /** Number of events before a batch whose calls come next. */
  #batchStart: number | undefined;

  add(position: number, event: LogEvent): void {
    switch (event.type) {
      case "batch-start":
        this.#batchStart = position - 1;
        break;
      case "call-start":
        this.#start(position, event);
        break;
      case "call-intent":
        this.#update(event.callId, { input: event.input });
        break;
      case "call-end":
        this.#end(event);
        break;
      case "job-start":
        this.#open.delete(event.callId);
        break;
      case "round-end":
        this.#isInRound = false;
        if (event.voided !== undefined) this.#remove(event.callIds);
        break;
      case "batch-rollback":
        this.#remove(event.callIds);
        break;
      default:
    }
  }

  steps(): readonly Step[] {
    return [...this.#steps.values()];
  }

  #start(position: number, { callId, sessionId, call, parentCallId, inRound }: LogEventOf<"call-start">): void {
    const batchAt = this.#batchStart;
    this.#batchStart = undefined;
    if (parentCallId !== undefined) return;
    if (this.#open.size === 0 && !this.#isInRound) {
      this.#group++;
      this.#groupStart = batchAt ?? position - 1;
    }
    if (inRound === true) this.#isInRound = true;
    this.#open.add(callId);
    const step = {
      callId,
      sessionId,
      name: call.name,
      input: call.input ?? {},
      result: undefined,
      group: this.#group,
      at: this.#groupStart,
    };
    this.#steps.set(callId, step);
  }

  #end({ callId, result, input }: LogEventOf<"call-end">): void {
    this.#open.delete(callId);
    this.#update(callId, { name: result.name, result, ...(input === undefined ? {} : { input }) });
  }

  #update(callId: string, change: Partial<MutableStep>): void {
    const step = this.#steps.get(callId);
    if (step !== undefined) Object.assign(step, change);
  }

  #remove(callIds: readonly string[]): void {
    for (const callId of callIds) this.#steps.delete(callId);
  }
}
