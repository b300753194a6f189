/** The calls that have begun and not ended, the oldest first. */
import { MultiMap } from "../core/collections/multi-map.ts";
import type { Session } from "../session/session.ts";

/** A call, linked to its neighbours while it runs. */
export interface RunningCall<Run> {
  readonly callId: string;
  readonly turn: { readonly session: object };
  previous: Run | undefined;
  next: Run | undefined;
  cancel(reason: string): void;
}

interface EndWait {
  readonly awaited: Set<string>;
  readonly resolve: () => void;
}

/** A linked list through the calls themselves, so that adding and removing needs no look-up and no allocation. */
export class RunningCalls<Run extends RunningCall<Run>> {
  #oldest: Run | undefined;
  #latest: Run | undefined;
  /** Created when a call is first looked up by its id, and kept until no call runs. */
  #byId: Map<string, Run> | undefined;
  /** Calls by session. Created when those of one session are first looked up, and kept until no call runs. */
  #bySession: MultiMap<object, Run> | undefined;
  readonly #waits = new Set<EndWait>();

  add(run: Run): void {
    run.previous = this.#latest;
    if (this.#latest === undefined) this.#oldest = run;
    else this.#latest.next = run;
    this.#latest = run;
    this.#byId?.set(run.callId, run);
    this.#bySession?.add(run.turn.session, run);
  }

  /** Removes a call that has ended; it must be in the list. */
  remove(run: Run): void {
    const { previous, next } = run;
    if (previous === undefined) this.#oldest = next;
    else previous.next = next;
    if (next === undefined) this.#latest = previous;
    else next.previous = previous;
    run.previous = undefined;
    run.next = undefined;
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

  /** All running calls, the oldest first. */
  all(): readonly Run[] {
    const runs: Run[] = [];
    for (let run = this.#oldest; run !== undefined; run = run.next) runs.push(run);
    return runs;
  }

  /** The running calls of one session, the oldest first. */
  inSession(session: object): readonly Run[] {
    if (this.#bySession === undefined) {
      this.#bySession = new MultiMap();
      for (const run of this.all()) this.#bySession.add(run.turn.session, run);
    }
    return this.#bySession.get(session);
  }

  /** Cancels the found calls, including nested calls that begin meanwhile. @param find defaults to all calls */
  cancelAll(reason: string, find: () => readonly Run[] = () => this.all()): void {
    const seen = new Set<Run>();
    const next = (): readonly Run[] => find().filter((run) => !seen.has(run));
    for (let runs = next(); runs.length > 0; runs = next())
      for (const run of runs) {
        seen.add(run);
        run.cancel(reason);
      }
  }

  /** Resolves when every call that runs now and is selected has ended; calls that begin later do not count. */
  whenEnded(isSelected: (run: Run) => boolean = () => true): Promise<void> {
    const awaited = new Set(
      this.all()
        .filter((run) => isSelected(run))
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

/** Cancels every call of a session, including those of a batch that have not begun yet. */
export function cancelSessionCalls<Run extends RunningCall<Run>>(session: Session, running: RunningCalls<Run>, reason: string): void {
  session.callsCancelReason ??= reason;
  running.cancelAll(reason, () => running.inSession(session));
}
