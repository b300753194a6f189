/** Tracks the callers of requests in flight, so that a question of the server reaches the right one. */
import type { QuestionAnswer, Question } from "../../core/approvals/ask.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
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

interface Registration {
  readonly caller: Caller;
  /** The task that the call has become; undefined for every other call. */
  readonly taskId: string | undefined;
}

const RELATED_TASK = "io.modelcontextprotocol/related-task";
/** How long after a cancelled call a server may still ask on its behalf, in milliseconds. */
const LINGER_MS = 60_000;

/** The calls that are in flight on one connection. */
export class Callers {
  readonly #clock: Clock;
  readonly #callers = new Map<symbol, Registration>();
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

  /** Registers a call until the returned function is called. @param taskId the task that it has become, if it has */
  register(caller: Caller, taskId?: string): () => void {
    const key = Symbol("caller");
    this.#callers.set(key, { caller, taskId });
    return () => {
      if (this.#callers.delete(key) && caller.signal.aborted) this.#addLingering(caller.session);
    };
  }

  /**
   * The caller for a question: the one whose task the question names, even if calls of other sessions are in flight. A question that names no task
   * goes to the oldest call, if all calls, including those just cancelled, belong to one session.
   */
  resolveOwner(params: JsonObject): Caller | "nobody" | "several" {
    const taskId = relatedTaskId(params);
    const all = [...this.#callers.values()];
    const named = taskId === undefined ? [] : all.filter((each) => each.taskId === taskId);
    const [first, ...others] = (named.length > 0 ? named : all).map(({ caller }) => caller);
    if (first === undefined) return "nobody";
    for (const caller of [first, ...others]) this.#asked.add(caller);
    this.#dropExpired();
    const lingering = named.length > 0 ? [] : this.#lingering.keys();
    const sessions = [...others.map((other) => other.session), ...lingering];
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

/** @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#related-task-metadata */
function relatedTaskId({ _meta: meta }: JsonObject): string | undefined {
  const related = isJsonObject(meta) ? meta[RELATED_TASK] : undefined;
  const id = isJsonObject(related) ? related["taskId"] : undefined;
  return typeof id === "string" ? id : undefined;
}
