/** Notices if another process has claimed the session of a call that runs long, or that waits for a person. */
import type { Clock } from "../core/ports.ts";
import type { EventLog } from "../core/store/store.ts";
import type { Session } from "../session/session.ts";

/** A call of a session. */
interface WatchedCall {
  readonly turn: { readonly session: Session };
  cancel(reason: string): void;
}

/** How often claims of calls that wait for a person are checked, in milliseconds; the claims of others every `CHECKS_BETWEEN`th time. */
const CHECK_MS = 1_000;
const CHECKS_BETWEEN = 5;
/** After this many checks, a store that has not answered is asked again. */
const MAX_UNANSWERED_CHECKS = 10;

/**
 * Cancels a call once its session, or that of a call around it, was claimed or removed by another process: nothing of the call can be recorded, and
 * that process runs it again or asks its questions. One timer serves all calls of a runtime, and each log is checked once: the checks of one round
 * are one transaction of their store.
 */
export class ClaimWatch<Run extends WatchedCall> {
  readonly #clock: Clock;
  /** Returns the call and those around it, the outermost last. */
  readonly #callStack: (run: Run) => readonly Run[];
  /** Calls whose handlers have a signal, with the number of the check after which each began. */
  readonly #startedAtCheck = new Map<Run, number>();
  /** The number of open questions of each call. */
  readonly #questions = new Map<Run, number>();
  /** Logs that the store has not confirmed yet, with the number of the check that asked. */
  readonly #askedAt = new Map<EventLog, number>();
  #checks = 0;
  #isScheduled = false;

  constructor(clock: Clock, callStack: (run: Run) => readonly Run[]) {
    this.#clock = clock;
    this.#callStack = callStack;
  }

  /** Watches the call until `remove`; no effect if no other process can claim its session. */
  add(run: Run): void {
    if (this.#logsOf(run).every((log) => log.confirm === undefined)) return;
    this.#startedAtCheck.set(run, this.#checks);
    this.#schedule();
  }

  remove(run: Run): void {
    this.#startedAtCheck.delete(run);
  }

  /** Notes that the call waits for a person, until the returned function is called. */
  noteQuestion(run: Run): () => void {
    if (this.#logsOf(run).length === 0) return () => {};
    this.#questions.set(run, (this.#questions.get(run) ?? 0) + 1);
    this.#schedule();
    return () => {
      const left = (this.#questions.get(run) ?? 1) - 1;
      if (left > 0) this.#questions.set(run, left);
      else this.#questions.delete(run);
    };
  }

  /** Whether the call's handler waits for the answer to a question. */
  isAsking(run: Run): boolean {
    return this.#questions.has(run);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#clock.timer(() => this.#checkClaims(), CHECK_MS, { background: true });
  }

  #checkClaims(): void {
    this.#isScheduled = false;
    this.#checks++;
    this.#cancelLost();
    if (this.#startedAtCheck.size === 0 && this.#questions.size === 0) return this.#askedAt.clear();
    const due = new Set<EventLog>();
    const noteLogs = (run: Run): void => this.#logsOf(run).forEach((log) => due.add(log));
    for (const run of this.#questions.keys()) noteLogs(run);
    for (const [run, since] of this.#startedAtCheck) if ((this.#checks - since) % CHECKS_BETWEEN === 0) noteLogs(run);
    for (const log of due) this.#confirmClaim(log);
    this.#schedule();
  }

  /** Checks a claim. A store that fails or does not answer cancels nothing; it is asked again. */
  #confirmClaim(log: EventLog): void {
    const check = this.#checks;
    const askedAt = this.#askedAt.get(log);
    if (log.confirm === undefined || (askedAt !== undefined && check - askedAt < MAX_UNANSWERED_CHECKS)) return;
    this.#askedAt.set(log, check);
    const onAnswer = (): void => {
      if (this.#askedAt.get(log) === check) this.#askedAt.delete(log);
      if (log.failure !== undefined) this.#cancelLost();
    };
    log.confirm().then(onAnswer, onAnswer);
  }

  #cancelLost(): void {
    for (const run of new Set([...this.#questions.keys(), ...this.#startedAtCheck.keys()])) {
      const calls = this.#callStack(run);
      const outermost = calls.findLastIndex(({ turn }) => turn.session.eventLog?.failure?.code === "conflict");
      const reason = calls[outermost]?.turn.session.eventLog?.failure?.message ?? "";
      for (const call of calls.slice(0, outermost + 1).reverse()) call.cancel(reason);
    }
  }

  #logsOf(run: Run): readonly EventLog[] {
    return this.#callStack(run).flatMap(({ turn }) => turn.session.eventLog ?? []);
  }
}
