/** How deeply calls are nested: in composite tools, and in the sessions that delegates begin. */
import type { RuntimeEvent } from "../../core/event.ts";

/** Maximum depth that is shown; deeper calls are indented as much. */
const MAX_SHOWN = 4;

export class CallNesting {
  readonly #depths = new Map<string, number>();
  /** The call that began each session, by session id. */
  readonly #startedBy = new Map<string, string>();
  readonly #callers = new Set<string>();

  /** Call with every event. */
  handleEvent(event: RuntimeEvent): void {
    if (event.type === "session-start" && event.parentCall !== undefined) this.#startedBy.set(event.sessionId, event.parentCall.callId);
    if (event.type !== "call-start") return;
    const caller = event.parentCallId ?? this.#startedBy.get(event.sessionId);
    if (caller === undefined) return;
    this.#callers.add(caller);
    this.#depths.set(event.callId, Math.min(this.depthOf(caller) + 1, MAX_SHOWN));
  }

  /** Returns the depth of a call; 0 if it is in no other call. */
  depthOf(callId: string): number {
    return this.#depths.get(callId) ?? 0;
  }

  /** Whether other calls were made in the call. They show its progress. */
  hasCalls(callId: string): boolean {
    return this.#callers.has(callId);
  }
}
