/** Tracks the callers of requests in flight, so that a question of the server reaches the right one. */
import type { QuestionAnswer, Question } from "../../core/ask.ts";
import type { Clock } from "../../core/ports.ts";

export interface Caller {
  /** The session of the call. A question that could belong to calls of several sessions is cancelled. */
  readonly session: unknown;
  /** Asks the person. @default every question is declined */
  readonly ask?: ((question: Question, asker: string) => Promise<QuestionAnswer>) | undefined;
  readonly signal: AbortSignal;
  /** Whether the call is simulated: sampling is refused then. @default false */
  readonly simulated?: boolean;
}

/** How long after a cancelled call a server may still ask on its behalf, in milliseconds. */
const LINGER_MS = 60_000;

/** The calls that are in flight on one connection. */
export class Callers {
  readonly #clock: Clock;
  readonly #callers = new Map<symbol, Caller>();
  /** For each session with a cancelled call, the time until which the server may still ask for it, the oldest first. */
  readonly #lingering = new Map<unknown, number>();
  readonly #asked = new WeakSet<Caller>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Registers a call while `work` runs. */
  async track<T>(caller: Caller, work: () => Promise<T>): Promise<T> {
    const unregister = this.register(caller);
    try {
      return await work();
    } finally {
      unregister();
    }
  }

  /** Registers a call until the returned function is called. */
  register(caller: Caller): () => void {
    const key = Symbol("caller");
    this.#callers.set(key, caller);
    return () => {
      if (this.#callers.delete(key) && caller.signal.aborted) this.#addLingering(caller.session);
    };
  }

  /** The caller for a question that names no call: the oldest one, if all calls, including those just cancelled, belong to one session. */
  resolveOwner(): Caller | "nobody" | "several" {
    const [first, ...others] = this.#callers.values();
    for (const caller of this.#callers.values()) this.#asked.add(caller);
    if (first === undefined) return "nobody";
    this.#dropExpired();
    const sessions = [...others.map((other) => other.session), ...this.#lingering.keys()];
    return sessions.every((session) => session === first.session) ? first : "several";
  }

  /** Whether the server has asked something while this call was in flight: its work may have begun. */
  hasAsked(caller: Caller): boolean {
    return this.#asked.has(caller);
  }

  #addLingering(session: unknown): void {
    this.#dropExpired();
    this.#lingering.delete(session);
    this.#lingering.set(session, this.#clock.now() + LINGER_MS);
  }

  #dropExpired(): void {
    const now = this.#clock.now();
    for (const [session, until] of this.#lingering) {
      if (until > now) return;
      this.#lingering.delete(session);
    }
  }
}
