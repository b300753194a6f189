/** The state that engines keep for one session: opened before its first call, copied for its branches, closed with it. */
import type { Engine, EngineSession } from "../core/engine.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import { copyJson, type JsonValue } from "../core/base/json.ts";
import type { Log, Clock } from "../core/ports.ts";
import { startWork, waitFor } from "../policy/attempts/deadline.ts";

/** Maximum time for an engine to close a session, or to return a snapshot of it, in milliseconds. */
const TIMEOUT_MS = 10_000;

export class EngineSessions {
  readonly #sessionId: () => string;
  readonly #setup: EngineSession["setup"];
  /** Engines that have opened this session, or are opening it. */
  readonly #opened = new Map<Engine, Promise<void>>();
  /** For each opening in progress: the controller that cancels it, and how many calls wait for it. */
  readonly #openingWaits = new WeakMap<Promise<void>, OpeningWait>();
  #snapshots: ReadonlyMap<Engine, JsonValue> | undefined;

  constructor(sessionId: () => string, setup: EngineSession["setup"]) {
    this.#sessionId = sessionId;
    this.#setup = setup;
  }

  /** Keeps the engine snapshots of the session that this one is restored from. */
  restore(snapshots: ReadonlyMap<Engine, JsonValue>): void {
    this.#snapshots = snapshots;
  }

  /**
   * Opens the session in an engine, once; if that fails, the next call tries again. Undefined if there is nothing to wait for. Concurrent calls share
   * one opening, which is cancelled when the last of them leaves.
   */
  open(engine: Engine): SessionOpening | undefined {
    const opening = this.#opened.get(engine);
    const wait = opening === undefined ? undefined : this.#openingWaits.get(opening);
    if (opening !== undefined && wait?.controller.signal.aborted !== true) return this.#shareOpening(opening);
    if (engine.openSession === undefined) return undefined;
    const controller = new AbortController();
    const snapshot = this.#snapshots?.get(engine);
    const id = { sessionId: this.#sessionId(), setup: this.#setup };
    const session = { ...id, signal: controller.signal, ...(snapshot === undefined ? {} : { snapshot }) };
    const open = (): void | Promise<void> => engine.openSession?.(session);
    // After a cancelled opening that has not settled: opens again once that one fails.
    const done = this.#trackOpening(engine, opening === undefined ? startWork(open) : opening.catch(open));
    this.#openingWaits.set(done, { controller, count: 0 });
    return this.#shareOpening(done);
  }

  #shareOpening(done: Promise<void>): SessionOpening {
    const wait = this.#openingWaits.get(done);
    if (wait === undefined) return { done, release: () => {} };
    wait.count++;
    return {
      done,
      release: (reason) => {
        if (--wait.count === 0) wait.controller.abort(reason);
      },
    };
  }

  /** Gives a branch its own copy of the engines' current state. An engine that cannot copy starts without state there, or allows only reads. */
  fork(branch: EngineSessions): void {
    if (this.#snapshots !== undefined) branch.restore(new Map([...this.#snapshots].filter(([engine]) => !this.#opened.has(engine))));
    for (const [engine, opening] of this.#opened) {
      if (engine.forkSession === undefined) continue;
      // Copying waits for the session's own opening, but `forkSession` is called at once, so that later changes of the parent are not included.
      const copy = startWork(() => engine.forkSession?.(this.#sessionId(), branch.#sessionId()));
      void branch.#trackOpening(engine, waitForBoth(opening, copy));
    }
  }

  /** Whether an engine has opened this session, or is opening it. */
  has(engine: Engine): boolean {
    return this.#opened.has(engine);
  }

  /** The kind of an engine that keeps this session's state remotely; undefined if there is none. */
  get remote(): string | undefined {
    return [...this.#opened.keys()].find((engine) => engine.state === "remote")?.kind;
  }

  /** Returns the state of engines, as JSON. Rejects with the error of an engine; with ToolError `timeout` if an engine does not answer. */
  async snapshot(clock: Clock): Promise<ReadonlyMap<Engine, JsonValue>> {
    const snapshots = new Map(this.#snapshots);
    for (const [engine, opening] of this.#opened) {
      if (engine.snapshotSession === undefined) continue;
      const answer = opening.then(() => engine.snapshotSession?.(this.#sessionId()));
      const waited = await waitFor({ clock, wait: undefined }, answer, {
        endsAt: clock.now() + TIMEOUT_MS,
        timeoutError: () =>
          new ToolError("timeout", `The engine ${engine.kind} did not return its state of the session within ${TIMEOUT_MS} ms.`),
      });
      if ("thrown" in waited) throw waited.thrown;
      if ("ended" in waited) throw waited.ended;
      snapshots.set(engine, copyJson(waited.value ?? null).value);
    }
    return snapshots;
  }

  /** Closes the session in every engine that opened it; an engine that fails or hangs is logged. Never rejects. */
  async close(clock: Clock, log: Log): Promise<void> {
    const engines = [...this.#opened];
    this.#opened.clear();
    await Promise.all(engines.map(([engine, opening]) => this.#closeOne(engine, opening, clock, log)));
  }

  async #closeOne(engine: Engine, opening: Promise<void>, clock: Clock, log: Log): Promise<void> {
    if (engine.closeSession === undefined) return;
    const closing = opening.then(
      () => engine.closeSession?.(this.#sessionId()),
      () => {}, // the session was never opened
    );
    const waited = await waitFor({ clock, wait: undefined }, closing, {
      endsAt: clock.now() + TIMEOUT_MS,
      timeoutError: () => new ToolError("timeout", `no answer within ${TIMEOUT_MS} ms`),
    });
    if ("value" in waited) return;
    const reason = "thrown" in waited ? describeThrown(waited.thrown) : waited.ended.message;
    log.warn(`The engine ${engine.kind} did not end the session ${JSON.stringify(this.#sessionId())}: ${reason}`);
  }

  #trackOpening(engine: Engine, opening: Promise<void>): Promise<void> {
    this.#opened.set(engine, opening);
    opening.catch(() => {
      if (this.#opened.get(engine) === opening) this.#opened.delete(engine);
    });
    return opening;
  }
}

/** The opening of a session in an engine, as one call waits for it. */
export interface SessionOpening {
  readonly done: Promise<void>;
  /** Called once, and not after `done`, if the call no longer waits. */
  release(reason: unknown): void;
}

interface OpeningWait {
  readonly controller: AbortController;
  count: number;
}

/** Waits for both. Handles a rejection of the second from the start, however long the first takes. */
async function waitForBoth(first: Promise<void>, second: Promise<void>): Promise<void> {
  await Promise.all([first, second]);
}
