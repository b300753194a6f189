/** The sessions of a runtime: begun, branched, taken up again after a crash, and ended. */
import type { ToolCall } from "../core/call.ts";
import type { Engine } from "../core/engine.ts";
import { ToolError } from "../core/error.ts";
import type { ErrorCode } from "../core/error-codes.ts";
import type { BranchPoint, SessionEvent } from "../core/event.ts";
import type { JsonValue } from "../core/base/json.ts";
import type { SessionMessage } from "../core/message.ts";
import type { ToolResult } from "../core/result.ts";
import type { EventLog, Store } from "../core/store.ts";
import { NO_CALLS } from "../policy/fault-tally.ts";
import type { CallParts } from "../call/call-run.ts";
import type { ExecuteOptions } from "../call/execute-options.ts";
import type { CallRunner } from "./run-calls.ts";
import { addMessage } from "./add-message.ts";
import { commitBranch } from "./commit-branch.ts";
import { SessionFold } from "./fold-events.ts";
import { readEvents, take } from "../session/read-events.ts";
import { OpenSessions } from "./open-sessions.ts";
import { checkResumeOptions, resumeSession, type ResumeOptions } from "./resume-session.ts";
import { RuntimeSession, type RuntimeSessionOptions, type SessionHost, type SessionTurn } from "./runtime-session.ts";
import { checkForkOptions, type ForkOptions } from "../session/fork-options.ts";
import type { SessionHead } from "../session/session.ts";
import { checkSessionId } from "../session/session-id.ts";
import { sideEffects, simulationParts } from "./simulation-parts.ts";
import { SimulationMode } from "../session/simulation-mode.ts";
import { makeSnapshot, readSnapshot, type ReadSnapshot, type SessionSnapshot } from "./snapshot.ts";
import { submitCalls, whenStored } from "./submit-calls.ts";

/** What a tool answered, in full. */
type WholeAnswer = Pick<SessionEvent & { readonly type: "output-keep" }, "output" | "content">;

export interface SessionsOptions {
  readonly parts: CallParts;
  readonly runner: CallRunner;
  readonly store: Store | undefined;
  readonly durability: "sync" | "async";
  /** How many events of a stored session stay in memory, at least. */
  readonly keepEvents: number;
  /** The engine that answers for a toolset; undefined for a name that is none. */
  readonly engineOf: (toolset: string) => Engine | undefined;
  /** Names of all toolsets, in order. */
  readonly toolsets: () => readonly string[];
}

type BranchBase = Required<Pick<RuntimeSessionOptions, "head" | "parent">>;

export class Sessions implements SessionHost {
  readonly #options: SessionsOptions;
  readonly #parts: CallParts;
  readonly open = new OpenSessions();
  #ephemeral = 0;
  /** How many sessions were begun without an id. */
  #nameless = 0;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#parts = options.parts;
  }

  /** Begins a session, from a snapshot where there is one. @throws ToolError `duplicate`, `corrupt_record` */
  create(id: string | undefined, from?: unknown): RuntimeSession {
    const read = from === undefined ? undefined : readSnapshot(from);
    // A minted id is another in every run, and no seed could know it again.
    return this.#createAs(this.#newId(id), read, id === undefined ? `#${++this.#nameless}` : undefined);
  }

  #createAs(sessionId: string, read?: ReadSnapshot, seedName?: string): RuntimeSession {
    const submissions = read?.sessionId === sessionId ? { submissions: read.submissions } : {};
    const session = this.#begin({ id: sessionId, seedName, ...this.#emptyHead(), ...submissions, ...this.#newLog(sessionId) });
    this.#recordStart(session);
    if (read !== undefined) {
      if (this.#parts.faults.mayHit(this.#parts.registry)) session.tally = NO_CALLS;
      session.adopt(read.head.log.events(), read.head.state);
      session.engines.restore(this.#byEngine(read.engines));
    }
    this.#makeReady(session);
    return session;
  }

  /** Takes up a session that the store has; see `Runtime.resume`. */
  async resume(id: string, options: ResumeOptions): Promise<RuntimeSession> {
    checkSessionId(id);
    checkResumeOptions(options);
    const release = this.open.reserve(id);
    try {
      const { store } = this.#options;
      if (store !== undefined) return await this.#takeUp(id, store, options);
      throw new ToolError("invalid_argument", `The session ${JSON.stringify(id)} cannot be resumed: the runtime has no store.`, {
        hint: "Give one: createRuntime({ store: sqliteStore({ path }) }).",
      });
    } finally {
      release();
    }
  }

  async #takeUp(id: string, store: Store, options: ResumeOptions): Promise<RuntimeSession> {
    await store.open();
    const eventLog = await this.#claim(id, store, options);
    if (eventLog === undefined) return (await this.#start(id)) ?? this.#takeUp(id, store, { ...options, create: false });
    let session: RuntimeSession | undefined;
    try {
      const fold = new SessionFold(this.#keep, id, this.#parts.faults.mayHit(this.#parts.registry));
      for await (const event of readEvents(eventLog)) fold.apply(event);
      session = this.#begin({ id, seedName: fold.root, eventLog, head: fold.head, submissions: fold.submissions });
      await resumeSession(session, fold, { ...options, callOptions: this.#options.runner.callOptions({}) });
      return session;
    } catch (thrown: unknown) {
      await (session ?? eventLog).close().catch(() => {}); // what went wrong first is told
      throw thrown;
    }
  }

  /** Undefined when there is no such session and it may begin. */
  async #claim(id: string, store: Store, { takeOver, create }: ResumeOptions): Promise<EventLog | undefined> {
    return store.claim(id, takeOver === undefined ? {} : { takeOver }).catch((thrown: unknown) => {
      const error = ToolError.fromUnknown(thrown, "store_failed");
      if (error.code === "not_found" && create === true) return undefined;
      throw error;
    });
  }

  /** A new session that the store has taken in; undefined when another process began it in the meantime. */
  async #start(id: string): Promise<RuntimeSession | undefined> {
    const session = this.#createAs(id);
    try {
      return (await session.ready?.then(() => session)) ?? session;
    } catch (thrown: unknown) {
      await session.close().catch(() => {}); // what went wrong first is told
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
      events: (one, from) => this.events(one, from),
    });
  }

  branch(session: RuntimeSession, options: ForkOptions): RuntimeSession {
    checkForkOptions(options, session.simulation !== undefined);
    if (session.broken !== undefined) throw session.broken;
    const simulated = session.simulation !== undefined || options.simulated === true;
    const { head } = session;
    // What a simulation did is nowhere but here: none of it may be forgotten.
    const log = head.log.branch(head.length, simulated || session.eventLog === undefined ? undefined : this.#keep);
    const base: BranchBase = { head: { ...head, log }, parent: session };
    const branch = simulated ? this.#simulation(session, options, base) : this.#liveBranch(session, options, base);
    session.engagedEngines?.fork(branch.engines);
    this.#parts.largeResults.share(session.id, branch.id);
    return branch;
  }

  async commit(branch: RuntimeSession, parent: RuntimeSession): Promise<void> {
    await commitBranch(branch, parent, (from) => this.#ownEvents(branch, from));
    const holder = this.open.holderOf(branch.id) ?? branch;
    if (holder === branch) this.#parts.largeResults.adopt(branch.id, parent.id); // else another session has taken its id since
    await whenStored(parent);
    await this.#forget(branch, ["conflict", "resource_busy"]); // it is committed, whether or not another process has it open
  }

  /** Ends a branch and forgets what the store has of it; one that others are branches of stays there. */
  discard(branch: RuntimeSession): Promise<void> {
    return this.#forget(branch, ["conflict"]);
  }

  /** Closes a branch and removes it from the store, which keeps it when it refuses with one of these codes. */
  async #forget(branch: RuntimeSession, keptFor: readonly ErrorCode[]): Promise<void> {
    await branch.close();
    if (branch.eventLog === undefined) return;
    try {
      await this.#options.store?.remove(branch.id);
    } catch (thrown: unknown) {
      const error = ToolError.fromUnknown(thrown, "store_failed");
      if (!keptFor.includes(error.code)) throw error;
    }
  }

  /** Taken in a turn of its own, so that nothing happens meanwhile; for a handler of the running turn, as of before that turn. */
  async snapshot(session: RuntimeSession): Promise<SessionSnapshot> {
    if (session.ready !== undefined) await session.ready;
    return session.turns.run(async () => {
      const { length, state } = session.head;
      const { clock } = this.#parts.ports;
      const engines = (await session.engagedEngines?.snapshot(clock)) ?? new Map<Engine, JsonValue>();
      const events: SessionEvent[] = [];
      for await (const event of this.#ownEvents(session, 0)) if (events.push(event) >= length) break;
      return makeSnapshot({
        sessionId: session.id,
        at: clock.wallTime(),
        events: events.slice(0, length),
        state,
        engines: this.#byToolset(engines),
      });
    });
  }

  async *events(session: RuntimeSession, from: number = 0): AsyncGenerator<SessionEvent> {
    const { eventLog } = session;
    if (eventLog === undefined || session.broken !== undefined) {
      const { parent, firstKept } = session;
      // What a simulation shares with its session and is not in memory any more, that session's store has.
      if (eventLog === undefined && from < firstKept && parent instanceof RuntimeSession)
        yield* take(this.events(parent, from), firstKept - from);
      yield* session.log.slice(Math.max(0, from - firstKept));
      return;
    }
    yield* readEvents(eventLog, from);
  }

  /**
   * The same, waiting until the store has them at their places: what is read there before may be what another process wrote that has taken
   * the session over.
   *
   * @throws ToolError why they are lost: to another process, or where memory has not all of them
   */
  async *#ownEvents(session: RuntimeSession, from: number): AsyncGenerator<SessionEvent> {
    try {
      await session.eventLog?.whenDurable();
    } catch (thrown: unknown) {
      session.noteLoss(thrown);
    }
    const { broken, firstKept } = session;
    if (broken !== undefined && (firstKept > from || broken.code === "conflict")) throw broken;
    let position = from;
    for await (const event of this.events(session, from)) {
      if (position++ >= session.length) throw noteTakenOver(session);
      yield event;
    }
  }

  /** The whole answer of a call whose result was cut, from the store; undefined when it has none. */
  async findOutput(sessionId: string, callId: string): Promise<WholeAnswer | undefined> {
    let session = this.open.holderOf(sessionId);
    while (session?.parent !== undefined && session.eventLog === undefined) session = this.open.holderOf(session.parent.id);
    if (session === undefined) return undefined;
    for await (const event of this.events(session)) if (event.type === "output-keep" && event.callId === callId) return event;
    return undefined;
  }

  addMessage(session: RuntimeSession, message: SessionMessage): Promise<void> {
    return addMessage(session, message, this.#parts.ports.clock);
  }

  async close(session: RuntimeSession): Promise<void> {
    this.#parts.approvals.forget(session.id);
    if (session.simulation === undefined) this.#parts.largeResults.forget(session.id);
    else this.#parts.largeResults.unshare(session.id);
    this.#parts.cache.forget(session);
    const { clock, log } = this.#parts.ports;
    try {
      await session.turns.whenIdle();
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

  /** Refuses every further call. */
  refuseAll(): void {
    for (const session of this.open.all()) session.markClosed();
  }

  /** Ends every session and the store; resolves to what could not be written. */
  async closeAll(): Promise<readonly ToolError[]> {
    const ends = await Promise.allSettled([...this.open.all()].map((session) => session.close()));
    await this.#parts.cache.stored?.whenSettled();
    ends.push(...(await Promise.allSettled([this.#options.store?.close()])));
    return ends.flatMap((end) => (end.status === "rejected" ? [ToolError.fromUnknown(end.reason, "store_failed")] : []));
  }

  #liveBranch(session: RuntimeSession, options: ForkOptions, base: BranchBase): RuntimeSession {
    const id = this.#newId(options.id);
    const parent = { sessionId: session.id, length: base.head.length };
    const branch = this.#begin({ id, ...base, ...(session.eventLog === undefined ? {} : this.#newLog(id, parent)) });
    this.#recordStart(branch, parent);
    this.#makeReady(branch, session.eventLog);
    return branch;
  }

  #simulation(session: RuntimeSession, options: ForkOptions, base: BranchBase): RuntimeSession {
    const id = options.id === undefined ? this.open.unusedId(() => session.nextSimulationId()) : this.#newId(options.id);
    const allows = options.allowSideEffects === undefined ? undefined : sideEffects(options.allowSideEffects);
    const simulation = session.simulation?.branch(allows) ?? new SimulationMode(allows);
    return this.#begin({ id, ...base, simulation, parts: simulationParts(this.#parts, id, simulation) });
  }

  #begin(options: Partial<RuntimeSessionOptions> & { readonly id: string }): RuntimeSession {
    const parts = options.parts ?? this.#parts;
    const tell = (event: SessionEvent): void => parts.emit(event);
    const session = new RuntimeSession({ ...options, parts, tell, ports: this.#parts.ports, recorded: true }, this);
    this.#parts.largeResults.forget(options.id); // a simulation of this id that was dropped: what it kept is not this session's
    this.open.add(session);
    return session;
  }

  /** What a session begins with whose older events are left to the store. */
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

  #recordStart(session: RuntimeSession, parent?: BranchPoint): void {
    if (session.eventLog === undefined) return;
    const { at } = session.eventLog.options;
    session.recordAndTell({ type: "session-start", sessionId: session.id, at, ...(parent === undefined ? {} : { parent }) });
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

  #byEngine(snapshots: ReadonlyMap<string, JsonValue>): ReadonlyMap<Engine, JsonValue> {
    const engines = new Map<Engine, JsonValue>();
    for (const [toolset, snapshot] of snapshots) {
      const engine = this.#options.engineOf(toolset);
      if (engine !== undefined) engines.set(engine, snapshot);
    }
    return engines;
  }

  /** An engine that several toolsets share is named by the first of them. */
  #byToolset(snapshots: ReadonlyMap<Engine, JsonValue>): ReadonlyMap<string, JsonValue> {
    const toolsets = new Map<string, JsonValue>();
    for (const [engine, snapshot] of snapshots) {
      const name = this.#options.toolsets().find((toolset) => this.#options.engineOf(toolset) === engine);
      if (name !== undefined) toolsets.set(name, snapshot);
    }
    return toolsets;
  }

  #newId(id: string | undefined): string {
    if (id === undefined) return this.#parts.ports.ids.next("session");
    checkSessionId(id);
    this.open.checkFree(id);
    return id;
  }
}

/** The store has more of the session than was ever recorded here. */
function noteTakenOver(session: RuntimeSession): ToolError {
  const message = `The session ${JSON.stringify(session.id)} was taken over by another process, which has gone on with it.`;
  const error = new ToolError("conflict", message, { operatorHint: "Resume the session again to go on from where it is." });
  session.noteLoss(error);
  return error;
}
