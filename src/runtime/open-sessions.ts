/** The sessions that a runtime has open, by id. */
import { pushAll } from "../core/collections/push-all.ts";
import type { CallServices } from "../call/call-run.ts";
import { recordHandOver } from "../call/jobs/run-in-background.ts";
import { cancelSessionCalls } from "../call/running-calls.ts";
import { ToolError } from "../core/error.ts";
import { MultiMap } from "../core/collections/multi-map.ts";
import { checkString } from "../core/check-argument.ts";
import type { Store } from "../core/store/store.ts";
import { revokeSessionKeys } from "../session/revoke-session-keys.ts";
import { checkSessionId } from "../session/session-id.ts";
import { findBranch, removeClosed, removeStored } from "./resume/end-stored-calls.ts";
import {
  beingRemovedError,
  handedOverError,
  hasBranchError,
  removedWhileResumedError,
  resumeCancelledError,
  idTakenError,
  removedAfterCloseError,
} from "./session-errors.ts";
import { PendingResume, type ResumeCaller } from "./resume/pending-resume.ts";
import type { RuntimeSession } from "./runtime-session.ts";

export interface OpenSessionsOptions {
  readonly store: Store | undefined;
  readonly services: Pick<CallServices, "jobs" | "ports" | "running">;
}

/** Contains each session from its start, or from the end of `resume`, until its `close` is called. */
export class OpenSessions {
  /** Oldest first; includes sessions that are being closed. */
  readonly #byId = new Map<string, RuntimeSession>();
  readonly #resuming = new Map<string, PendingResume>();
  /** Sessions that calls began, by the sessions of these calls. */
  readonly #nestedSessions = new MultiMap<string, RuntimeSession>();
  /** The ids of sessions that are being resumed, by the session whose call resumes them; undefined for those that a program resumes. */
  readonly #resumingByCaller = new MultiMap<string | undefined, string>();
  /** The removals in progress: their ids are taken until they end. */
  readonly #removing = new Map<string, Promise<unknown>>();
  /** Sessions that were removed from the store. */
  readonly #removed = new WeakSet<RuntimeSession>();
  /** The branches that the store has, open or closed, until their ids are removed or used again here. */
  readonly #branches = new Map<string, WeakRef<RuntimeSession>>();
  readonly #options: OpenSessionsOptions;

  /** @internal */
  constructor(options: OpenSessionsOptions) {
    this.#options = options;
  }

  /** The open session or branch with this id, including simulated branches. */
  get(id: string): RuntimeSession | undefined {
    checkString(id, "sessions.get()", "the id of a session");
    const session = this.#byId.get(id);
    return session !== undefined && this.#isListed(session) ? session : undefined;
  }

  /** Open sessions and branches, in the order in which they began, without simulated branches. */
  list(): readonly RuntimeSession[] {
    return [...this.#byId.values()].filter((session) => this.#isListed(session) && !session.simulated);
  }

  /**
   * Closes a session if it is open here, and removes it from the store for good, with its API keys revoked. Calls that run in it are cancelled and
   * awaited, unless one of them requests this. Sessions that its calls began are kept, and the open calls in them are ended. A resume in progress is
   * aborted, and rejects with `conflict`. Until this ends, the id can be neither used for a new session nor resumed: both are refused with
   * `resource_busy`. Resolves to whether the session existed.
   *
   * @throws ToolError `resource_busy` while another process, or another runtime of this one, has it open; `duplicate` if the session of this runtime
   * was never stored because the store has another session with the id, which is kept; `conflict` while other sessions are branches of it, in which
   * case its calls continue; as a rejection
   */
  async forget(id: string): Promise<boolean> {
    checkSessionId(id);
    return this.#serializeRemoval(id, () => this.#forget(id));
  }

  /**
   * Closes a session and removes it from the store, as `forget` does. No effect if that has happened before: another session may have its id since.
   * Until this ends, the id is taken.
   *
   * @param options.endsNested whether to end the open calls in sessions that its calls began
   * @throws ToolError as `Store.remove`; `resource_busy` if another session of this runtime has the id; as a rejection
   * @internal
   */
  async removeOnce(session: RuntimeSession, { endsNested }: { readonly endsNested: boolean }): Promise<void> {
    await this.#serializeRemoval(session.id, async () => {
      const wasHeld = this.#byId.get(session.id) === session;
      const isStored = await this.#closeOwn(session);
      if (this.#removed.has(session) || (!wasHeld && !(await this.#isStillStored(session)))) return;
      const { id, eventLog } = session;
      const isTaken = (this.#byId.get(id) ?? session) !== session || this.#resuming.has(id);
      if (isTaken && eventLog !== undefined) throw idTakenError(id);
      if (!isTaken && endsNested) await this.#endNestedSessions(id);
      const { store } = this.#options;
      if (store !== undefined && eventLog !== undefined && isStored)
        await removeClosed(store, id, { createdAt: eventLog.options.at, at: this.#now });
      this.#removed.add(session);
      if (!isTaken) this.#branches.delete(id);
    });
  }

  /** False if the store never had the session because it has another one with this id, which is kept. */
  async #closeOwn(session: RuntimeSession): Promise<boolean> {
    try {
      await session.close();
      return true;
    } catch (thrown: unknown) {
      const error = ToolError.fromUnknown(thrown, "store_failed");
      if (error.code === "duplicate") return false;
      throw error;
    }
  }

  /**
   * Call this before using what the store has of a session. If the session was removed after it was closed, here or by another process, it is broken
   * from now on, with `conflict`.
   *
   * @throws ToolError as `Store.list`, as a rejection
   * @internal
   */
  async markIfRemoved(session: RuntimeSession): Promise<void> {
    if (session.eventLog === undefined || this.#byId.get(session.id) === session) return;
    if (this.#removed.has(session) || !(await this.#isStillStored(session))) session.markLost(removedAfterCloseError(session.id));
  }

  /** Whether the stored session under the id of a closed session may be that session: a log has one start, and only grows. */
  async #isStillStored(session: RuntimeSession): Promise<boolean> {
    const { id, eventLog, broken, length } = session;
    if (eventLog !== undefined && this.#branches.get(id)?.deref() !== session) return false;
    const [stored] = eventLog === undefined ? [] : ((await this.#options.store?.list({ sessionId: id })) ?? []);
    if (stored?.sessionId !== id) return true; // there is nothing that could be another session's
    return stored.createdAt === eventLog?.options.at && (broken !== undefined || stored.length >= length);
  }

  /** Serializes the removals of an id, which is free when the last one has ended. */
  async #serializeRemoval<T>(id: string, remove: () => Promise<T>): Promise<T> {
    const isInside = (): boolean => this.#byId.get(id)?.turns.isInside === true; // waiting would deadlock
    for (let removing = this.#removing.get(id); removing !== undefined && !isInside(); removing = this.#removing.get(id)) await removing;
    const outerRemoval = this.#removing.get(id); // only if a call of the session requests this while the session is being removed
    const removing = remove();
    // Each caller gets its own error.
    const settled = Promise.allSettled([removing, outerRemoval]).finally(() => {
      if (this.#removing.get(id) === settled) this.#removing.delete(id);
    });
    this.#removing.set(id, settled);
    if (outerRemoval === undefined) await settled; // the id is free when this resolves
    return removing;
  }

  async #forget(id: string): Promise<boolean> {
    if (this.#resuming.has(id)) await this.#abortResume(id);
    const holder = this.#resuming.has(id) ? undefined : this.#byId.get(id); // a session that is being closed is awaited as well
    const session = holder?.isEphemeral === true ? undefined : holder;
    if (session !== undefined) {
      const branchId = await this.#findBranch(session);
      if (branchId !== undefined) throw hasBranchError(session, branchId); // before calls are cancelled for nothing
      session.markClosed(); // first, so that no call begins after the cancellation
      if (!session.turns.isInside) cancelSessionCalls(session, this.#options.services.running, "the session was removed");
      await session.close();
    }
    const { store } = this.#options;
    // The requesting call may still use the session that it began.
    const isInside = session?.turns.isInside === true;
    let wasThere = session !== undefined;
    if (store !== undefined) {
      wasThere = (isInside ? await store.remove(id) : await removeStored(store, id, this.#now)) || wasThere;
      if (isInside) await revokeSessionKeys(store.access, id, this.#now);
    }
    if (session !== undefined) this.#removed.add(session);
    this.#branches.delete(id);
    if (!isInside) await this.#endNestedSessions(id);
    return wasThere;
  }

  get #now(): number {
    return this.#options.services.ports.clock.wallTime();
  }

  /** The id of a branch that keeps a session from being removed, whether or not it is open here. */
  async #findBranch(session: RuntimeSession): Promise<string | undefined> {
    const branch = this.list().find(({ parent, eventLog }) => parent === session && eventLog !== undefined);
    const { store } = this.#options;
    if (branch !== undefined || session.eventLog === undefined || store === undefined) return branch?.id;
    return findBranch(store, session.id);
  }

  /** Closes the open sessions that calls of a session began: their handlers may not have closed them when they were cancelled. */
  async #endNestedSessions(id: string): Promise<void> {
    const end = async (inner: RuntimeSession): Promise<void> => {
      inner.markClosed();
      cancelSessionCalls(inner, this.#options.services.running, "the session was removed");
      await inner.close();
      await this.#endNestedSessions(inner.id);
    };
    const within = this.#listNestedSessions(id).filter(({ turns }) => !turns.isInside);
    for (const ended of await Promise.allSettled(within.map(end))) if (ended.status === "rejected") throw ended.reason;
  }

  /** Moves the sessions that a branch's calls left open to the session that these calls belong to now. @internal */
  moveNestedSessions(branch: RuntimeSession, parent: RuntimeSession): void {
    for (const session of this.#nestedSessions.get(branch.id)) {
      this.#nestedSessions.delete(branch.id, session);
      session.setParentSession(parent.id);
      this.#nestedSessions.add(parent.id, session);
    }
  }

  /** Aborts a resume whose session is being removed. If a call of the session requests the removal, its end is not awaited. */
  async #abortResume(id: string): Promise<void> {
    const isInside = this.#byId.get(id)?.turns.isInside === true;
    const handedOver = this.#handOver(id, removedWhileResumedError);
    if (isInside) return;
    await this.#resuming.get(id)?.whenEnded;
    for (const one of handedOver)
      await this.#byId
        .get(one)
        ?.close()
        .catch(() => {}); // events that could not be written are removed anyway
    for (const one of handedOver) this.#options.services.jobs.forget(one);
  }

  /** The ids of the sessions that are being resumed, the oldest resume first, without those that a call resumes. */
  get resuming(): readonly string[] {
    return this.#resumingByCaller.get(undefined);
  }

  /**
   * Closes a stored session and leaves its background jobs to the process that resumes it: nothing more of them is recorded here, and their handlers
   * are cancelled. That process starts the jobs that were not started, and treats started ones as after a crash: they are run again if they may be
   * repeated. The same applies to every call in flight, whose caller gets `conflict`; `Runtime.underWay` lists the calls for which nothing is lost.
   * Their questions stay open, and are asked again there. Sessions that these calls began by `sessionWithin` are closed with it.
   *
   * If the session is being resumed, its continuing calls are left in the same way, and its `resume` rejects with `conflict`. Resolves to whether it
   * was open here, or being resumed.
   *
   * @throws ToolError `store_failed` if recorded events cannot be written; `conflict` if another process has claimed it already; as a rejection
   */
  async handOver(id: string): Promise<boolean> {
    const resuming = this.#resuming.get(id);
    const session = resuming === undefined ? this.get(id) : this.#byId.get(id);
    if (session === undefined && resuming === undefined) return false;
    if (resuming?.settles === true) {
      await resuming.whenEnded;
      await this.#byId.get(id)?.close();
      return true;
    }
    const handedOver = this.#handOver(id, handedOverError);
    const ends = await Promise.allSettled(handedOver.map((one) => this.#closeHandedOver(one)));
    for (const one of handedOver) this.#options.services.jobs.forget(one); // what is known of its jobs here is outdated
    for (const end of ends) if (end.status === "rejected") throw end.reason;
    return true;
  }

  /** The open sessions that calls of a session began. */
  #listNestedSessions(id: string): readonly RuntimeSession[] {
    return this.#nestedSessions.get(id).filter((session) => this.#byId.get(session.id) === session);
  }

  /** Closes a session that was left, or waits for the end of its resume; its id is then free. */
  async #closeHandedOver(id: string): Promise<void> {
    const resuming = this.#resuming.get(id);
    await this.#byId.get(id)?.close();
    await resuming?.whenEnded;
  }

  /**
   * Resolves when an earlier owner of the id, such as an earlier attempt of a call, has closed its session or aborted its resume, and when a removal
   * has ended.
   *
   * @param refusal returns why the caller can no longer have the id, if so; called after the wait
   * @throws ToolError the refusal, as a rejection
   * @internal
   */
  async whenIdFree(id: string, refusal: () => ToolError | undefined): Promise<void> {
    let isFree = false;
    while (!isFree) {
      const resuming = this.#resuming.get(id);
      const session = this.#byId.get(id);
      const removing = session?.turns.isInside === true ? undefined : this.#removing.get(id);
      if (removing !== undefined) await removing;
      else if (resuming?.reason !== undefined) await resuming.whenEnded;
      else if (resuming === undefined && session?.closed === true && !session.turns.isInside) await session.close().catch(() => {});
      else isFree = true;
    }
    const refused = refusal();
    if (refused !== undefined) throw refused;
  }

  /** Resolves when the session is not being resumed. @internal */
  async whenResumed(id: string): Promise<void> {
    for (let resuming = this.#resuming.get(id); resuming !== undefined; resuming = this.#resuming.get(id)) await resuming.whenEnded;
  }

  /** Closes all sessions to further calls. @internal */
  refuseAllCalls(): void {
    for (const session of this.#byId.values()) session.markClosed();
  }

  /** Aborts every resume in progress, as `handOver` does, because the runtime is being closed. @internal */
  abortResumes(): void {
    for (const id of this.#resuming.keys()) this.#handOver(id, resumeCancelledError);
  }

  /**
   * Stops recording events of the session and of those that its calls began, and cancels their calls, including those of a batch that have not begun.
   * Returns the ids of all these sessions, its own first.
   */
  #handOver(id: string, reason: (id: string) => ToolError): readonly string[] {
    const resuming = this.#resuming.get(id);
    if (resuming?.settles === true) return [];
    const handedOver = [id];
    const session = this.#byId.get(id);
    if (session !== undefined) for (const run of this.#options.services.running.inSession(session)) recordHandOver(run);
    resuming?.abort(reason(id));
    session?.markHandedOver(reason(id));
    for (const inner of this.#resumingByCaller.get(id)) pushAll(handedOver, this.#handOver(inner, reason));
    for (const { id: inner } of this.#listNestedSessions(id))
      if (!handedOver.includes(inner)) pushAll(handedOver, this.#handOver(inner, reason));
    if (session !== undefined) cancelSessionCalls(session, this.#options.services.running, "its session was handed over");
    return handedOver;
  }

  /** The session that has the id, even while it is being closed. @internal */
  findById(id: string): RuntimeSession | undefined {
    return this.#byId.get(id);
  }

  /** All sessions, including those that are being closed. @internal */
  all(): Iterable<RuntimeSession> {
    return this.#byId.values();
  }

  /** @internal */
  add(session: RuntimeSession): void {
    const { id, parent, eventLog, parentCall } = session;
    this.#byId.set(id, session);
    if (parentCall !== undefined) this.#nestedSessions.add(parentCall.sessionId, session);
    if (this.#resuming.has(id)) return; // a session that is being resumed has the log of that branch
    if (parent !== undefined && eventLog !== undefined) this.#branches.set(id, new WeakRef(session));
    else this.#branches.delete(id);
  }

  /** Called with each session that is no longer open. @internal */
  onRemoved: ((session: RuntimeSession) => void) | undefined;

  /** Frees its id, unless another session has it since. @internal */
  remove(session: RuntimeSession): void {
    if (this.#byId.get(session.id) === session) this.#byId.delete(session.id);
    if (session.parentCall !== undefined) this.#nestedSessions.delete(session.parentCall.sessionId, session);
    this.onRemoved?.(session);
  }

  /** Reserves an id until a resume has ended. @param call the call that resumes the session @throws ToolError as `checkFree` @internal */
  reserve(id: string, call: ResumeCaller): PendingResume {
    this.checkFree(id);
    const resuming = new PendingResume(call, () => {
      this.#resuming.delete(id);
      this.#resumingByCaller.delete(call.outerId, id);
    });
    this.#resuming.set(id, resuming);
    this.#resumingByCaller.add(call.outerId, id);
    return resuming;
  }

  /** The first of these ids that is not in use. @internal */
  unusedId(next: () => string): string {
    let id = next();
    while (this.#byId.has(id)) id = next();
    return id;
  }

  /** @throws ToolError `duplicate`; `resource_busy` while the session is being removed @internal */
  checkFree(id: string): void {
    if (this.#removing.has(id)) throw beingRemovedError(id);
    if (!this.#byId.has(id) && !this.#resuming.has(id)) return;
    throw new ToolError("duplicate", `The session ${JSON.stringify(id)} is open already, or is being resumed.`, {
      hint: "Use the object you have, close it first, or take another id.",
    });
  }

  #isListed({ id, closed, isEphemeral }: RuntimeSession): boolean {
    return !closed && !isEphemeral && !this.#resuming.has(id);
  }
}
