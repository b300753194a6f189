/** Events as listeners got them, until it is known which of them a log keeps. */
import type { RuntimeEvent } from "../../core/event.ts";

interface Noticed {
  readonly event: RuntimeEvent;
  /** How long the log of its session was: it comes behind that many events. */
  readonly length: number;
}

/** Most that wait; more are dropped. */
const MAX_WAITING = 10_000;

export class LiveEvents {
  /** By session; those of none under the empty id. */
  #bySession = new Map<string, Noticed[]>();
  #count = 0;
  /** How many were dropped. */
  dropped = 0;

  add(event: RuntimeEvent, sessionId: string, length: number): void {
    if (event.type === "output-keep") return; // a log has it, without its text
    const noticed = this.#bySession.get(sessionId);
    if (this.#count >= MAX_WAITING) {
      this.dropped++;
      return;
    }
    this.#count++;
    if (noticed === undefined) this.#bySession.set(sessionId, [{ event, length }]);
    else noticed.push({ event, length });
  }

  get sessions(): Iterable<string> {
    return this.#bySession.keys();
  }

  /** All that wait now; what comes from now on is left for the next time. */
  take(): LiveEvents {
    const taken = new LiveEvents();
    taken.#bySession = this.#bySession;
    taken.#count = this.#count;
    taken.dropped = this.dropped;
    this.dropped = 0;
    this.#bySession = new Map();
    this.#count = 0;
    return taken;
  }

  /** Those that come before an event of a log. */
  before(sessionId: string, position: number): readonly RuntimeEvent[] {
    const noticed = this.#bySession.get(sessionId);
    if (noticed === undefined) return NONE;
    const end = noticed.findIndex(({ length }) => length >= position);
    return noticed.splice(0, end < 0 ? noticed.length : end).map(({ event }) => event);
  }

  /** Those that are left. */
  rest(): readonly RuntimeEvent[] {
    return [...this.#bySession.values()].flat().map(({ event }) => event);
  }
}

const NONE: readonly RuntimeEvent[] = Object.freeze([]);
