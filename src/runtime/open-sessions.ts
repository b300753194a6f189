/** The sessions that a runtime has open, by their ids. */
import type { CallParts } from "../call/call-run.ts";
import { recordHandOver } from "../call/jobs/run-in-background.ts";
import { endCalls } from "../call/running-calls.ts";
import { ToolError } from "../core/error.ts";
import { Groups } from "../core/base/groups.ts";
import { checkText } from "../core/check-argument.ts";
import type { Store } from "../core/store.ts";
import { checkSessionId } from "../session/session-id.ts";
import { branchOf, removeClosed, removeStored } from "./end-stored-calls.ts";
import { beingRemoved, handedOver, hasBranch, removedMeanwhile, resumeEnded, takenAgain, wasRemoved } from "./session-errors.ts";
import { Resuming, type ResumingCall } from "./resuming.ts";
import type { RuntimeSession } from "./runtime-session.ts";

export interface OpenSessionsOptions {
  readonly store: Store | undefined;
  readonly parts: Pick<CallParts, "jobs" | "ports" | "running">;
}

/** A session is here from its beginning, or from the end of `resume`, until its `close` is called. */
export class OpenSessions {
  /** Oldest first; also those whose `close` is under way. */
  readonly #byId = new Map<string, RuntimeSession>();
  readonly #resuming = new Map<string, Resuming>();
  /** Those that calls have begun, by the sessions of these calls. */
  readonly #within = new Groups<string, RuntimeSession>();
  /** The ids of those that are being resumed, by the session whose call does that; undefined for those that a program resumes. */
  readonly #resumingWithin = new Groups<string | undefined, string>();
  /** The ends of the removals that are under way: the ids are taken until then. */
  readonly #removing = new Map<string, Promise<unknown>>();
  /** Sessions of which the store has nothing any more. */
  readonly #forgotten = new WeakSet<RuntimeSession>();
  /** The branches that the store has, open or closed, until their ids are removed or begun again here. */
  readonly #branches = new Map<string, WeakRef<RuntimeSession>>();
  readonly #options: OpenSessionsOptions;

  /** @internal */
  constructor(options: OpenSessionsOptions) {
    this.#options = options;
  }

  /** The open session or branch of this id, simulated branches included. */
  get(id: string): RuntimeSession | undefined {
    checkText(id, "sessions.get()", "the id of a session");
    const session = this.#byId.get(id);
    return session !== undefined && this.#isShown(session) ? session : undefined;
  }

  /** Open sessions and branches in the order in which they began. Simulated branches leave no trace, and are not listed. */
  list(): readonly RuntimeSession[] {
    return [...this.#byId.values()].filter((session) => this.#isShown(session) && !session.simulated);
  }

  /**
   * Closes a session if it is open here, and removes what the store has of it for good. Calls that run in it are cancelled, and waited for, unless
   * one of them asks for this. Sessions that its calls have begun stay, and what is open in them is ended. A resume that is under way is given up, and rejects with `conflict`. Until this has ended, the id can be neither begun nor
   * resumed: both are refused with `resource_busy`. Resolves to whether there was one.
   *
   * @throws ToolError `resource_busy` while another process, or another runtime of this one, has it open; `duplicate` where the session of this
   * runtime was never stored, because the store has another one of the id, which stays; `conflict` while others are branches of it; its calls go on
   * then. By rejecting
   */
  async forget(id: string): Promise<boolean> {
    checkSessionId(id);
    return this.#removeAlone(id, () => this.#forget(id));
  }

  /**
   * Closes a session and removes what the store has of it, as `forget`. Without effect where that has happened before: its id may be another session's
   * since. Until this has ended, the id is taken.
   *
   * @param options.endsWithin whether what is open in sessions that its calls have begun is ended
   * @throws ToolError as `Store.remove`; `resource_busy` where another session of this runtime has the id. By rejecting
   * @internal
   */
  async forgetOnce(session: RuntimeSession, { endsWithin }: { readonly endsWithin: boolean }): Promise<void> {
    await this.#removeAlone(session.id, async () => {
      const wasHeld = this.#byId.get(session.id) === session;
      const isStored = await this.#closeOwn(session);
      if (this.#forgotten.has(session) || (!wasHeld && !(await this.#isKept(session)))) return;
      const { id, eventLog } = session;
      const isTaken = (this.#byId.get(id) ?? session) !== session || this.#resuming.has(id);
      if (isTaken && eventLog !== undefined) throw takenAgain(id);
      if (!isTaken && endsWithin) await this.#endWithin(id);
      const { store } = this.#options;
      if (store !== undefined && eventLog !== undefined && isStored) await removeClosed(store, id, eventLog.options.at);
      this.#forgotten.add(session);
      if (!isTaken) this.#branches.delete(id);
    });
  }

  /** False where the store never had the session, because it has another one of this id, which stays. */
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
   * To be called before what the store has of a session is used. One that was removed after it was closed, here or by another process, is broken from
   * then on, with `conflict`.
   *
   * @throws ToolError as `Store.list`. By rejecting
   * @internal
   */
  async noteRemoval(session: RuntimeSession): Promise<void> {
    if (session.eventLog === undefined || this.#byId.get(session.id) === session) return;
    if (this.#forgotten.has(session) || !(await this.#isKept(session))) session.noteLoss(wasRemoved(session.id));
  }

  /** Whether what the store has under the id of a closed session may be its own: a log begins once, and only becomes longer. */
  async #isKept(session: RuntimeSession): Promise<boolean> {
    const { id, eventLog, broken, length } = session;
    if (eventLog !== undefined && this.#branches.get(id)?.deref() !== session) return false;
    const [stored] = eventLog === undefined ? [] : ((await this.#options.store?.list({ sessionId: id })) ?? []);
    if (stored?.sessionId !== id) return true; // there is nothing that could be another's
    return stored.createdAt === eventLog?.options.at && (broken !== undefined || stored.length >= length);
  }

  /** Removals of an id come one after the other, and it is free when the last has ended. */
  async #removeAlone<T>(id: string, remove: () => Promise<T>): Promise<T> {
    const isInside = (): boolean => this.#byId.get(id)?.turns.isInside === true; // waiting would wait for itself
    for (let removing = this.#removing.get(id); removing !== undefined && !isInside(); removing = this.#removing.get(id)) await removing;
    const around = this.#removing.get(id); // only where a call of the session asks while it is removed
    const removing = remove();
    // The caller of each gets its error.
    const over = Promise.allSettled([removing, around]).finally(() => {
      if (this.#removing.get(id) === over) this.#removing.delete(id);
    });
    this.#removing.set(id, over);
    if (around === undefined) await over; // the id is free when this has ended
    return removing;
  }

  async #forget(id: string): Promise<boolean> {
    if (this.#resuming.has(id)) await this.#giveUp(id);
    const holder = this.#resuming.has(id) ? undefined : this.#byId.get(id); // one that is being closed is waited for as well
    const session = holder?.isEphemeral === true ? undefined : holder;
    if (session !== undefined) {
      const branchId = await this.#branchOf(session);
      if (branchId !== undefined) throw hasBranch(session, branchId); // before calls are cancelled for nothing
      session.markClosed(); // before, so that no call begins behind those that are cancelled
      if (!session.turns.isInside) endCalls(session, this.#options.parts.running, "the session was removed");
      await session.close();
    }
    const { store, parts } = this.#options;
    // The call that asks may still use the session that it has begun.
    const isInside = session?.turns.isInside === true;
    let wasThere = session !== undefined;
    if (store !== undefined)
      wasThere = (isInside ? await store.remove(id) : await removeStored(store, id, parts.ports.clock.wallTime())) || wasThere;
    if (session !== undefined) this.#forgotten.add(session);
    this.#branches.delete(id);
    if (!isInside) await this.#endWithin(id);
    return wasThere;
  }

  /** The id of a branch that keeps a session from being removed, whether or not it is open here. */
  async #branchOf(session: RuntimeSession): Promise<string | undefined> {
    const branch = this.list().find(({ parent, eventLog }) => parent === session && eventLog !== undefined);
    const { store } = this.#options;
    if (branch !== undefined || session.eventLog === undefined || store === undefined) return branch?.id;
    return branchOf(store, session.id);
  }

  /** Closes the sessions that calls of a session have begun and that are open here: their handlers may not have done so when they were cancelled. */
  async #endWithin(id: string): Promise<void> {
    const end = async (inner: RuntimeSession): Promise<void> => {
      inner.markClosed();
      endCalls(inner, this.#options.parts.running, "the session was removed");
      await inner.close();
      await this.#endWithin(inner.id);
    };
    const within = this.#heldWithin(id).filter(({ turns }) => !turns.isInside);
    for (const ended of await Promise.allSettled(within.map(end))) if (ended.status === "rejected") throw ended.reason;
  }

  /** Gives the sessions that calls of a branch have begun, and left open, to the session that these calls are part of now. @internal */
  moveWithin(branch: RuntimeSession, parent: RuntimeSession): void {
    for (const session of this.#within.of(branch.id)) {
      this.#within.delete(branch.id, session);
      session.moveTo(parent.id);
      this.#within.add(parent.id, session);
    }
  }

  /** Ends a resume whose session is being removed. A call of it that asks for that does not wait for its own end. */
  async #giveUp(id: string): Promise<void> {
    const isInside = this.#byId.get(id)?.turns.isInside === true;
    const left = this.#leave(id, removedMeanwhile);
    if (isInside) return;
    await this.#resuming.get(id)?.whenOver;
    for (const one of left)
      await this.#byId
        .get(one)
        ?.close()
        .catch(() => {}); // what it could not write goes as well
    for (const one of left) this.#options.parts.jobs.forget(one);
  }

  /** The ids of the sessions that are being resumed, the oldest resume first, without those that belong to a call. */
  get resuming(): readonly string[] {
    return this.#resumingWithin.of(undefined);
  }

  /**
   * Closes a session that a store keeps, and leaves its background jobs to the process that resumes it: nothing is recorded of them from now on,
   * and their handlers are cancelled. There, one that was not started is started, and one that was is treated as after a crash: it is run again
   * where it may be repeated. So is every call under way, whose caller gets `conflict`: `Runtime.underWay` says of which calls nothing is lost. A question of theirs
   * stays open, and is asked again there. Sessions that these calls have begun by `sessionWithin` are closed with it.
   *
   * Of a session that is being resumed, the calls that continue are left in the same way, and its `resume` rejects with `conflict`. Resolves to
   * whether it was open here, or being resumed.
   *
   * @throws ToolError `store_failed` where what was recorded cannot be written; `conflict` where another process has it already. By rejecting
   */
  async handOver(id: string): Promise<boolean> {
    const resuming = this.#resuming.get(id);
    const session = resuming === undefined ? this.get(id) : this.#byId.get(id);
    if (session === undefined && resuming === undefined) return false;
    if (resuming?.settles === true) {
      await resuming.whenOver;
      await this.#byId.get(id)?.close();
      return true;
    }
    const left = this.#leave(id, handedOver);
    const ends = await Promise.allSettled(left.map((one) => this.#endLeft(one)));
    for (const one of left) this.#options.parts.jobs.forget(one); // what is known here of its jobs is no longer true
    for (const end of ends) if (end.status === "rejected") throw end.reason;
    return true;
  }

  /** The sessions that calls of a session have begun. */
  #heldWithin(id: string): readonly RuntimeSession[] {
    return this.#within.of(id).filter((session) => this.#byId.get(session.id) === session);
  }

  /** Closes a session that was left, or waits for the end of its resume: its id is free then. */
  async #endLeft(id: string): Promise<void> {
    const resuming = this.#resuming.get(id);
    await this.#byId.get(id)?.close();
    await resuming?.whenOver;
  }

  /**
   * Resolves when an earlier owner of the id, such as an earlier attempt of a call, has closed its session or has given up its resume, and when a removal is over.
   *
   * @param refusal why the caller cannot have the id any more; asked when the wait is over
   * @throws ToolError that. By rejecting
   * @internal
   */
  async whenLeft(id: string, refusal: () => ToolError | undefined): Promise<void> {
    let isLeft = false;
    while (!isLeft) {
      const resuming = this.#resuming.get(id);
      const session = this.#byId.get(id);
      const removing = session?.turns.isInside === true ? undefined : this.#removing.get(id);
      if (removing !== undefined) await removing;
      else if (resuming?.reason !== undefined) await resuming.whenOver;
      else if (resuming === undefined && session?.closed === true && !session.turns.isInside) await session.close().catch(() => {});
      else isLeft = true;
    }
    const refused = refusal();
    if (refused !== undefined) throw refused;
  }

  /** Resolves when the session is not being resumed. @internal */
  async whenResumed(id: string): Promise<void> {
    for (let resuming = this.#resuming.get(id); resuming !== undefined; resuming = this.#resuming.get(id)) await resuming.whenOver;
  }

  /** Refuses every further call. @internal */
  refuseAll(): void {
    for (const session of this.#byId.values()) session.markClosed();
  }

  /** Gives up every resume that is under way, as `handOver` does: the runtime is closed. @internal */
  leaveResumes(): void {
    for (const id of this.#resuming.keys()) this.#leave(id, resumeEnded);
  }

  /**
   * From now on nothing more is recorded of the session, nor of those that its calls have begun, and their calls are cancelled, also those of a batch
   * that have not begun. Returns the ids of all these sessions, its own first.
   */
  #leave(id: string, reason: (id: string) => ToolError): readonly string[] {
    const resuming = this.#resuming.get(id);
    if (resuming?.settles === true) return [];
    const left = [id];
    const session = this.#byId.get(id);
    if (session !== undefined) for (const run of this.#options.parts.running.in(session)) recordHandOver(run);
    resuming?.leave(reason(id));
    session?.leave(reason(id));
    for (const inner of this.#resumingWithin.of(id)) left.push(...this.#leave(inner, reason));
    for (const { id: inner } of this.#heldWithin(id)) if (!left.includes(inner)) left.push(...this.#leave(inner, reason));
    if (session !== undefined) endCalls(session, this.#options.parts.running, "its session was handed over");
    return left;
  }

  /** Every session that has the id, also while it is being closed. @internal */
  holderOf(id: string): RuntimeSession | undefined {
    return this.#byId.get(id);
  }

  /** Every session, also those that are being closed. @internal */
  all(): Iterable<RuntimeSession> {
    return this.#byId.values();
  }

  /** @internal */
  add(session: RuntimeSession): void {
    const { id, parent, eventLog, parentCall } = session;
    this.#byId.set(id, session);
    if (parentCall !== undefined) this.#within.add(parentCall.sessionId, session);
    if (this.#resuming.has(id)) return; // it has the log of the branch
    if (parent !== undefined && eventLog !== undefined) this.#branches.set(id, new WeakRef(session));
    else this.#branches.delete(id);
  }

  /** Called with each session that is not open any more. @internal */
  whenRemoved: ((session: RuntimeSession) => void) | undefined;

  /** Frees its id, unless another session has taken that since. @internal */
  remove(session: RuntimeSession): void {
    if (this.#byId.get(session.id) === session) this.#byId.delete(session.id);
    if (session.parentCall !== undefined) this.#within.delete(session.parentCall.sessionId, session);
    this.whenRemoved?.(session);
  }

  /** Keeps an id for a session that is being resumed, until that is over. @param call that resumes it @throws ToolError as `checkFree` @internal */
  reserve(id: string, call: ResumingCall): Resuming {
    this.checkFree(id);
    const resuming = new Resuming(call, () => {
      this.#resuming.delete(id);
      this.#resumingWithin.delete(call.outerId, id);
    });
    this.#resuming.set(id, resuming);
    this.#resumingWithin.add(call.outerId, id);
    return resuming;
  }

  /** The first of these ids that no session has. @internal */
  unusedId(next: () => string): string {
    let id = next();
    while (this.#byId.has(id)) id = next();
    return id;
  }

  /** @throws ToolError `duplicate`; `resource_busy` while it is being removed @internal */
  checkFree(id: string): void {
    if (this.#removing.has(id)) throw beingRemoved(id);
    if (!this.#byId.has(id) && !this.#resuming.has(id)) return;
    throw new ToolError("duplicate", `The session ${JSON.stringify(id)} is open already, or is being resumed.`, {
      hint: "Use the object you have, close it first, or take another id.",
    });
  }

  #isShown({ id, closed, isEphemeral }: RuntimeSession): boolean {
    return !closed && !isEphemeral && !this.#resuming.has(id);
  }
}
