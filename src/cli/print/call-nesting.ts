/** How calls stand inside others: those of composite tools, and those of the sessions that delegates begin. */
import type { RuntimeEvent } from "../../core/event.ts";

/** Deeper ones stand where these do. */
const MAX_SHOWN = 4;

export class CallNesting {
  readonly #depths = new Map<string, number>();
  /** Sessions that a call has begun, with that call. */
  readonly #begunBy = new Map<string, string>();
  readonly #callers = new Set<string>();

  /** Call with every event. */
  notice(event: RuntimeEvent): void {
    if (event.type === "session-start" && event.parentCall !== undefined) this.#begunBy.set(event.sessionId, event.parentCall.callId);
    if (event.type !== "call-start") return;
    const caller = event.parentCallId ?? this.#begunBy.get(event.sessionId);
    if (caller === undefined) return;
    this.#callers.add(caller);
    this.#depths.set(event.callId, Math.min(this.depthOf(caller) + 1, MAX_SHOWN));
  }

  /** 0 for a call that is in no other. */
  depthOf(callId: string): number {
    return this.#depths.get(callId) ?? 0;
  }

  /** Calls were made in it, which say how far it is. */
  hasCalls(callId: string): boolean {
    return this.#callers.has(callId);
  }
}
