/** Runs the jobs of sessions that no process has open: takes them from the store's queue, and offers those that are missing in it. */
import { COUNT, MILLISECONDS, SIZE, checkNumber } from "../../core/base/number-bounds.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import { isOptionsObject } from "../../core/base/wording.ts";
import { wrongTypeError } from "../../core/check-argument.ts";
import { ONE_COPY_HINT } from "../../core/system/duplicate-package.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import type { Clock, Log } from "../../core/ports.ts";
import type { SessionQueue, TakenSessions } from "../../core/store/session-queue.ts";
import type { Store } from "../../core/store/store.ts";
import { safeLog } from "../../core/system/safe-log.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import { getDefinitionDigests } from "../../registry/definition-digests.ts";
import { onAbort } from "../../core/base/on-abort.ts";
import { Runtime } from "../../runtime/runtime.ts";
import { checkAllow, type ResumeOptions } from "../../runtime/resume/resume-session.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";
import { onceNextTick, groupCallsBySession } from "../api/sessions/calls-in-progress.ts";
import { settlesWithin } from "../api/settles-within.ts";
import { undoOnRejection } from "../undo-on-rejection.ts";
import { LocalQueue } from "./local-queue.ts";
import { createSessionHolder, type SessionHolder } from "./session-holder.ts";
import { MissingTools } from "./missing-tools.ts";
import { waitUntilEndsAreDurable, waitUntilNoJobRuns } from "./wait-for-jobs.ts";

/** Options of `createWorker`. */
export interface WorkerOptions {
  /** Maximum number of sessions taken from the queue at a time, besides those in which all calls wait for a person. Integer ≥ 1. @default 10 */
  readonly concurrency?: number;
  /** Ids of sessions that the worker does not take, such as those of agents that the program runs. @default none */
  readonly except?: readonly string[];
  /** Milliseconds between polls for sessions whose process has ended; up to 4 times as many while all are queued. Integer ≥ 100. @default 2_000 */
  readonly pollMs?: number;
  /** How long `stop` lets running jobs end before it hands them over, in milliseconds. @default 10_000 */
  readonly graceMs?: number;
  /** Which tools the calls that it continues may still use; as in `ResumeOptions`. @default all that each call was made with */
  readonly allow?: NonNullable<ResumeOptions["allow"]>;
  /** Clock and log, for tests. */
  readonly ports?: { readonly clock?: Clock; readonly log?: Log };
}

/** Runs the jobs of a store, made by `createWorker`. */
export interface HaftWorker {
  /** How many sessions were taken, and what became of them. */
  readonly counts: WorkerCounts;
  /**
   * Begins to take sessions. May be called again after a rejection, for example until the database has started.
   *
   * @throws ToolError `unavailable` without pg-boss; `store_failed`, `corrupt_record` for a store or queue that cannot be used; `invalid_argument` once
   * `stop` was called; as a rejection
   */
  start(): Promise<void>;
  /**
   * Takes no more sessions, waits `graceMs` for the jobs of those it holds, and hands over the jobs that still run: another process continues them as
   * `runtime.sessions.handOver` says. Sessions in which all calls wait for a person are handed over at once. Idempotent; an abort of the signal ends
   * the wait.
   */
  stop(options?: { readonly signal?: AbortSignal }): Promise<void>;
}

/** The counts of a worker since it was made. */
export interface WorkerCounts {
  /** Sessions that the worker holds now. */
  readonly held: number;
  /** Sessions taken. */
  readonly taken: number;
  /** Sessions released with no job left, the ends of their jobs durable. */
  readonly finished: number;
  /** Sessions handed over, or lost to another process. */
  readonly left: number;
}

/** The options of a server's `work`. */
export type ServerWorkOptions = Omit<WorkerOptions, "allow">;

const SERVER_WORK_OPTIONS: OptionNames<ServerWorkOptions> = {
  concurrency: true,
  except: true,
  pollMs: true,
  graceMs: true,
  ports: true,
};
const OPTIONS: OptionNames<WorkerOptions> = { ...SERVER_WORK_OPTIONS, allow: true };
const DEFAULTS = { concurrency: 10, pollMs: 2_000, graceMs: 10_000 } as const;
/** Maximum pause between two polls of the store, as a multiple of `pollMs`. */
const MAX_PAUSES = 4;
const POLL_INTERVAL_RANGE = { ...MILLISECONDS, min: 100, integer: true };

/** How long a session that has a job for another place is left to other processes, in milliseconds. */
const LEFT_TO_OTHERS_MS = 60_000;

/** How long a session is left for a missing tool. Digests do not say which tools others have: if none took it by then, none may have the tool. */
const MAX_TOOL_WAIT_MS = 60 * LEFT_TO_OTHERS_MS;

/** Maximum number of sessions that do not count for `concurrency` because they wait for a person: each stays open. */
const MAX_WAITING = 1_000;

/** Maximum number of sessions offered to the queue at a time. */
const MAX_OFFERED_SESSIONS = 1_000;

/**
 * Makes a worker for a runtime whose store is shared by several processes. It resumes sessions that have unended jobs and whose process has ended,
 * and closes each when its jobs have ended. Sessions with a job at a place that the runtime does not have are left to a process that has it. Any
 * number of workers and servers may do this for one store. The program opens and closes the runtime.
 *
 * @throws ToolError `invalid_argument`, also if the runtime's store has no queue
 */
export function createWorker(runtime: Runtime, options: WorkerOptions = {}): HaftWorker {
  if (!(runtime instanceof Runtime))
    throw new ToolError("invalid_argument", "A worker needs a runtime, as returned by createRuntime().", { operatorHint: ONE_COPY_HINT });
  checkWorkerOptions(options, "createWorker()");
  checkAllow(options.allow);
  return new StoreWorker(runtime, options, createSessionHolder(runtime, options));
}

/** @throws ToolError `invalid_argument` @internal */
export function checkWorkerOptions(options: ServerWorkOptions, owner: "createWorker()" | "work()"): void {
  if (!isOptionsObject(options)) throw wrongTypeError(`The options of ${owner} must be an object`, options);
  const { concurrency, pollMs, graceMs, ...rest } = options;
  checkKnownKeys(rest, owner === "work()" ? SERVER_WORK_OPTIONS : OPTIONS, owner);
  checkNumber(concurrency, `concurrency of ${owner}`, COUNT);
  checkNumber(pollMs, `pollMs of ${owner}`, POLL_INTERVAL_RANGE);
  checkNumber(graceMs, `graceMs of ${owner}`, SIZE);
}

/** @internal */
export class StoreWorker implements HaftWorker {
  readonly #runtime: Runtime;
  readonly #store: Store;
  readonly #queue: SessionQueue;
  readonly #sessions: SessionHolder;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #settings: Required<Omit<WorkerOptions, "ports" | "except" | "allow">>;
  readonly #except: ReadonlySet<string>;
  readonly #counts = { taken: 0, finished: 0, left: 0 };
  readonly #held = new Set<RuntimeSession>();
  readonly #missingTools: MissingTools;
  /** Sessions left to other processes: since when, and until when they are not looked at here. */
  readonly #leftToOthers = new Map<string, { readonly since: number; readonly until: number }>();
  /** By session that is being worked in: aborted to hand the session over. */
  readonly #handOvers = new Map<string, AbortController>();
  /** By session that counts for `concurrency`: ends that, since all of its calls wait for a person. */
  readonly #freeSlot = new Map<string, () => void>();
  /** The work of sessions that do not count any more. */
  readonly #waiting = new Set<Promise<void>>();
  #stopListening: (() => void) | undefined;
  #consumer: TakenSessions | undefined;
  #stopTimer: (() => void) | undefined;
  #polling: Promise<void> | undefined;
  /** The pause before the next poll, as a multiple of `pollMs`. */
  #pauseFactor = 1;
  #starting: Promise<void> | undefined;
  #ended: Promise<void> | undefined;
  #lastFailure: string | undefined;

  constructor(runtime: Runtime, options: WorkerOptions, sessions: SessionHolder) {
    this.#clock = options.ports?.clock ?? systemPorts.clock;
    const { store } = runtime;
    const { concurrency = DEFAULTS.concurrency, except = [], pollMs = DEFAULTS.pollMs, graceMs = DEFAULTS.graceMs } = options;
    const queue = store?.queue ?? (sessions.closesSessions || store?.outlivesProcess !== true ? undefined : new LocalQueue(this.#clock));
    if (store === undefined || queue === undefined) throw noQueueError(sessions);
    this.#runtime = runtime;
    this.#store = store;
    this.#queue = queue;
    this.#sessions = sessions;
    this.#settings = { concurrency, pollMs, graceMs };
    this.#except = new Set(except);
    this.#log = safeLog(options.ports?.log ?? systemPorts.log);
    this.#missingTools = new MissingTools({ runtime, store, clock: this.#clock, pollMs });
  }

  get counts(): WorkerCounts {
    return { held: this.#held.size, ...this.#counts };
  }

  start(): Promise<void> {
    if (this.#ended !== undefined)
      return Promise.reject(
        new ToolError("invalid_argument", "The worker was stopped.", { hint: "Create another one with createWorker()." }),
      );
    return (this.#starting ??= undoOnRejection(this.#start(), () => (this.#starting = undefined)));
  }

  stop({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    return (this.#ended ??= this.#stop(signal));
  }

  async #start(): Promise<void> {
    await this.#store.open();
    await this.#announce();
    await this.#queue.open();
    const onError = (error: unknown): void => this.#logFailureOnce(error);
    this.#consumer = await this.#queue.take((id) => this.#takeSession(id), { concurrency: this.#settings.concurrency, onError });
    this.#stopListening = this.#runtime.subscribe((event) => {
      const { type } = event;
      if (type === "approval-ask" || type === "call-end" || (type === "job-output" && event.asks === true)) this.#lookSoon();
    });
    this.#lookSoon(); // for sessions that it has taken already
    this.#poll();
  }

  /** Announces the tools of this process, unless the program has. */
  async #announce(): Promise<void> {
    const own = (await this.#store.processes()).find((one) => one.own);
    if (own?.definitions === undefined) await this.#store.announce({ definitions: getDefinitionDigests(this.#runtime.registry) });
  }

  async #stop(signal: AbortSignal | undefined): Promise<void> {
    await this.#starting?.catch(() => {}); // start() has rejected with the error
    this.#stopTimer?.();
    await this.#polling;
    const stopped = this.#consumer?.stop();
    if (stopped === undefined) return;
    const { graceMs } = this.#settings;
    this.#lookSoon();
    const work = Promise.all([stopped, ...this.#waiting]);
    if (!(await settlesWithin(work, graceMs, this.#clock, signal))) for (const leave of this.#handOvers.values()) leave.abort();
    await work;
    this.#stopListening?.();
  }

  /**
   * Looks for sessions in which all calls wait for a person, soon after a call ended or asked something: they do not count for `concurrency` any
   * more. Once the worker stops they are handed over, unless the holder keeps sessions open: it releases them itself.
   */
  readonly #lookSoon = onceNextTick(() => {
    for (const [id, { awaitsPerson }] of groupCallsBySession(this.#runtime)) {
      if (!awaitsPerson) continue;
      if (this.#ended === undefined) this.#freeSlot.get(id)?.();
      else if (this.#sessions.closesSessions) this.#handOvers.get(id)?.abort();
    }
  });

  #poll(): void {
    this.#polling = this.#pollAndReschedule();
  }

  /** Never rejects. */
  async #pollAndReschedule(): Promise<void> {
    try {
      await this.#offerUnattended();
      this.#lastFailure = undefined;
    } catch (thrown: unknown) {
      this.#logFailureOnce(thrown);
    }
    if (this.#ended === undefined)
      this.#stopTimer = this.#clock.timer(() => this.#poll(), this.#settings.pollMs * this.#pauseFactor, { background: true });
  }

  /** Offers unattended sessions. Polls less often while all of them are queued already, so that a long queue costs little. */
  async #offerUnattended(): Promise<void> {
    // sessions that are left to others are the oldest, and must not fill the page and hide those after them
    const unattended = new Set(await this.#store.jobs.unattended({ limit: MAX_OFFERED_SESSIONS + this.#leftToOthers.size }));
    for (const id of this.#leftToOthers.keys()) if (!unattended.has(id)) this.#leftToOthers.delete(id);
    const ids = [...unattended].filter((id) => !this.#shouldSkip(id));
    const isKnown = (await this.#queue.offer(ids)) === 0 && ids.length > 0;
    this.#pauseFactor = isKnown ? Math.min(2 * this.#pauseFactor, MAX_PAUSES) : 1;
  }

  /** Whether not to offer or take the session: it is excluded, left to others for now, or open here. */
  #shouldSkip(id: string): boolean {
    return (
      this.#except.has(id) ||
      (this.#leftToOthers.get(id)?.until ?? -Infinity) > this.#clock.now() ||
      this.#runtime.sessions.get(id) !== undefined
    );
  }

  /** Whether the session may still be left for a missing tool: not longer than MAX_TOOL_WAIT_MS. */
  #canWaitForTools(id: string): boolean {
    return this.#clock.now() - (this.#leftToOthers.get(id)?.since ?? Infinity) < MAX_TOOL_WAIT_MS;
  }

  #leaveToOthers(id: string, why: string): void {
    const now = this.#clock.now();
    const since = this.#leftToOthers.get(id)?.since;
    if (since === undefined) this.#log.warn(why);
    this.#leftToOthers.set(id, { since: since ?? now, until: now + LEFT_TO_OTHERS_MS });
  }

  /** Runs the jobs of a session. Resolves when they have ended, or all of its calls wait for a person. Rejects if it cannot be opened. */
  async #takeSession(id: string): Promise<void> {
    const work = this.#runSession(id);
    const { promise: waits, resolve } = Promise.withResolvers<"waits">();
    this.#freeSlot.set(id, () => {
      if (this.#waiting.size < MAX_WAITING) resolve("waits");
    });
    const outcome = await Promise.race([work, waits]).finally(() => this.#freeSlot.delete(id));
    if (outcome !== "waits") return;
    const rest = work.catch(() => {}).finally(() => this.#waiting.delete(rest)); // the error was logged, and a later poll offers the session again
    this.#waiting.add(rest);
  }

  /** Runs the jobs of a session. Rejects if the session cannot be opened; the queue then tries it again later. */
  async #runSession(id: string): Promise<void> {
    if (this.#ended !== undefined || this.#handOvers.has(id) || this.#shouldSkip(id)) return;
    const handOver = new AbortController();
    const { signal } = handOver;
    this.#handOvers.set(id, handOver);
    let forget = (): void => {};
    try {
      const isShared = this.#store.queue !== undefined;
      const why = await this.#missingTools.findReasonToLeave(id, { waits: !isShared || this.#canWaitForTools(id), needsAll: !isShared });
      // offered again at a later poll
      if (why !== undefined)
        return this.#leaveToOthers(id, `The session ${JSON.stringify(id)} has ${why}: it waits for a process that has it.`);
      if (signal.aborted) return;
      let isFinished = false;
      forget = onAbort(signal, () => void this.#handOver(id)); // also while it is being resumed, which may wait for a person's answer
      await this.#sessions.use(
        id,
        async (session) => {
          forget();
          this.#leftToOthers.delete(id); // only now: a session that cannot be opened would be left for MAX_TOOL_WAIT_MS again
          isFinished = await this.#waitForJobs(session, signal);
        },
        { anyTools: true },
      );
      if (isFinished) this.#counts.finished++;
    } catch (thrown: unknown) {
      const error = ToolError.fromUnknown(thrown, "store_failed");
      if (error.code === "conflict") this.#counts.left++;
      if (TAKEN_ELSEWHERE_CODES.has(error.code)) return;
      const complaint = `The jobs of the session ${JSON.stringify(id)} could not be continued: ${error.message}`;
      if (error.code === "corrupt_record") return this.#leaveToOthers(id, complaint); // a process of a newer version may read it
      this.#log.warn(complaint);
      throw error;
    } finally {
      forget();
      this.#handOvers.delete(id);
    }
  }

  /** Never rejects. */
  async #handOver(id: string): Promise<void> {
    try {
      if (await this.#runtime.sessions.handOver(id)) await this.#queue.offer([id]);
    } catch (thrown: unknown) {
      this.#log.warn(`The session ${JSON.stringify(id)} could not be handed over: ${describeThrown(thrown)}`);
    }
  }

  /** Waits for the session's jobs. Resolves to whether none is left. */
  async #waitForJobs(session: RuntimeSession, signal: AbortSignal): Promise<boolean> {
    this.#held.add(session);
    this.#counts.taken++;
    try {
      const { jobs } = this.#runtime;
      if (await (this.#sessions.closesSessions ? waitUntilNoJobRuns(session, signal) : waitUntilEndsAreDurable(session, { jobs, signal })))
        return true;
      await this.#runtime.sessions.handOver(session.id);
      this.#counts.left++;
      await this.#queue.offer([session.id]);
      return false;
    } finally {
      this.#held.delete(session);
    }
  }

  /** Logs a repeated failure once, until a poll succeeds again. */
  #logFailureOnce(thrown: unknown): void {
    const why = describeThrown(thrown);
    if (this.#lastFailure === why || this.#ended !== undefined) return;
    this.#lastFailure = why;
    this.#log.warn(`Jobs of other processes cannot be taken over: ${why}`);
  }
}

/** The error for a store whose jobs no other process can continue: a server accepts a file, other workers need a queue. */
function noQueueError({ closesSessions }: SessionHolder): ToolError {
  if (closesSessions)
    return new ToolError("invalid_argument", "A worker needs a store that several machines share, and the runtime has none.", {
      hint: 'Give it one: createRuntime({ store: postgresStore({ url: "postgres://…" }) }).',
    });
  return new ToolError("invalid_argument", "work() needs a store that outlives the process, and the runtime has none.", {
    hint: 'Give it one: createRuntime({ store: sqliteStore({ path: "haft.db" }) }).',
  });
}

/** Codes that say that another process has the session or that it is gone: nothing is left to do. */
const TAKEN_ELSEWHERE_CODES: ReadonlySet<string> = new Set(["resource_busy", "duplicate", "not_found", "conflict"]);
