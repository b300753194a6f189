/** The calls that have begun and not ended, the oldest first. */
import { Groups } from "../core/base/groups.ts";
import type { Session } from "../session/session.ts";

/** A call, with its neighbours while it runs. */
export interface RunningCall<Run> {
  readonly callId: string;
  readonly turn: { readonly session: object };
  earlier: Run | undefined;
  later: Run | undefined;
  cancel(reason: string): void;
}

interface Wait {
  readonly awaited: Set<string>;
  readonly resolve: () => void;
}

/** A chain through the calls themselves: to begin and to end costs no look-up and no memory. */
export class RunningCalls<Run extends RunningCall<Run>> {
  #oldest: Run | undefined;
  #latest: Run | undefined;
  /** Made when a call is first asked for by its id, and kept until none runs. */
  #byId: Map<string, Run> | undefined;
  /** By their sessions; made when those of one are first asked for, and kept until none runs. */
  #bySession: Groups<object, Run> | undefined;
  readonly #waits = new Set<Wait>();

  add(run: Run): void {
    run.earlier = this.#latest;
    if (this.#latest === undefined) this.#oldest = run;
    else this.#latest.later = run;
    this.#latest = run;
    this.#byId?.set(run.callId, run);
    this.#bySession?.add(run.turn.session, run);
  }

  /** Takes out a call that has ended; it must be there. */
  remove(run: Run): void {
    const { earlier, later } = run;
    if (earlier === undefined) this.#oldest = later;
    else earlier.later = later;
    if (later === undefined) this.#latest = earlier;
    else later.earlier = earlier;
    run.earlier = undefined;
    run.later = undefined;
    if (this.#oldest === undefined) {
      this.#byId = undefined;
      this.#bySession = undefined;
    } else {
      this.#byId?.delete(run.callId);
      this.#bySession?.delete(run.turn.session, run);
    }
    if (this.#waits.size > 0) this.#noteEnd(run.callId);
  }

  get(callId: string): Run | undefined {
    this.#byId ??= new Map(this.all().map((run) => [run.callId, run]));
    return this.#byId.get(callId);
  }

  /** Those that run now, the oldest first. */
  all(): readonly Run[] {
    const runs: Run[] = [];
    for (let run = this.#oldest; run !== undefined; run = run.later) runs.push(run);
    return runs;
  }

  /** Those of one session, the oldest first. */
  in(session: object): readonly Run[] {
    if (this.#bySession === undefined) {
      this.#bySession = new Groups();
      for (const run of this.all()) this.#bySession.add(run.turn.session, run);
    }
    return this.#bySession.of(session);
  }

  /** Cancels those that are found, also the calls that their handlers make while they are being cancelled. @param find by default all */
  cancelAll(reason: string, find: () => readonly Run[] = () => this.all()): void {
    const seen = new Set<Run>();
    const next = (): readonly Run[] => find().filter((run) => !seen.has(run));
    for (let runs = next(); runs.length > 0; runs = next())
      for (const run of runs) {
        seen.add(run);
        run.cancel(reason);
      }
  }

  /** Resolves when every call that runs now, or of those the ones that are meant, has ended, whatever begins after it. */
  whenEnded(isMeant: (run: Run) => boolean = () => true): Promise<void> {
    const awaited = new Set(
      this.all()
        .filter((run) => isMeant(run))
        .map(({ callId }) => callId),
    );
    if (awaited.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waits.add({ awaited, resolve }));
  }

  #noteEnd(callId: string): void {
    for (const wait of this.#waits) {
      if (!wait.awaited.delete(callId) || wait.awaited.size > 0) continue;
      this.#waits.delete(wait);
      wait.resolve();
    }
  }
}

/** Cancels every call of a session, also those of a batch that have not begun yet. */
export function endCalls<Run extends RunningCall<Run>>(session: Session, running: RunningCalls<Run>, reason: string): void {
  session.callsEnded ??= reason;
  running.cancelAll(reason, () => running.in(session));
}
