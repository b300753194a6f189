/** The tasks of all clients of a server. A task can be found only by its caller, and only until it expires. */
import { ToolError, describeThrown } from "../../../core/error.ts";
import { rejectOnAbort } from "../../../core/base/reject-on-abort.ts";
import type { Clock, Log } from "../../../core/ports.ts";
import type { Store } from "../../../core/store/store.ts";
import type { Runtime } from "../../../runtime/runtime.ts";
import type { RuntimeSession } from "../../../runtime/runtime-session.ts";
import { copyCallsToAudit } from "../../auth/copy-calls-to-audit.ts";
import { groupCallsBySession, type SessionCalls } from "../../api/sessions/calls-in-progress.ts";
import { settlesWithin } from "../../api/settles-within.ts";
import { failureLog } from "../../store-failures.ts";
import { removeExpiredSessions } from "../../remove-expired-sessions.ts";
import type { ServedTask } from "./served-task.ts";
import type { UnclaimedQuestions } from "./unclaimed-questions.ts";
import { TASK_SESSION_PREFIX, newTaskId, taskSessionId } from "./task-id.ts";
import { getOrAdd } from "../../../core/base/get-or-add.ts";

/** Settings of tasks, with all defaults applied. */
export interface TaskSettings {
  readonly taskAfterMs: number;
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
  readonly maxTasks: number;
}

export interface TasksOptions {
  readonly runtime: Runtime;
  readonly settings: TaskSettings;
  readonly clock: Clock;
  readonly log: Log;
  /** Questions of tasks that a worker of the server has continued. */
  readonly questions?: UnclaimedQuestions | undefined;
}

/** A reserved place for a task that may begin. */
export interface TaskSlot {
  readonly id: string;
  /** The id of the session that it runs in. */
  readonly sessionId: string;
  /** Frees the place if no task began. */
  readonly release: () => void;
}

/** Restores a task that is not in memory. */
export type RestoreTask = (place: Pick<TaskSlot, "id" | "sessionId">) => Promise<ServedTask | undefined>;

/** Maximum number of sessions looked up in one request to the store. */
const LIST_PAGE_SIZE = 500;
const MIN_SWEEP_MS = 60_000;
const MAX_SWEEP_MS = 60 * 60_000;

export class Tasks {
  readonly settings: TaskSettings;
  readonly #options: TasksOptions;
  /** Tasks by the ids of their sessions. */
  readonly #tasks = new Map<string, ServedTask>();
  /** Tasks being restored, so that concurrent requests share one attempt. */
  readonly #restoring = new Map<string, Promise<ServedTask | undefined>>();
  /** Functions that stop the expiry timers of ended tasks. */
  readonly #timers = new Map<string, () => void>();
  readonly #closeListeners = new Set<() => void>();
  #reserved = 0;
  #isClosed = false;
  #stopSweep: (() => void) | undefined;

  constructor(options: TasksOptions) {
    this.#options = { ...options, log: failureLog(options) };
    this.settings = options.settings;
    if (options.runtime.store?.outlivesProcess === true) void this.#sweep();
  }

  /** Reserves a place for a call that may become a task; undefined if the maximum number of tasks is reached. */
  reserve(callerId: string): TaskSlot | undefined {
    if (this.#tasks.size + this.#reserved >= this.settings.maxTasks) return undefined;
    const id = newTaskId();
    const sessionId = taskSessionId(id, callerId);
    if (sessionId === undefined) return undefined;
    this.#reserved++;
    let isHeld = true;
    const release = (): void => {
      if (isHeld) this.#reserved--;
      isHeld = false;
    };
    return { id, sessionId, release };
  }

  /** Keeps a task until it expires. */
  add(sessionId: string, task: ServedTask): void {
    this.#tasks.set(sessionId, task);
    if (task.end !== undefined) return this.#scheduleExpiry(sessionId);
    const stop = task.onChange(() => {
      if (task.end === undefined) return;
      stop();
      this.#scheduleExpiry(sessionId);
    });
  }

  /** The caller's task with this id; undefined if there is none, also if another caller has it. Rejects as `restore` does. */
  async find(
    id: string,
    callerId: string,
    { restore, signal }: { readonly restore: RestoreTask; readonly signal: AbortSignal },
  ): Promise<ServedTask | undefined> {
    const sessionId = taskSessionId(id, callerId);
    if (sessionId === undefined) return undefined;
    const known = this.#tasks.get(sessionId);
    if (known !== undefined) await rejectOnAbort(this.#releaseIfLost(sessionId, known), signal);
    const current = this.#tasks.get(sessionId); // another request may have released it, and taken it up again
    if (current !== undefined) return current;
    const restoring = getOrAdd(this.#restoring, sessionId, () =>
      restore({ id, sessionId }).finally(() => this.#restoring.delete(sessionId)),
    );
    return rejectOnAbort(restoring, signal);
  }

  /**
   * Releases the session of a running task if another process has taken it over, which this one may not have noticed: it was paused, and has written nothing
   * since. Does not wait for the release, which may take as long as its handler does not stop.
   */
  async #releaseIfLost(sessionId: string, task: ServedTask): Promise<void> {
    const { runtime, log } = this.#options;
    const { store } = runtime;
    const session = runtime.sessions.get(sessionId);
    if (task.end !== undefined || session === undefined || store?.outlivesProcess !== true) return;
    const isOwn = session.broken?.code !== "conflict" && (await this.#isOwn(store, session).catch(() => true)); // the store may be gone
    if (isOwn || this.#tasks.get(sessionId) !== task) return;
    runtime.sessions
      .handOver(sessionId)
      .catch((thrown: unknown) => log.debug(`The session of a task over MCP was lost: ${describeThrown(thrown)}`));
    this.handOver(sessionId, task);
  }

  /** Whether the store has no event of the session that this process does not have; memory has all that were written here. */
  async #isOwn(store: Store, session: RuntimeSession): Promise<boolean> {
    const [stored] = await store.list({ sessionId: session.id });
    return stored === undefined || stored.length <= session.length;
  }

  /** The questions of tasks that a worker of the server has continued. */
  get unclaimed(): UnclaimedQuestions | undefined {
    return this.#options.questions;
  }

  /** Like `find`, but only in memory. */
  findKnown(id: string, callerId: string): ServedTask | undefined {
    const sessionId = taskSessionId(id, callerId);
    return sessionId === undefined ? undefined : this.#tasks.get(sessionId);
  }

  /** Returns the ids that belong to tasks of the caller, running here or kept by the store. */
  async idsOf(ids: readonly string[], callerId: string): Promise<readonly string[]> {
    const { store } = this.#options.runtime;
    const wanted = new Map(ids.map((id) => [id, taskSessionId(id, callerId)]));
    const there = new Set<string>(this.#tasks.keys());
    const unknown = [...wanted.values()].flatMap((sessionId) => (sessionId === undefined || there.has(sessionId) ? [] : sessionId));
    for (let at = 0; store !== undefined && at < unknown.length; at += LIST_PAGE_SIZE) {
      const sessionIds = unknown.slice(at, at + LIST_PAGE_SIZE);
      const stored = await store.list({ sessionIds, limit: sessionIds.length }).catch(() => []); // those that run here are known without it
      for (const { sessionId } of stored) there.add(sessionId);
    }
    return ids.filter((id) => there.has(wanted.get(id) ?? ""));
  }

  /** Forgets a task whose session another process owns now: its state is read from the store, by those who follow it too. */
  handOver(sessionId: string, task: ServedTask): void {
    if (this.#tasks.get(sessionId) === task) this.#tasks.delete(sessionId);
    task.markTakenOver();
  }

  /** Removes a session but keeps its calls in the audit, because its call became no task, or the task has expired. Does not wait for it. */
  removeSession(sessionId: string): void {
    const { log } = this.#options;
    this.#removeSession(sessionId).catch((thrown: unknown) => {
      const { code } = ToolError.fromUnknown(thrown, "store_failed");
      if (code !== "not_found") log.warn(`The session of a call over MCP could not be removed: ${describeThrown(thrown)}`);
    });
  }

  async #removeSession(sessionId: string): Promise<void> {
    const { store, sessions } = this.#options.runtime;
    await sessions.get(sessionId)?.close(); // completes its log
    if (store !== undefined) await copyCallsToAudit(store, { sessionId, via: "mcp" });
    await sessions.forget(sessionId);
  }

  /** Calls the listener when the server stops. Returns a function that stops this. */
  onClose(listener: () => void): () => void {
    this.#closeListeners.add(listener);
    return () => void this.#closeListeners.delete(listener);
  }

  /** Stops the timers. A later server finds stored tasks again. */
  close(): void {
    this.#isClosed = true;
    this.#stopSweep?.();
    for (const stop of this.#timers.values()) stop();
    this.#timers.clear();
    for (const listener of this.#closeListeners) listener();
  }

  /**
   * Must be called when no client can send requests any more. Hands over tasks that wait for a person, which stay in the store. If the store
   * outlives the process, the other tasks get `graceMs` to end, and those left are handed over as the jobs they are.
   */
  async leaveAll(graceMs: number, signal?: AbortSignal): Promise<void> {
    const { runtime, clock } = this.#options;
    await this.#handOverTasks(({ awaitsPerson }) => awaitsPerson);
    if (runtime.store?.outlivesProcess !== true) return;
    const jobs = runtime.sessions.list().flatMap((session) => (session.id.startsWith(TASK_SESSION_PREFIX) ? session.jobs : []));
    await settlesWithin(Promise.allSettled(jobs.map(({ id }) => runtime.jobs.wait(id, { untilAsked: true }))), graceMs, clock, signal);
    await this.#handOverTasks(() => true);
  }

  async #handOverTasks(shouldHandOver: (waiting: SessionCalls) => boolean): Promise<void> {
    const { runtime, log } = this.#options;
    const left = [...groupCallsBySession(runtime)].filter(([id, waiting]) => id.startsWith(TASK_SESSION_PREFIX) && shouldHandOver(waiting));
    for (const end of await Promise.allSettled(left.map(([id]) => runtime.sessions.handOver(id))))
      if (end.status === "rejected") log.warn(`A task over MCP could not be released: ${describeThrown(end.reason)}`);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Removes expired tasks of earlier processes from time to time: nothing else removes tasks that no client asks for. */
  async #sweep(): Promise<void> {
    const { runtime, clock, log } = this.#options;
    const { ttlMs } = this.settings;
    try {
      await removeExpiredSessions(runtime, {
        prefix: TASK_SESSION_PREFIX,
        via: "mcp",
        before: clock.wallTime() - ttlMs,
        shouldStop: () => this.#isClosed,
      });
    } catch (thrown: unknown) {
      log.warn(`Old tasks over MCP could not be removed: ${describeThrown(thrown)}`);
    }
    if (this.#isClosed) return;
    const nextMs = Math.min(Math.max(ttlMs, MIN_SWEEP_MS), MAX_SWEEP_MS);
    this.#stopSweep = clock.timer(() => void this.#sweep(), nextMs, { background: true });
  }

  #scheduleExpiry(sessionId: string): void {
    if (this.#timers.has(sessionId)) return;
    const end = (): void => {
      this.#timers.delete(sessionId);
      this.#tasks.delete(sessionId);
      this.removeSession(sessionId);
    };
    this.#timers.set(sessionId, this.#options.clock.timer(end, this.settings.ttlMs, { background: true }));
  }
}
