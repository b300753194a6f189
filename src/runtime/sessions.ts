/** The sessions of a runtime: begun, branched, resumed after a crash, and ended. */
import type { ToolCall } from "../core/call.ts";
import type { Engine } from "../core/engine.ts";
import { ToolError } from "../core/error.ts";
import type { BranchPoint, CallPlace, SessionEvent } from "../core/event.ts";
import type { JsonValue } from "../core/base/json.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import type { ToolResult } from "../core/result.ts";
import type { EventLog, Store } from "../core/store.ts";
import { NO_CALLS } from "../policy/fault-tally.ts";
import type { AdmittedCall, CallParts } from "../call/call-run.ts";
import type { ExecuteOptions } from "../call/execute-options.ts";
import type { CallRunner } from "./run-calls.ts";
import { commitBranch } from "./commit-branch.ts";
import { SessionFold } from "./fold-events.ts";
import { discardBranch, forgetBranch } from "./forget-branch.ts";
import { headAt } from "./head-at.ts";
import { OpenSessions, type Resuming } from "./open-sessions.ts";
import { ownEvents, recordedEvents } from "./recorded-events.ts";
import { checkResumeOptions, claimLog, resumeSession, type ResumeOptions } from "./resume-session.ts";
import { RuntimeSession, type RuntimeSessionOptions, type SessionHost, type SessionTurn } from "./runtime-session.ts";
import type { VisibilityRules } from "../policy/visibility.ts";
import { checkForkOptions, type ForkOptions } from "../session/fork-options.ts";
import type { SessionHead, Surroundings } from "../session/session.ts";
import { checkSessionId, shortId } from "../session/session-id.ts";
import { branchName, sideEffects, simulationParts } from "./simulation-parts.ts";
import { SimulationMode } from "../session/simulation-mode.ts";
import { foldLog, recordStart, surroundingsOf, type SessionStart } from "./session-start.ts";
import { cancelRequestsIn } from "./stored-jobs.ts";
import { closedSession, storeFor } from "./session-errors.ts";
import {
  byEngine,
  byToolset,
  copiedEvents,
  makeSnapshot,
  readSnapshot,
  type ReadSnapshot,
  type SessionSnapshot,
  type ToolsetEngines,
} from "./snapshot.ts";
import { submitCalls } from "./submit-calls.ts";
import { whenStored } from "./when-stored.ts";

export interface SessionsOptions extends ToolsetEngines {
  readonly parts: CallParts;
  readonly runner: CallRunner;
  readonly store: Store | undefined;
  readonly durability: "sync" | "async";
  /** How many events of a stored session stay in memory, at least. */
  readonly keepEvents: number;
}

/** The parts of a new session. */
interface Beginning extends Surroundings, Pick<RuntimeSessionOptions, "seedName"> {
  readonly read?: ReadSnapshot | undefined;
  readonly parentCall?: CallPlace | undefined;
}

/** How a session is resumed, by a program or by the call that it belongs to. */
interface TakeUpOptions extends ResumeOptions {
  readonly parentCall?: CallPlace | undefined;
  readonly resuming: Resuming;
}

type BranchBase = Required<Pick<RuntimeSessionOptions, "head" | "parent">>;

export class Sessions implements SessionHost {
  readonly #options: SessionsOptions;
  readonly #parts: CallParts;
  readonly open: OpenSessions;
  #ephemeral = 0;
  #begunWithoutId = 0;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#parts = options.parts;
    this.open = new OpenSessions(options);
  }

  /** Begins a session, from a snapshot where there is one. @throws ToolError `duplicate`, `corrupt_record` */
  create(id: string | undefined, { from, ...around }: SessionStart = {}): RuntimeSession {
    const read = from === undefined ? undefined : readSnapshot(from);
    // A minted id is another in every run, and no seed could know it again.
    const seedName = id === undefined ? `#${++this.#begunWithoutId}` : undefined;
    return this.#createAs(this.#newId(id), { read, seedName, ...surroundingsOf(around, "session()") });
  }

  #createAs(sessionId: string, { read, parentCall, ...own }: Beginning): RuntimeSession {
    const submissions = read?.sessionId === sessionId ? { submissions: read.submissions } : {};
    const session = this.#begin({ id: sessionId, parentCall, ...own, ...this.#emptyHead(), ...submissions, ...this.#newLog(sessionId) });
    if (read === undefined) recordStart(session, { parentCall }, this.#parts);
    else this.#continueFrom(read, session);
    this.#makeReady(session);
    return session;
  }

  #continueFrom(read: ReadSnapshot, session: RuntimeSession): void {
    const copied = copiedEvents({ id: session.id, isStored: session.eventLog !== undefined }, read, this.#parts.ports.clock);
    session.broughtLength = copied.length;
    if (this.#parts.faults.mayHit(this.#parts.registry)) session.tally = NO_CALLS;
    session.together(() => {
      recordStart(session, { copied: copied.length }, this.#parts); // alone in the store, it would speak of what comes next
      session.adopt(copied, read.head.state);
    });
    session.engines.restore(byEngine(read.engines, this.#options));
  }

  /** Takes up a session that the store has; see `Runtime.resume`. */
  async resume(id: string, options: ResumeOptions): Promise<RuntimeSession> {
    checkSessionId(id);
    checkResumeOptions(options);
    return await this.#resume(id, options);
  }

  /** Begins a session for the handler of a call, or takes it up again after a crash; see `sessionWithin`. */
  async within(
    { callId, turn: { session }, isLogged, options }: AdmittedCall,
    { allow, late }: { readonly allow: VisibilityRules | undefined; readonly late: () => ToolError | undefined },
  ): Promise<RuntimeSession> {
    const { simulation, setup, workingFolder, environment, seedName, eventLog } = session;
    const around = omitUndefined({ setup, workingFolder, environment });
    const again = omitUndefined({ ...around, data: options.data, allow });
    const id = shortId(`${session.id}/${callId}`);
    await this.open.whenLeft(id, () => (session.isHandedOver ? session.broken : late()));
    if (session instanceof RuntimeSession && simulation !== undefined) {
      const parts = simulationParts(this.#parts, id, simulation);
      return this.#begin({ id: this.#newId(id), head: new SessionFold().head, parent: session, simulation, parts });
    }
    const parentCall = { sessionId: session.id, callId };
    if (isLogged && eventLog !== undefined) return await this.#resume(id, { create: true, takeOver: true, ...again, parentCall }, late);
    const begun = this.#begin({ id: this.#newId(id), seedName, parentCall, ...around });
    recordStart(begun, { parentCall }, this.#parts);
    return begun;
  }

  async #resume(id: string, options: Omit<TakeUpOptions, "resuming">, late?: () => ToolError | undefined): Promise<RuntimeSession> {
    const resuming = this.open.reserve(id, { outerId: options.parentCall?.sessionId, late });
    try {
      const session = await this.#takeUp(id, storeFor(id, this.#options.store), { ...options, resuming });
      if (resuming.reason === undefined) return session;
      await session.close().catch(() => {}); // the call that would has not been given it
      this.#parts.jobs.forget(id);
      throw resuming.reason;
    } finally {
      resuming.end();
    }
  }

  async #takeUp(id: string, store: Store, options: TakeUpOptions): Promise<RuntimeSession> {
    const { parentCall, resuming } = options;
    await store.open();
    const eventLog = await claimLog(store, id, options);
    const around = surroundingsOf(options, "resume()");
    if (eventLog === undefined) {
      resuming.check();
      return (await this.#start(id, { ...around, parentCall })) ?? this.#takeUp(id, store, { ...options, create: false });
    }
    let session: RuntimeSession | undefined;
    try {
      const fold = new SessionFold(this.#keep, id, this.#parts.faults.mayHit(this.#parts.registry));
      await foldLog(eventLog, fold, parentCall);
      session = this.#begin({ id, parentCall, ...around, eventLog, ...fold.start });
      resuming.check();
      const callOptions = this.#options.runner.callOptions({});
      await resumeSession(session, fold, { ...options, callOptions, cancelled: await cancelRequestsIn(store, id, fold) });
      await this.#parts.approvals.resumed(id);
      return session;
    } catch (thrown: unknown) {
      session?.noteLoss(ToolError.fromUnknown(thrown, "store_failed")); // its jobs are not cancelled: whatever resumes it next has them, as after a crash
      await (session ?? eventLog).close().catch(() => {}); // the first error is reported
      if (session !== undefined) this.#parts.jobs.forget(id);
      throw thrown;
    }
  }

  /** A new session that the store has taken in; undefined when another process began it in the meantime. */
  async #start(id: string, beginning: Beginning): Promise<RuntimeSession | undefined> {
    const session = this.#createAs(id, beginning);
    try {
      return (await session.ready?.then(() => session)) ?? session;
    } catch (thrown: unknown) {
      await session.close().catch(() => {}); // the first error is reported
      if (ToolError.fromUnknown(thrown, "store_failed").code === "duplicate") return undefined;
      throw thrown;
    }
  }

  run(
    session: RuntimeSession,
    calls: ToolCall | readonly ToolCall[],
    options: ExecuteOptions,
  ): Promise<ToolResult | readonly ToolResult[]> {
    return this.#options.runner.run(session, calls, options);
  }

  turn<T>(session: RuntimeSession, work: (turn: SessionTurn) => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    return this.#options.runner.turn(session, work, signal);
  }

  submit(
    session: RuntimeSession,
    calls: readonly ToolCall[],
    options: ExecuteOptions & { readonly idempotencyKey: string },
  ): Promise<readonly ToolResult[]> {
    return submitCalls(session, calls, options, {
      runner: this.#options.runner,
      events: ownEvents,
    });
  }

  branch(session: RuntimeSession, options: ForkOptions): RuntimeSession {
    checkForkOptions(options, session.simulation !== undefined);
    if (session.broken !== undefined) throw session.broken;
    return this.#branchFrom(session, session.head, options);
  }

  async branchAt(session: RuntimeSession, length: number, options: ForkOptions): Promise<RuntimeSession> {
    if (session.closed) throw closedSession(session);
    checkForkOptions(options, session.simulation !== undefined);
    if (session.ready !== undefined) await session.ready;
    if (length === session.length && !session.turns.busy) return this.branch(session, options);
    const head = await headAt(session, recordedEvents(session), { length, countsCalls: this.#parts.faults.mayHit(this.#parts.registry) });
    if (session.broken !== undefined) throw session.broken;
    return this.#branchFrom(session, head, options);
  }

  #branchFrom(session: RuntimeSession, head: SessionHead, options: ForkOptions): RuntimeSession {
    const simulated = session.simulation !== undefined || options.simulated === true;
    // The events of a simulation are nowhere but here: none of them may be forgotten.
    const log = head.log.branch(head.length, simulated || session.eventLog === undefined ? undefined : this.#keep);
    const base: BranchBase = { head: { ...head, log }, parent: session };
    const branch = simulated ? this.#simulation(session, options, base) : this.#liveBranch(session, options, base);
    session.engagedEngines?.fork(branch.engines);
    this.#parts.largeResults.share(session.id, branch.id);
    return branch;
  }

  async commit(branch: RuntimeSession, parent: RuntimeSession): Promise<void> {
    await commitBranch(branch, parent, {
      eventsFrom: (from) => ownEvents(branch, from),
      takeOutputs: () => {
        if ((this.open.holderOf(branch.id) ?? branch) === branch) this.#parts.largeResults.adopt(branch.id, parent.id); // else another session has taken its id since
      },
    });
    await whenStored(parent);
    await forgetBranch(branch, this.#options.store, ["conflict", "resource_busy"]); // it is committed, whether or not another process has it open
  }

  /** Ends a branch and forgets what the store has of it; one that others are branches of stays there. */
  discard(branch: RuntimeSession): Promise<void> {
    return discardBranch(branch, this.#options.store, this.#parts.running);
  }

  /** Taken in a turn of its own, so that nothing happens meanwhile; for a handler of the running turn, as of before that turn. */
  async snapshot(session: RuntimeSession): Promise<SessionSnapshot> {
    if (session.ready !== undefined) await session.ready;
    return session.turns.run(async () => {
      const { length, state } = session.head;
      const { clock } = this.#parts.ports;
      const engines = (await session.engagedEngines?.snapshot(clock)) ?? new Map<Engine, JsonValue>();
      const events: SessionEvent[] = [];
      for await (const event of ownEvents(session, 0)) if (events.push(event) >= length) break;
      return makeSnapshot({
        sessionId: session.id,
        at: clock.wallTime(),
        events: events.slice(0, length),
        state,
        engines: byToolset(engines, this.#options),
      });
    });
  }

  events(session: RuntimeSession): AsyncGenerator<SessionEvent> {
    return recordedEvents(session);
  }

  async close(session: RuntimeSession): Promise<void> {
    this.#parts.approvals.forget(session.id);
    if (session.simulation === undefined) this.#parts.largeResults.close(session.id);
    else this.#parts.largeResults.unshare(session.id);
    this.#parts.cache.forget(session);
    const { clock, log } = this.#parts.ports;
    try {
      await this.#parts.jobs.cancelIn(session.id, "the session was closed"); // a turn may wait for them
      await session.turns.whenIdle();
      await this.#parts.jobs.cancelIn(session.id, "the session was closed");
      await session.engagedEngines?.close(clock, log);
      await session.eventLog?.close();
    } finally {
      this.open.remove(session);
    }
  }

  /** A session that only gives simulations something to be a branch of. */
  ephemeral(): RuntimeSession {
    const session = this.#begin({ id: this.open.unusedId(() => `simulation${++this.#ephemeral}`), seedName: "", isEphemeral: true });
    session.tally = this.#parts.faults.ephemeralCalls; // as if its calls were of no session
    return session;
  }

  /** Ends every session and the store; resolves to what could not be written. */
  async closeAll(): Promise<readonly ToolError[]> {
    const ends = await Promise.allSettled([...this.open.all()].map((session) => session.close()));
    await this.#parts.cache.stored?.whenSettled();
    await this.#parts.approvals.whenSettled();
    ends.push(...(await Promise.allSettled([this.#options.store?.close()])));
    return ends.flatMap((end) => (end.status === "rejected" ? [ToolError.fromUnknown(end.reason, "store_failed")] : []));
  }

  #liveBranch(session: RuntimeSession, options: ForkOptions, base: BranchBase): RuntimeSession {
    const id = this.#newId(options.id);
    const parent = { sessionId: session.id, length: base.head.length };
    const branch = this.#begin({ id, ...base, ...(session.eventLog === undefined ? {} : this.#newLog(id, parent)) });
    recordStart(branch, { parent }, this.#parts);
    this.#makeReady(branch, session.eventLog);
    return branch;
  }

  #simulation(session: RuntimeSession, options: ForkOptions, base: BranchBase): RuntimeSession {
    const id = options.id === undefined ? this.open.unusedId(() => session.nextSimulationId()) : this.#newId(options.id);
    const allows = options.allowSideEffects === undefined ? undefined : sideEffects(options.allowSideEffects);
    const simulation = session.simulation?.branch(allows) ?? new SimulationMode(allows);
    return this.#begin({ id, ...base, simulation, parts: simulationParts(this.#parts, branchName(session, id, options), simulation) });
  }

  #begin(options: Partial<RuntimeSessionOptions> & { readonly id: string }): RuntimeSession {
    const parts = options.parts ?? this.#parts;
    const tell = (event: SessionEvent): void => parts.emit(event);
    const session = new RuntimeSession({ ...options, parts, tell, ports: this.#parts.ports, recorded: true }, this);
    this.#parts.largeResults.forget(options.id); // a simulation of this id that was dropped: what it kept is not this session's
    this.open.add(session);
    return session;
  }

  /** The head of a session whose older events are left to the store. */
  #emptyHead(): { readonly head?: SessionHead } {
    return this.#keep === undefined ? {} : { head: new SessionFold(this.#keep).head };
  }

  /** A new place in the store, where there is one. */
  #newLog(sessionId: string, parent?: BranchPoint): { readonly eventLog?: EventLog } {
    const { store, durability } = this.#options;
    if (store === undefined) return {};
    const at = this.#parts.ports.clock.wallTime();
    return { eventLog: store.create(sessionId, { at, durability, ...(parent === undefined ? {} : { parent }) }) };
  }

  /** Nothing of a stored session runs before the store has taken it in: the id may be another's. */
  #makeReady(session: RuntimeSession, parent?: EventLog): void {
    const { store } = this.#options;
    const { eventLog } = session;
    if (store !== undefined && eventLog !== undefined && store.outlivesProcess)
      session.waitFor(async () => {
        await store.open();
        await parent?.whenDurable();
        await eventLog.whenDurable();
      });
  }

  get #keep(): number | undefined {
    return this.#options.store?.outlivesProcess === true ? this.#options.keepEvents : undefined;
  }

  #newId(id: string | undefined): string {
    if (id === undefined) return this.#parts.ports.ids.next("session");
    checkSessionId(id);
    this.open.checkFree(id);
    return id;
  }
}
