/** Notices that another process has taken the sessions of calls that run here for long, or wait for a person. */
import type { Clock } from "../core/ports.ts";
import type { EventLog } from "../core/store.ts";
import type { Session } from "../session/session.ts";

/** A call of a session. */
interface WatchedCall {
  readonly turn: { readonly session: Session };
  cancel(reason: string): void;
}

/** How often it is looked. The store is asked each time for a call that waits for a person, and every so many times for others. */
const LOOK_MS = 1_000;
const LOOKS_BETWEEN = 5;
/** After so many looks a store that has not answered is asked again. */
const PATIENCE = 10;

/**
 * Cancels a call once its session, or that of a call around it, was taken over or removed by another process: nothing of it can be recorded,
 * and that process runs it again or asks its questions. One timer looks for all calls of a runtime, and asks about each log once: what logs are asked in one look is one
 * transaction of their store.
 */
export class ClaimWatch<Run extends WatchedCall> {
  readonly #clock: Clock;
  /** A call, and those around it, the outermost last. */
  readonly #callsAround: (run: Run) => readonly Run[];
  /** Calls whose handlers have a signal, with the look after which each began. */
  readonly #since = new Map<Run, number>();
  /** How many questions calls have open. */
  readonly #questions = new Map<Run, number>();
  /** Logs that the store has not answered for, with the look at which it was asked. */
  readonly #asked = new Map<EventLog, number>();
  #looks = 0;
  #isPlanned = false;

  constructor(clock: Clock, callsAround: (run: Run) => readonly Run[]) {
    this.#clock = clock;
    this.#callsAround = callsAround;
  }

  /** From now on the call is watched, until `remove`; nothing where no other process can take its session. */
  add(run: Run): void {
    if (this.#logsOf(run).every((log) => log.confirm === undefined)) return;
    this.#since.set(run, this.#looks);
    this.#plan();
  }

  remove(run: Run): void {
    this.#since.delete(run);
  }

  /** The call waits for a person from now on, until the function that this returns is called. */
  asks(run: Run): () => void {
    if (this.#logsOf(run).length === 0) return () => {};
    this.#questions.set(run, (this.#questions.get(run) ?? 0) + 1);
    this.#plan();
    return () => {
      const left = (this.#questions.get(run) ?? 1) - 1;
      if (left > 0) this.#questions.set(run, left);
      else this.#questions.delete(run);
    };
  }

  /** Whether its handler waits for the answer to a question. */
  isAsking(run: Run): boolean {
    return this.#questions.has(run);
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.#clock.timer(() => this.#look(), LOOK_MS, { background: true });
  }

  #look(): void {
    this.#isPlanned = false;
    this.#looks++;
    this.#cancelLost();
    if (this.#since.size === 0 && this.#questions.size === 0) return this.#asked.clear();
    const due = new Set<EventLog>();
    const noteLogs = (run: Run): void => this.#logsOf(run).forEach((log) => due.add(log));
    for (const run of this.#questions.keys()) noteLogs(run);
    for (const [run, since] of this.#since) if ((this.#looks - since) % LOOKS_BETWEEN === 0) noteLogs(run);
    for (const log of due) this.#ask(log);
    this.#plan();
  }

  /** A store that does not answer, or cannot be reached, takes nothing away: it is asked again. */
  #ask(log: EventLog): void {
    const look = this.#looks;
    const asked = this.#asked.get(log);
    if (log.confirm === undefined || (asked !== undefined && look - asked < PATIENCE)) return;
    this.#asked.set(log, look);
    const answered = (): void => {
      if (this.#asked.get(log) === look) this.#asked.delete(log);
      if (log.failure !== undefined) this.#cancelLost();
    };
    log.confirm().then(answered, answered);
  }

  #cancelLost(): void {
    for (const run of new Set([...this.#questions.keys(), ...this.#since.keys()])) {
      const calls = this.#callsAround(run);
      const outermost = calls.findLastIndex(({ turn }) => turn.session.eventLog?.failure?.code === "conflict");
      const reason = calls[outermost]?.turn.session.eventLog?.failure?.message ?? "";
      for (const call of calls.slice(0, outermost + 1).reverse()) call.cancel(reason);
    }
  }

  #logsOf(run: Run): readonly EventLog[] {
    return this.#callsAround(run).flatMap(({ turn }) => turn.session.eventLog ?? []);
  }
}
