/** The calls that a crash interrupted, found in a session's log and followed until each has its result. */
import type { RuntimeEvent, SessionEvent } from "../../core/event.ts";
import type { ToolResult } from "../../core/result.ts";
import { plural } from "../../core/base/wording.ts";

export type CallStart = Extract<SessionEvent, { readonly type: "call-start" }>;

/** The outcome of an interrupted call. */
export type InterruptedOutcome = "run again" | "answered" | "ended" | "unknown";

export class InterruptedCalls {
  readonly #open = new Map<string, CallStart>();
  readonly #attempted = new Set<string>();
  readonly #results = new Map<string, ToolResult>();
  #events = 0;

  /** Call with every stored event, in order. */
  addStoredEvent(event: SessionEvent): void {
    this.#events++;
    if (event.type === "call-start") this.#open.set(event.callId, event);
    else if (event.type === "call-end") this.#open.delete(event.callId);
  }

  /** Call with every event of the runtime that resumes the session. */
  handleEvent(event: RuntimeEvent): void {
    if (!("callId" in event) || !this.#open.has(event.callId)) return;
    if (event.type === "call-attempt") this.#attempted.add(event.callId);
    else if (event.type === "call-end") this.#results.set(event.callId, event.result);
  }

  /** Number of events in the log. */
  get events(): number {
    return this.#events;
  }

  /** The interrupted calls, in the order in which they began. */
  get calls(): readonly CallStart[] {
    return [...this.#open.values()];
  }

  has(callId: string): boolean {
    return this.#open.has(callId);
  }

  outcomeOf(callId: string): InterruptedOutcome {
    const error = this.#results.get(callId)?.error;
    if (this.#attempted.has(callId)) return "run again";
    if (error === undefined) return "answered";
    return error.code === "outcome_unknown" ? "unknown" : "ended";
  }

  /** Returns `2 calls were interrupted: 1 was run again, for 1 it is not known whether it took effect`. */
  formatConclusion(): string {
    const outcomes = this.calls.map((call) => this.outcomeOf(call.callId));
    const [only] = outcomes;
    if (only !== undefined && outcomes.length === 1) return `1 call was interrupted, and ${OUTCOME_TEXTS[only].one}`;
    const parts = OUTCOME_ORDER.flatMap((outcome) => {
      const count = outcomes.filter((known) => known === outcome).length;
      return count === 0 ? [] : [OUTCOME_TEXTS[outcome].some(count)];
    });
    return `${plural(outcomes.length, "call")} were interrupted: ${parts.join(", ")}`;
  }
}

const OUTCOME_ORDER = ["run again", "answered", "ended", "unknown"] as const satisfies readonly InterruptedOutcome[];

const OUTCOME_TEXTS: Readonly<Record<InterruptedOutcome, { readonly one: string; readonly some: (count: number) => string }>> = {
  "run again": { one: "was run again", some: (count) => `${formatCount(count)} run again` },
  answered: {
    one: "had already taken effect",
    some: (count) => `${count} had already taken effect`,
  },
  ended: { one: "was not run again", some: (count) => `${formatCount(count)} not run again` },
  unknown: {
    one: "it is not known whether it took effect",
    some: (count) => `for ${count} it is not known whether ${count === 1 ? "it" : "they"} took effect`,
  },
};

function formatCount(count: number): string {
  return `${count} ${count === 1 ? "was" : "were"}`;
}
