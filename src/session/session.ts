/** A session: its log, its state, and the head where its branches begin. */
import { ToolError } from "../core/error.ts";
import type { CallPlace, SessionEvent } from "../core/event.ts";
import type { HistoryEntry } from "../core/history.ts";
import type { JsonValue } from "../core/base/json.ts";
import type { Ports } from "../core/ports.ts";
import type { EventLog } from "../core/store/store.ts";
import { countCalls, type CallTally } from "../policy/faults/fault-tally.ts";
import { EngineSessions } from "./engine-sessions.ts";
import { SessionLog, historyOf } from "./session-log.ts";
import { NO_STATE, SessionState, stateKey, type PatchedValue, type StateMap, type StatePlace } from "./session-state.ts";
import type { SimulationMode } from "./simulation-mode.ts";
import { TurnQueue, type TurnCall } from "./turn-queue.ts";

/** A session as it was between two turns. */
export interface SessionHead {
  readonly log: SessionLog;
  /** How many events of the log belong to the head. */
  readonly length: number;
  readonly state: StateMap;
  /** Counts of the session's calls so far, if counted. */
  readonly tally: CallTally | undefined;
}

/** The environment of a session's calls. Fields that are left out are inherited from the parent. */
export interface SessionSettings {
  /** Data for engines. */
  readonly setup?: Readonly<Record<string, unknown>> | undefined;
  /** The folder that relative paths of handlers start from, itself relative to the runtime's folder. */
  readonly workingFolder?: string | undefined;
  /** Variables for programs that handlers start. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
}

export interface SessionOptions extends SessionSettings {
  readonly ports: Ports;
  /** @default a new id, created on first use */
  readonly id?: string | undefined;
  /** False for a call outside any session: nothing of it is kept. */
  readonly recorded: boolean;
  /** Whether the session exists only for one `execute` or `simulate` of the runtime. @default false */
  readonly isEphemeral?: boolean;
  /** The session's name in seeds. @default that of its parent, else its id */
  readonly seedName?: string | undefined;
  /** The head to continue from: that of its parent, or what a store has of the session. */
  readonly head?: SessionHead;
  readonly parent?: Session;
  /** The call of another session that started this one. */
  readonly parentCall?: CallPlace | undefined;
  readonly simulation?: SimulationMode;
  /** Called with events that are not part of a call's own run. */
  readonly notify?: ((event: SessionEvent) => void) | undefined;
  /** The session's log in a store. */
  readonly eventLog?: EventLog;
}

const NO_SETUP: Readonly<Record<string, unknown>> = Object.freeze({});
const NO_EVENTS: readonly SessionEvent[] = Object.freeze([]);

/**
 * The log and state shared by all calls of a conversation.
 *
 * The log only grows: a rolled-back batch stays in it, but leaves `history`. State values are frozen JSON under keys private to each toolset.
 */
export class Session {
  /** @internal */
  readonly recorded: boolean;
  /** Whether the session exists only for one `execute` or `simulate` of the runtime. @internal */
  readonly isEphemeral: boolean;
  /** Set for a simulation: a branch whose calls have no side effects unless they are allowed. @internal */
  readonly simulation: SimulationMode | undefined;
  /** The session that this is a branch of. */
  readonly parent: Session | undefined;
  /** The session of the call whose handler began this one. @internal */
  get callingSession(): Session | undefined {
    return undefined;
  }

  /** The call of another session whose handler started this one; undefined for any other session, and for one resumed without that call. */
  get parentCall(): CallPlace | undefined {
    return this.#parentCall;
  }
  /** Data for engines. @internal */
  readonly setup: Readonly<Record<string, unknown>>;
  /** The folder that relative paths of handlers start from, itself relative to the runtime's folder; undefined: the runtime's folder. */
  readonly workingFolder: string | undefined;
  /** The variables that handlers get. @internal */
  readonly environment: Readonly<Record<string, string>> | undefined;
  /** @internal */
  readonly eventLog: EventLog | undefined;
  /** Counts of the session's calls so far, if counted. @internal */
  tally: CallTally | undefined;
  /** Why the session's calls are cancelled, including calls of a batch that have not started; undefined while calls may run. @internal */
  callsCancelReason: string | undefined;
  /** How many of its events were copied from a snapshot. @internal */
  copiedLength = 0;
  #heldTally: CallTally | undefined;
  readonly #seedName: string | undefined;
  readonly #ports: Ports;
  readonly #notify: ((event: SessionEvent) => void) | undefined;
  #parentCall: CallPlace | undefined;
  #id: string | undefined;
  #closed = false;
  #log: SessionLog | undefined;
  /** Undefined until the first change; until then the values are `#firstValues`. */
  #state: SessionState | undefined;
  #firstValues: StateMap;
  /** The length of the head while a turn runs; negative while the head is the current end of the session. */
  #heldLength = -1;
  #heldState: StateMap = NO_STATE;
  #turns: TurnQueue | undefined;
  #engines: EngineSessions | undefined;
  #broken: ToolError | undefined;
  #isHandedOver = false;
  /** Events that are collected for one write to the store. */
  #collected: SessionEvent[] | undefined;

  constructor(options: SessionOptions) {
    this.#ports = options.ports;
    this.#notify = options.notify;
    this.#id = options.id;
    this.#seedName = options.seedName;
    this.recorded = options.recorded;
    this.isEphemeral = options.isEphemeral ?? false;
    this.simulation = options.simulation;
    this.parent = options.parent;
    this.#parentCall = options.parentCall;
    this.setup = options.setup ?? options.parent?.setup ?? NO_SETUP;
    this.workingFolder = options.workingFolder ?? options.parent?.workingFolder;
    this.environment = options.environment ?? options.parent?.environment;
    this.eventLog = options.eventLog;
    this.#log = options.head?.log;
    this.#firstValues = options.head?.state ?? NO_STATE;
    this.tally = options.head?.tally;
  }

  get id(): string {
    return (this.#id ??= this.#ports.ids.next("session"));
  }

  /** The session's name in seeds: the same for a session and its branches, and in every run of a program. @internal */
  get seedName(): string {
    return this.#seedName ?? this.parent?.seedName ?? this.id;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Whether the session is a simulation, whose events are not passed to listeners. */
  get simulated(): boolean {
    return this.simulation !== undefined;
  }

  /** Closes the session in memory: calls are refused from now on. Idempotent. @internal */
  markClosed(): void {
    this.#closed = true;
  }

  /** Whether later calls of the session can read truncated results. @internal */
  get keepsResults(): boolean {
    return this.recorded && !this.isEphemeral && !this.#closed;
  }

  /** @internal */
  get turns(): TurnQueue {
    return (this.#turns ??= new TurnQueue(this, this.simulation?.mayBeReal === false));
  }

  /** The engines' state for this session. @internal */
  get engines(): EngineSessions {
    return (this.#engines ??= new EngineSessions(() => this.id, this.setup));
  }

  /** Like `engines`, but undefined until the first access to `engines`. @internal */
  get enginesIfUsed(): EngineSessions | undefined {
    return this.#engines;
  }

  /** Number of recorded events, including those of the parent before the branch. */
  get length(): number {
    return this.#log?.length ?? 0;
  }

  /** The recorded events, oldest first; for a session in a store, the latest part (see `events`). */
  get log(): readonly SessionEvent[] {
    return this.#log?.events().slice() ?? NO_EVENTS;
  }

  /** The events recorded since the branch was created; all events for a session that is not a branch. */
  get ownLog(): readonly SessionEvent[] {
    return this.#log?.own ?? NO_EVENTS;
  }

  /** Returns the events from a position on, and before `end`; undefined if some are not in memory (see `events`). Independent of the log's length. */
  logSince(position: number, end?: number): readonly SessionEvent[] | undefined {
    return this.#log === undefined ? NO_EVENTS : this.#log.since(position, end);
  }

  /** Whether a call was rolled back with its batch, or voided with its message. @internal */
  wasRevoked(callId: string): boolean {
    return this.#log?.wasRevoked(callId) === true;
  }

  /** The events in memory, preceded by the system messages that are no longer there. @internal */
  get conversationEvents(): readonly SessionEvent[] {
    const system = this.#log?.droppedSystemMessages ?? NO_EVENTS;
    return system.length === 0 ? this.log : [...system, ...this.log];
  }

  /** The position of the first event of `log`; positions start at 0. */
  get firstKept(): number {
    return this.#log?.firstKept ?? 0;
  }

  /** @internal */
  record(event: SessionEvent): void {
    this.recordAll([event]);
  }

  /** Records events that belong together: a store keeps all of them or none. @internal */
  recordAll(events: readonly SessionEvent[]): void {
    if (this.#collected !== undefined) {
      for (const event of events) this.#collected.push(event);
    } else if (this.eventLog !== undefined) this.#store(this.eventLog, events);
    const log = (this.#log ??= new SessionLog());
    for (const event of events) log.push(event);
  }

  /** Runs `work`, and writes the events that it records to the store together: all of them or none. Synchronous. @internal */
  recordTogether(work: () => void): void {
    this.#collected = [];
    try {
      work();
    } finally {
      const events = this.#collected;
      this.#collected = undefined;
      if (this.eventLog !== undefined && events.length > 0) this.#store(this.eventLog, events);
    }
  }

  /** Writes the complete answer of a call to the store; memory only keeps the fact that it exists. @internal */
  recordOutput(event: SessionEvent & { readonly type: "output-keep" }): void {
    if (this.eventLog === undefined) return;
    if (this.broken === undefined) storeIfItFits(this.eventLog, event);
    const { output: _output, content: _content, ...rest } = event;
    (this.#log ??= new SessionLog()).push(Object.freeze(rest));
  }

  /**
   * Why nothing more is written to the store, such as `conflict` after another process has taken over the session; the stored log is complete up to
   * that point. Calls are refused from then on. Close the session; a session resumed in its place continues from the stored log.
   */
  get broken(): ToolError | undefined {
    return this.#broken ?? this.eventLog?.failure;
  }

  /** Updates the session id of the parent call, after that call became part of another session. @internal */
  setParentSession(sessionId: string): void {
    if (this.#parentCall !== undefined) this.#parentCall = { ...this.#parentCall, sessionId };
  }

  /** Marks the log as taken over by another process before `eventLog` itself notices: later events are not part of it. @internal */
  markLost(error: ToolError): void {
    this.#broken ??= error;
  }

  /** Whether jobs, and calls made inside them, were handed over to the process that opens the session next. @internal */
  get isHandedOver(): boolean {
    return this.#isHandedOver;
  }

  /** Hands over everything that has not ended to that process. @internal */
  markHandedOver(reason: ToolError): void {
    this.markLost(reason);
    this.#isHandedOver = true;
  }

  /** Appends events to the store. They are recorded in memory in any case; callers that wait for the store get its error. */
  #store(eventLog: EventLog, events: readonly SessionEvent[]): void {
    if (this.broken !== undefined) return;
    try {
      eventLog.append(events);
    } catch (thrown: unknown) {
      this.#broken = ToolError.fromUnknown(thrown, "store_failed");
    }
  }

  /**
   * The calls in the order they arrived, each with its result, except those of batches that were rolled back. For a session in a store, only the
   * calls whose `call-start` is in `log`, the latest part: read `events()` to find out whether a call was ever made.
   */
  get history(): readonly HistoryEntry[] {
    return historyOf(this.log);
  }

  /** Returns the calls that had ended when the session had `length` events. @internal */
  historyAt(length: number): readonly HistoryEntry[] {
    return historyOf(this.#log?.events(length) ?? NO_EVENTS).filter((entry) => entry.result !== undefined);
  }

  /** Returns one state value of a toolset. */
  state(toolset: string, key: string): JsonValue | undefined {
    return this.stateMap.get(stateKey(toolset, key));
  }

  /** All state values, by toolset and key. @internal */
  get stateMap(): StateMap {
    return this.#state === undefined ? this.#firstValues : this.#state.values;
  }

  /** Sets a state value, or deletes it if undefined, and records that. @param call the call that makes the change, if it may be taken back @internal */
  changeState(place: StatePlace, value: JsonValue | undefined, call?: TurnCall): void {
    this.#state ??= new SessionState(this.#firstValues);
    const patched = this.#state.set(place, value, call);
    if (patched !== undefined) this.#recordChange(patched);
  }

  /** Undoes state changes of calls that are taken back, except values that another call has changed since. @param calls see `SessionState.undo` @internal */
  undoStateChanges(calls: ReadonlySet<object>): void {
    this.#state?.undo(calls, (patched) => this.#recordChange(patched));
  }

  /** Called when calls can no longer be taken back. @internal */
  forgetSettledChanges(): void {
    this.#state?.forgetSettled();
  }

  #recordChange(patched: PatchedValue): void {
    if (!this.recorded) return;
    this.recordAndNotify({ type: "state-change", sessionId: this.id, at: this.#ports.clock.wallTime(), ...patched });
  }

  /** Records an event that is not part of a call's own run, and notifies listeners. @internal */
  recordAndNotify(event: SessionEvent): void {
    this.record(Object.freeze(event));
    this.#notify?.(event);
  }

  /** The session after its last completed turn; branches begin here. @internal */
  get head(): SessionHead {
    this.#log ??= new SessionLog();
    if (this.#heldLength < 0) return { log: this.#log, length: this.#log.length, state: this.stateMap, tally: this.tally };
    return { log: this.#log, length: this.#heldLength, state: this.#heldState, tally: this.#heldTally };
  }

  /** Keeps the head at its current place while turns run. @internal */
  onTurnsStart(): void {
    this.#heldLength = this.length;
    this.#heldState = this.stateMap;
    this.#heldTally = this.tally;
  }

  /** Moves the head to the end of the session, after the turns have ended. @internal */
  onTurnsEnd(): void {
    this.#heldLength = -1;
    this.#heldState = NO_STATE;
    this.#heldTally = undefined;
  }

  /** Continues from the head of another session; its events are recorded in this one. @internal */
  adopt(events: readonly SessionEvent[], state: StateMap): void {
    this.recordAll(events);
    if (this.tally !== undefined) this.tally = countCalls(this.tally, events);
    this.#firstValues = state;
    this.#state = undefined;
    this.onTurnsEnd();
  }
}

/** Writes a complete answer. It is optional: if it does not fit in the store, the session must not fail for it. */
function storeIfItFits(eventLog: EventLog, event: SessionEvent): void {
  try {
    eventLog.append([event]);
  } catch {
    // The answer can be read from memory while it is kept there.
  }
}
