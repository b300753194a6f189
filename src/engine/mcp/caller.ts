/** The callers of the requests that are under way, so that a server's question reaches the right one. */
import type { QuestionAnswer, Question } from "../../core/ask.ts";
import type { Clock } from "../../core/ports.ts";

export interface Caller {
  /** Questions that could belong to calls of several sessions are cancelled. */
  readonly session: unknown;
  /** @default every question is declined */
  readonly ask?: ((question: Question, asker: string) => Promise<QuestionAnswer>) | undefined;
  readonly signal: AbortSignal;
  /** Its call only tries what would happen: no model is asked for it. @default false */
  readonly simulated?: boolean;
}

/** For so long a server may still ask on behalf of a call whose cancellation it was sent. */
const LINGER_MS = 60_000;

/** The calls that one connection has under way. */
export class Callers {
  readonly #clock: Clock;
  readonly #callers = new Map<symbol, Caller>();
  /** Until when the server may still ask for a cancelled call of a session, the oldest first. */
  readonly #lingering = new Map<unknown, number>();
  readonly #asked = new WeakSet<Caller>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a call in while `work` runs. */
  async during<T>(caller: Caller, work: () => Promise<T>): Promise<T> {
    const leave = this.join(caller);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /** Counts a call in until the returned function is called. */
  join(caller: Caller): () => void {
    const key = Symbol("caller");
    this.#callers.set(key, caller);
    return () => {
      if (this.#callers.delete(key) && caller.signal.aborted) this.#linger(caller.session);
    };
  }

  /** The caller that gets a question which names no call: the oldest call, when all are of one session, those just cancelled included. */
  owner(): Caller | "nobody" | "several" {
    const [first, ...others] = this.#callers.values();
    for (const caller of this.#callers.values()) this.#asked.add(caller);
    if (first === undefined) return "nobody";
    this.#forget();
    const sessions = [...others.map((other) => other.session), ...this.#lingering.keys()];
    return sessions.every((session) => session === first.session) ? first : "several";
  }

  /** True when the server has asked something while this call was under way: it may have begun. */
  hasAsked(caller: Caller): boolean {
    return this.#asked.has(caller);
  }

  #linger(session: unknown): void {
    this.#forget();
    this.#lingering.delete(session);
    this.#lingering.set(session, this.#clock.now() + LINGER_MS);
  }

  #forget(): void {
    const now = this.#clock.now();
    for (const [session, until] of this.#lingering) {
      if (until > now) return;
      this.#lingering.delete(session);
    }
  }
}
