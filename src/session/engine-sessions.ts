/** The state that engines keep of one session: begun before its first call, copied for its branches, ended with it. */
import type { Engine, EngineSession } from "../core/engine.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import { copyJson, type JsonValue } from "../core/base/json.ts";
import type { Log, Clock } from "../core/ports.ts";
import { waitFor } from "../policy/attempts/deadline.ts";

/** Longest time an engine may take to let go of a session, or to say what it remembers of one. */
const TIMEOUT_MS = 10_000;

export class EngineSessions {
  readonly #sessionId: () => string;
  readonly #setup: EngineSession["setup"];
  /** Engines that have begun, or are beginning, with this session. */
  readonly #begun = new Map<Engine, Promise<void>>();
  /** The signals that end beginnings under way, and how many calls wait for each. */
  readonly #waits = new WeakMap<Promise<void>, BeginningWait>();
  #snapshots: ReadonlyMap<Engine, JsonValue> | undefined;

  constructor(sessionId: () => string, setup: EngineSession["setup"]) {
    this.#sessionId = sessionId;
    this.#setup = setup;
  }

  /** Remembers what engines returned for the session this one is restored from. */
  restore(snapshots: ReadonlyMap<Engine, JsonValue>): void {
    this.#snapshots = snapshots;
  }

  /**
   * Begins with the session, once; a failed beginning is tried again by the next call. Undefined when there is nothing to wait for.
   * Calls that come meanwhile share it, and it is cancelled when the last of them has left.
   */
  begin(engine: Engine): Beginning | undefined {
    const begun = this.#begun.get(engine);
    const wait = begun === undefined ? undefined : this.#waits.get(begun);
    if (begun !== undefined && wait?.controller.signal.aborted !== true) return this.#shared(begun);
    if (engine.openSession === undefined) return undefined;
    const controller = new AbortController();
    const snapshot = this.#snapshots?.get(engine);
    const id = { sessionId: this.#sessionId(), setup: this.#setup };
    const session = { ...id, signal: controller.signal, ...(snapshot === undefined ? {} : { snapshot }) };
    const open = (): void | Promise<void> => engine.openSession?.(session);
    // Behind one that was cancelled and has not ended, and only where that one failed.
    const done = this.#note(engine, begun === undefined ? attempt(open) : begun.catch(open));
    this.#waits.set(done, { controller, count: 0 });
    return this.#shared(done);
  }

  #shared(done: Promise<void>): Beginning {
    const wait = this.#waits.get(done);
    if (wait === undefined) return { done, leave: () => {} };
    wait.count++;
    return {
      done,
      leave: (reason) => {
        if (--wait.count === 0) wait.controller.abort(reason);
      },
    };
  }

  /** Gives a branch its own copy of what engines remember now. An engine that cannot copy starts without state in the branch, or serves it reads only. */
  fork(branch: EngineSessions): void {
    if (this.#snapshots !== undefined) branch.restore(new Map([...this.#snapshots].filter(([engine]) => !this.#begun.has(engine))));
    for (const [engine, begun] of this.#begun) {
      if (engine.forkSession === undefined) continue;
      // Nothing before its own beginning is copied, and the engine is asked at once: what the parent does next is not the branch's.
      const copy = attempt(() => engine.forkSession?.(this.#sessionId(), branch.#sessionId()));
      void branch.#note(engine, both(begun, copy));
    }
  }

  /** True for an engine that has begun, or is beginning, with this session. */
  has(engine: Engine): boolean {
    return this.#begun.has(engine);
  }

  /** The kind of an engine that keeps this session in a place of its own; undefined when there is none. */
  get remote(): string | undefined {
    return [...this.#begun.keys()].find((engine) => engine.state === "remote")?.kind;
  }

  /** The state of engines, as JSON. Rejects with what an engine threw; ToolError `timeout` when it does not answer. */
  async snapshot(clock: Clock): Promise<ReadonlyMap<Engine, JsonValue>> {
    const snapshots = new Map(this.#snapshots);
    for (const [engine, begun] of this.#begun) {
      if (engine.snapshotSession === undefined) continue;
      const answer = begun.then(() => engine.snapshotSession?.(this.#sessionId()));
      const waited = await waitFor({ clock, wait: undefined }, answer, {
        endsAt: clock.now() + TIMEOUT_MS,
        late: () =>
          new ToolError("timeout", `The engine ${engine.kind} did not say within ${TIMEOUT_MS} ms what it remembers of the session.`),
      });
      if ("thrown" in waited) throw waited.thrown;
      if ("ended" in waited) throw waited.ended;
      snapshots.set(engine, copyJson(waited.value ?? null).value);
    }
    return snapshots;
  }

  /** Ends the session in every engine that began with it; one that fails or hangs is logged. Never rejects. */
  async close(clock: Clock, log: Log): Promise<void> {
    const engines = [...this.#begun];
    this.#begun.clear();
    await Promise.all(engines.map(([engine, begun]) => this.#closeOne(engine, begun, clock, log)));
  }

  async #closeOne(engine: Engine, begun: Promise<void>, clock: Clock, log: Log): Promise<void> {
    if (engine.closeSession === undefined) return;
    const closing = begun.then(
      () => engine.closeSession?.(this.#sessionId()),
      () => {}, // it never began
    );
    const waited = await waitFor({ clock, wait: undefined }, closing, {
      endsAt: clock.now() + TIMEOUT_MS,
      late: () => new ToolError("timeout", `no answer within ${TIMEOUT_MS} ms`),
    });
    if ("value" in waited) return;
    const reason = "thrown" in waited ? describeThrown(waited.thrown) : waited.ended.message;
    log.warn(`The engine ${engine.kind} did not end the session ${JSON.stringify(this.#sessionId())}: ${reason}`);
  }

  #note(engine: Engine, beginning: Promise<void>): Promise<void> {
    this.#begun.set(engine, beginning);
    beginning.catch(() => {
      if (this.#begun.get(engine) === beginning) this.#begun.delete(engine);
    });
    return beginning;
  }
}

/** A session's beginning in an engine, as one call waits for it. */
export interface Beginning {
  readonly done: Promise<void>;
  /** The call no longer wants it. To be called once, and not after `done`. */
  leave(reason: unknown): void;
}

interface BeginningWait {
  readonly controller: AbortController;
  count: number;
}

/** Listens to the second from the start, however long the first takes. */
async function both(first: Promise<void>, second: Promise<void>): Promise<void> {
  await Promise.all([first, second]);
}

/** Starts what may also throw at once. */
function attempt(work: () => void | Promise<void>): Promise<void> {
  return new Promise((resolve) => resolve(work()));
}
