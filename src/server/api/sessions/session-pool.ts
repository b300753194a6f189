/** The open sessions of the server: resumed from the store when requests need them, and closed when they are idle. */
import { ToolError, describeThrown } from "../../../core/error.ts";
import type { Clock, Log } from "../../../core/ports.ts";
import type { Store, StoredSession } from "../../../core/store/store.ts";
import type { Runtime } from "../../../runtime/runtime.ts";
import type { RulesOfPrincipal } from "../../../runtime/resume/resume-session.ts";
import type { RuntimeSession } from "../../../runtime/runtime-session.ts";
import { settlesWithin } from "../settles-within.ts";
import { REFRESH_MS, MissingTools, waitsForOtherProcessError } from "../../worker/missing-tools.ts";
import { removeExpiredSessions } from "../../remove-expired-sessions.ts";
import type { ServerSettings } from "../server-settings.ts";
import { OWN_SESSION_PREFIX, REQUEST_RETENTION_MS, isExpiredRequest, noSession } from "./session-ids.ts";
import { ReleasedCalls } from "./released-calls.ts";
import { canShareResume, type PendingResume, type UseOptions } from "./session-use.ts";
import { SessionElsewhereError, stoppingError, tooManyOpenSessions, tooManyKeyedRequests } from "./session-errors.ts";
import { handOverResume, onceNextTick, groupCallsBySession, type SessionCalls } from "./calls-in-progress.ts";

export interface SessionPoolOptions {
  readonly runtime: Runtime;
  readonly store: Store | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: Pick<ServerSettings, "maxOpenSessions" | "sessionIdleMs" | "graceMs">;
  /** Which tools the interrupted calls of a session may still use, by the principals that made them. */
  readonly allow: RulesOfPrincipal;
}

interface HeldSession {
  readonly session: RuntimeSession;
  usedAt: number;
}

const HOUR_MS = 60 * 60 * 1_000;

export class SessionPool {
  /** `use` leaves sessions open for the next request. */
  readonly closesSessions = false;
  readonly #options: SessionPoolOptions;
  /** Sessions that the server resumed or began, least recently used first. */
  readonly #held = new Map<string, HeldSession>();
  /** Number of requests that use a session, or are about to, by session id. */
  readonly #uses = new Map<string, number>();
  /** Sessions that are being closed or handed over, by id; an id cannot be resumed until that is done. */
  readonly #releasing = new Map<string, Promise<void>>();
  readonly #resuming = new Map<string, PendingResume>();
  /** How often a session of the id was removed while requests used it. */
  readonly #removals = new Map<string, number>();
  /** undefined if no other process continues jobs, or if this runtime starts none: opening a session then ends no job. */
  readonly #missingTools: MissingTools | undefined;
  #sweep: (() => void) | undefined;
  /** Provides the errors of requests whose calls were left running. */
  readonly releasedCalls = new ReleasedCalls();
  #isDraining = false;
  /** Whether sessions whose calls wait for locks or slots are released too, because the grace period is over. */
  #releasesUnstarted = false;
  #stopListening: (() => void) | undefined;
  readonly #scheduleRelease = onceNextTick(() => this.#releaseUnused());
  #closed = false;
  #expiredAt: number | undefined;

  constructor(options: SessionPoolOptions) {
    this.#options = options;
    const { runtime, store, clock } = options;
    if (store?.queue !== undefined && runtime.jobs.runHere)
      this.#missingTools = new MissingTools({ runtime, store, clock, pollMs: REFRESH_MS });
  }

  get size(): number {
    return this.#held.size;
  }

  /**
   * Runs `work` in a session, which stays open meanwhile.
   *
   * @param options.anyTools open the session even if a job of it needs a tool that only another process has
   * @param options.waitsForCalls the work is a request that waits for calls: if these are left running elsewhere, `releasedCalls` has its error
   * @throws ToolError `not_found`, also if the session is removed meanwhile; `resource_busy`; `unavailable`; as a rejection
   */
  async use<T>(id: string, work: (session: RuntimeSession) => Promise<T> | T, options: UseOptions = {}): Promise<T> {
    this.#uses.set(id, (this.#uses.get(id) ?? 0) + 1);
    const removals = this.#removals.get(id) ?? 0;
    let session: RuntimeSession | undefined;
    try {
      session = await this.#open(id, options);
      return await (options.waitsForCalls === true ? this.releasedCalls.waitUnlessReleased(id, work(session)) : work(session));
    } catch (thrown: unknown) {
      if (removals !== (this.#removals.get(id) ?? 0)) throw noSession(id);
      const { code } = ToolError.fromUnknown(thrown);
      // the request waited for the session until it was released, or for the calls that its resume continues
      const wasReleased = session === undefined ? code === "conflict" : session.closed && code === "invalid_argument";
      throw this.#isDraining && wasReleased ? stoppingError() : thrown;
    } finally {
      const left = (this.#uses.get(id) ?? 1) - 1;
      if (left > 0) this.#uses.set(id, left);
      else {
        this.#uses.delete(id);
        this.#removals.delete(id);
      }
      const held = this.#held.get(id); // undefined for a session of the program, which closes it itself
      if (held !== undefined && left === 0 && this.#hasJobsForOthers(held.session)) this.#release(held.session);
      else if (held !== undefined) this.#touch(id, held);
      if (this.#isDraining) this.#scheduleRelease();
    }
  }

  /**
   * Releases sessions as soon as no request and no job uses them, so that other processes can open them while others here are still in use. Sessions
   * in which all calls wait for a person are handed over with these calls.
   */
  drain(): void {
    this.#isDraining = true;
    this.#releaseUnused();
  }

  /** From now on, also releases sessions in which calls wait for locks and slots. */
  releaseUnstarted(): void {
    this.#releasesUnstarted = true;
    this.#releaseUnused();
  }

  /**
   * Must be called before a request begins a session: some sessions stay open until their clients end them.
   *
   * @throws ToolError `limit_exceeded` if the maximum number of such sessions is open
   */
  checkCapacity(): void {
    const { maxOpenSessions } = this.#options.settings;
    if (this.#held.size < maxOpenSessions) return;
    let staying = 0;
    const parents = this.#parents();
    for (const id of this.#held.keys()) if (!id.startsWith(OWN_SESSION_PREFIX) && this.#mustStayOpen(id, parents)) staying++;
    if (staying < maxOpenSessions) return;
    throw tooManyOpenSessions(maxOpenSessions);
  }

  /** Adds a session that a request has begun. */
  add(session: RuntimeSession): void {
    this.#touch(session.id, { session, usedAt: 0 });
    if (this.#held.size > this.#options.settings.maxOpenSessions)
      this.#closeIdle(0, { most: this.#held.size - this.#options.settings.maxOpenSessions, except: session.id });
  }

  /** Closes a session of the server or of the program. */
  close(session: RuntimeSession): Promise<void> {
    return this.#trackRelease(session, session.close());
  }

  /**
   * Cancels the calls of a session, closes it and removes it from the store; later requests for it wait until that is done. A resume in progress is
   * abandoned, since its calls may wait for a person for days. Resolves to whether there was such a session.
   */
  async remove(id: string): Promise<boolean> {
    // without a pause if it is not being released, so that every later request waits; concurrent removals run one after the other
    for (let releasing = this.#releasing.get(id); releasing !== undefined; releasing = this.#releasing.get(id)) await releasing;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#releasing.set(id, promise); // before anything is abandoned, so that no request joins it
    if (this.#uses.has(id)) this.#removals.set(id, (this.#removals.get(id) ?? 0) + 1);
    const resuming = this.#resuming.get(id);
    try {
      const wasThere = await this.#options.runtime.sessions.forget(id);
      await resuming?.session.catch(() => {}); // its requests get the error
      this.#held.delete(id);
      return wasThere;
    } catch (thrown: unknown) {
      const removals = this.#removals.get(id);
      // the removal was refused: its requests continue
      if (removals !== undefined && this.#options.runtime.sessions.get(id) !== undefined) this.#removals.set(id, removals - 1);
      throw thrown;
    } finally {
      this.#releasing.delete(id);
      resolve();
    }
  }

  /** Resolves when no session of the id is being released or removed. */
  async whenReleased(id: string): Promise<void> {
    for (let releasing = this.#releasing.get(id); releasing !== undefined; releasing = this.#releasing.get(id)) await releasing;
  }

  /** Ends the session of a request whose answer is kept. With a store it is closed once idle, and stays known as long as the answer. */
  async closeAnsweredSession(id: string): Promise<void> {
    const held = this.#held.get(id);
    if (held !== undefined && this.#options.store === undefined) await this.close(held.session);
  }

  /** The store's record of a session; undefined if there is none. */
  async findStored(id: string): Promise<StoredSession | undefined> {
    const [found] = (await this.#options.store?.list({ sessionId: id })) ?? [];
    return found;
  }

  /** @throws ToolError `not_found` for a session that is neither open nor stored, as a rejection */
  async checkExists(id: string): Promise<void> {
    if (this.#options.runtime.sessions.get(id) === undefined && (await this.findStored(id)) === undefined) throw noSession(id);
  }

  /**
   * Closes all sessions of the server. Sessions that are being resumed, and jobs that a store keeps for the next process, may end for `graceMs` or
   * until the signal aborts, and are then handed over. Jobs that ask something are not waited for, since no request can answer them any more.
   */
  async closeAll(signal?: AbortSignal): Promise<void> {
    this.#isDraining = true;
    this.#closed = true;
    this.#sweep?.();
    this.#stopListening?.();
    const { runtime, store, settings, clock } = this.#options;
    const resuming = (): Promise<unknown>[] => Array.from(this.#resuming.values(), ({ session }) => session);
    const keepsJobs = store?.outlivesProcess === true && runtime.jobs.runHere;
    const jobs = keepsJobs ? [...this.#held.values()].flatMap(({ session }) => session.jobs) : [];
    const work = [...resuming(), ...jobs.map(({ id }) => runtime.jobs.wait(id, { untilAsked: true }))];
    await settlesWithin(Promise.allSettled(work), settings.graceMs, clock, signal);
    const handOvers = Array.from(this.#resuming.keys(), (id) => runtime.sessions.handOver(id));
    await Promise.allSettled([...handOvers, ...resuming()]);
    const sessions = groupCallsBySession(runtime);
    for (const { session } of this.#held.values()) this.#release(session, sessions);
    await Promise.all(this.#releasing.values());
    this.#held.clear();
  }

  /** Whether the session has jobs, which only other processes run. */
  #hasJobsForOthers(session: RuntimeSession): boolean {
    const { runtime, store } = this.#options;
    return store?.queue !== undefined && !runtime.jobs.runHere && session.jobs.length > 0;
  }

  /** Releases a session that nothing here uses. @param sessions sessions with calls in progress, if the caller has them */
  #release(session: RuntimeSession, sessions = groupCallsBySession(this.#options.runtime)): void {
    void this.#trackRelease(session, this.#closeOrHandOver(session, sessions.get(session.id))).catch((thrown: unknown) =>
      this.#options.log.warn(`A session could not be released: ${describeThrown(thrown)}`),
    );
  }

  async #trackRelease(session: RuntimeSession, ending: Promise<void>): Promise<void> {
    const { id } = session;
    if ((this.#held.get(id)?.session ?? session) !== session) return ending; // another request has begun a session with this id since
    this.#held.delete(id);
    const over = ending
      .catch(() => {}) // the caller gets the error
      .finally(() => {
        if (this.#releasing.get(id) === over) this.#releasing.delete(id);
      });
    this.#releasing.set(id, over);
    await ending;
  }

  /** Closes a session, or hands it over. Before the server stops, a session without requests is closed, and calls of the program end in it first. */
  async #closeOrHandOver(session: RuntimeSession, { waiting = [], isWaiting = false }: Partial<SessionCalls> = {}): Promise<void> {
    const { runtime, store } = this.#options;
    const { id } = session;
    const isHandedOver = waiting.length > 0 && this.#isDraining && (isWaiting || this.#closed);
    if (isHandedOver) this.releasedCalls.record(id, waiting);
    const hasJobs = session.jobs.length > 0 && store?.outlivesProcess === true;
    if (!hasJobs && !isHandedOver) return session.close();
    await runtime.sessions.handOver(id);
    if (hasJobs) await store?.queue?.offer([id]);
  }

  /** Releases unused sessions now, and soon after each call that ended or asked, which may have left its session unused. Checks all sessions. */
  #releaseUnused(): void {
    const { runtime } = this.#options;
    this.#closeIdle(0, { most: this.#held.size });
    if (this.#closed) return;
    this.#stopListening ??= runtime.subscribe(({ type }) => {
      if (type === "approval-ask" || type === "call-end") this.#scheduleRelease();
    });
    const parents = this.#parents();
    const sessions = groupCallsBySession(runtime);
    for (const [id, { awaitsPerson, isWaiting, waiting }] of sessions) {
      if (!(this.#releasesUnstarted ? isWaiting : awaitsPerson)) continue;
      const held = this.#held.get(id);
      if (held !== undefined && !this.#mustStayOpen(id, parents)) this.#release(held.session, sessions);
      else if (this.#resuming.has(id)) handOverResume(id, this.#options);
      else if (this.#releasesUnstarted) this.releasedCalls.refuseWaiting(id, waiting);
    }
  }

  async #open(id: string, options: UseOptions): Promise<RuntimeSession> {
    const { runtime, store } = this.#options;
    await this.whenReleased(id);
    const open = runtime.sessions.get(id);
    if (open !== undefined && !(open.broken !== undefined && this.#held.has(id))) return open;
    this.#checkNotDraining();
    if (store === undefined) {
      if (options.create !== true) throw noSession(id);
      this.#checkRequestCapacity();
      const session = runtime.session(id);
      this.add(session);
      return session;
    }
    const before = this.#resuming.get(id);
    if (before !== undefined && !canShareResume(before, options)) {
      await before.session.catch(() => {}); // its own requests get the error
      return this.#open(id, options);
    }
    const resuming = before ?? { ...options, session: this.#resume(id, options) };
    this.#resuming.set(id, resuming);
    try {
      return await resuming.session;
    } finally {
      if (this.#resuming.get(id) === resuming) this.#resuming.delete(id);
    }
  }

  #checkNotDraining(): void {
    if (this.#isDraining) throw stoppingError(); // sessions that were released are for other processes
  }

  async #resume(id: string, { create = false, anyTools = false, ask }: UseOptions): Promise<RuntimeSession> {
    const lost = this.#held.get(id)?.session;
    // a broken session cannot write its events: another process has, or had, the session
    if (lost !== undefined) await this.close(lost).catch(() => {});
    const why = anyTools ? undefined : await this.#missingTools?.findReasonToLeave(id);
    if (why !== undefined) throw waitsForOtherProcessError(id, why);
    this.#checkNotDraining();
    try {
      const { allow } = this.#options;
      const session = await this.#options.runtime.resume(id, { create, allow, ...(ask === undefined ? {} : { ask }) });
      this.add(session);
      return session;
    } catch (thrown: unknown) {
      const error = ToolError.fromUnknown(thrown);
      const stored = error.code === "resource_busy" ? await this.findStored(id) : undefined;
      if (stored?.openedBy !== undefined) throw new SessionElsewhereError(stored, error);
      throw error.code === "not_found" ? noSession(id) : error;
    }
  }

  #touch(id: string, held: HeldSession): void {
    held.usedAt = this.#options.clock.now();
    this.#held.delete(id); // reinserted as the most recently used
    if (!held.session.closed) this.#held.set(id, held);
    const { sessionIdleMs } = this.#options.settings;
    if (this.#closed || this.#sweep !== undefined) return;
    this.#sweep = this.#options.clock.timer(
      () => {
        this.#sweep = undefined;
        this.#closeIdle(sessionIdleMs, { most: this.#held.size });
        void this.#removeExpiredRequests().catch((thrown: unknown) =>
          this.#options.log.warn(`Old requests could not be removed: ${describeThrown(thrown)}`),
        );
        const [next] = this.#held;
        if (next !== undefined) this.#touch(...next);
      },
      sessionIdleMs,
      { background: true },
    );
  }

  /** Removes, once an hour, sessions of requests whose answers have expired. */
  async #removeExpiredRequests(): Promise<void> {
    const { clock, runtime } = this.#options;
    const now = clock.now();
    if (this.#expiredAt !== undefined && now - this.#expiredAt < HOUR_MS) return;
    this.#expiredAt = now;
    await removeExpiredSessions(runtime, {
      prefix: OWN_SESSION_PREFIX,
      via: "api",
      before: clock.wallTime() - REQUEST_RETENTION_MS,
      shouldStop: () => this.#closed,
    });
  }

  /** Closes idle sessions that the store has completely, except branches and their parents: a branch is one only while both are open. */
  #closeIdle(idleMs: number, { most, except }: { readonly most: number; readonly except?: string }): void {
    const now = this.#options.clock.now();
    const parents = this.#parents();
    let left = most;
    let sessions: ReadonlyMap<string, SessionCalls> | undefined;
    for (const [id, { session, usedAt }] of this.#held) {
      if (left <= 0) return;
      if (id === except || this.#uses.has(id) || now - usedAt < idleMs || session.jobs.length > 0 || this.#mustStayOpen(id, parents))
        continue;
      left--;
      this.#release(session, (sessions ??= groupCallsBySession(this.#options.runtime)));
    }
  }

  /** Limits the sessions of requests without a store, where only its session remembers an unfinished request. @throws ToolError `unavailable` */
  #checkRequestCapacity(): void {
    const { maxOpenSessions } = this.#options.settings;
    const own = [...this.#held.keys()].filter((id) => id.startsWith(OWN_SESSION_PREFIX));
    if (own.length >= maxOpenSessions) throw tooManyKeyedRequests();
  }

  #parents(): ReadonlySet<string | undefined> {
    return new Set(this.#options.runtime.sessions.list().map(({ parent }) => parent?.id));
  }

  /** Whether an idle session stays open: branches and their parents; without a store, every session but those of requests with an expired key. */
  #mustStayOpen(id: string, parents: ReadonlySet<string | undefined>): boolean {
    const held = this.#held.get(id);
    if (held === undefined) return false;
    if (held.session.parent !== undefined || parents.has(id)) return true;
    return this.#options.store === undefined && !isExpiredRequest(id, this.#options.clock.now() - held.usedAt);
  }
}
