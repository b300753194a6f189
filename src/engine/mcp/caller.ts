/** Who is behind the requests that are under way, so that a server's question reaches nobody else. */
import type { Answer, Question } from "../../core/ask.ts";

export interface Caller {
  /** Questions that could belong to calls of several sessions are answered by nobody. */
  readonly session: unknown;
  /** @default every question is declined */
  readonly ask?: ((question: Question, asker: string) => Promise<Answer>) | undefined;
  readonly signal: AbortSignal;
}

/** The calls that one connection has under way. */
export class Callers {
  readonly #callers = new Map<symbol, Caller>();

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
    return () => this.#callers.delete(key);
  }

  /** Whom a question that names no call is for: the oldest call, when all are of one session. */
  owner(): Caller | "nobody" | "several" {
    const [first, ...others] = this.#callers.values();
    if (first === undefined) return "nobody";
    return others.every((other) => other.session === first.session) ? first : "several";
  }
}
