/** One conversation: its log, its state, and what a branch of it begins from. */
import { ToolError } from "../core/error.ts";
import type { CallPlace, SessionEvent } from "../core/event.ts";
import type { HistoryEntry } from "../core/history.ts";
import { diffJson } from "../core/base/json-patch.ts";
import type { JsonValue } from "../core/base/json.ts";
import { PersistentMap } from "../core/base/persistent-map.ts";
import type { Ports } from "../core/ports.ts";
import { shareJson } from "../core/base/share-json.ts";
import type { EventLog } from "../core/store.ts";
import { countCalls, type CallTally } from "../policy/faults/fault-tally.ts";
import { EngineSessions } from "./engine-sessions.ts";
import { SessionLog, historyOf } from "./session-log.ts";
import type { SimulationMode } from "./simulation-mode.ts";
import { TurnQueue } from "./turn-queue.ts";

/** State values by toolset and key. */
export type StateMap = PersistentMap<JsonValue>;

/** A session as it was between two turns. */
export interface SessionHead {
  readonly log: SessionLog;
  /** How many events of the log belong to it. */
  readonly length: number;
  readonly state: StateMap;
  /** Its calls so far, where they were counted. */
  readonly tally?: CallTally | undefined;
}

/** The surroundings of a session's calls. Each is that of the parent where it is left out. */
export interface Surroundings {
  /** Data for its engines. */
  readonly setup?: Readonly<Record<string, unknown>> | undefined;
  /** Where relative paths of handlers start, relative to the folder of the runtime. */
  readonly workingFolder?: string | undefined;
  /** Variables for programs that handlers start. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
}

export interface SessionOptions extends Surroundings {
  readonly ports: Ports;
  /** @default a new id when first asked for */
  readonly id?: string | undefined;
  /** False for a call without a session: nothing of it is kept. */
  readonly recorded: boolean;
  /** It is there for one `execute` or `simulate` of the runtime, and gone when that has ended. @default false */
  readonly isEphemeral?: boolean;
  /** Its name for a seed. @default that of its parent, else its id */
  readonly seedName?: string | undefined;
  /** The head that it continues from: its parent's, or what a store had of it. */
  readonly head?: SessionHead;
  readonly parent?: Session;
  /** The call of another session that has begun it. */
  readonly parentCall?: CallPlace | undefined;
  readonly simulation?: SimulationMode;
  /** Called with events that come from no call's own run. */
  readonly tell?: ((event: SessionEvent) => void) | undefined;
  /** Where its events are kept beyond memory. */
  readonly eventLog?: EventLog;
}

/** The place that a change of state belongs to. */
export interface StatePlace {
  readonly turnId: string;
  readonly callId: string;
  readonly toolset: string;
  readonly key: string;
}

const NO_STATE: StateMap = PersistentMap.empty<JsonValue>();
const NO_SETUP: Readonly<Record<string, unknown>> = Object.freeze({});
const NO_EVENTS: readonly SessionEvent[] = Object.freeze([]);

/**
 * The log and state that calls of one conversation share.
 *
 * The log only grows: a batch that was rolled back stays in it, and leaves `history`. State values are frozen
 * JSON under keys private to each toolset.
 */
export class Session {
  /** @internal */
  readonly recorded: boolean;
  /** It is there for one `execute` or `simulate` of the runtime, and gone when that has ended. @internal */
  readonly isEphemeral: boolean;
  /** Set for a branch whose calls may not touch the world. @internal */
  readonly simulation: SimulationMode | undefined;
  /** The session that it is a branch of. */
  readonly parent: Session | undefined;
  /** The call of another session whose handler has begun it; undefined for all other sessions, also for one that was resumed without that call. */
  get parentCall(): CallPlace | undefined {
    return this.#parentCall;
  }
  /** Data for its engines. @internal */
  readonly setup: Readonly<Record<string, unknown>>;
  /** Where the relative paths of its handlers start, relative to the folder of the runtime; undefined = there. */
  readonly workingFolder: string | undefined;
  /** The variables that its handlers are given. @internal */
  readonly environment: Readonly<Record<string, string>> | undefined;
  /** @internal */
  readonly eventLog: EventLog | undefined;
  /** Its calls so far, where they are counted. @internal */
  tally: CallTally | undefined;
  /** Why its calls are cancelled, also those of a batch that have not begun; undefined while they may run. @internal */
  callsEnded: string | undefined;
  /** How many of its events a snapshot brought. @internal */
  broughtLength = 0;
  #heldTally: CallTally | undefined;
  readonly #seedName: string | undefined;
  readonly #ports: Ports;
  readonly #tell: ((event: SessionEvent) => void) | undefined;
  #parentCall: CallPlace | undefined;
  #id: string | undefined;
  #closed = false;
  #log: SessionLog | undefined;
  #state: StateMap;
  /** Of the head while a turn runs; below 0 while the head is where the session is. */
  #heldLength = -1;
  #heldState: StateMap = NO_STATE;
  #turns: TurnQueue | undefined;
  #engines: EngineSessions | undefined;
  #broken: ToolError | undefined;
  #isHandedOver = false;
  /** Events on their way to the store as one. */
  #together: SessionEvent[] | undefined;

  constructor(options: SessionOptions) {
    this.#ports = options.ports;
    this.#tell = options.tell;
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
    this.#state = options.head?.state ?? NO_STATE;
    this.tally = options.head?.tally;
  }

  get id(): string {
    return (this.#id ??= this.#ports.ids.next("session"));
  }

  /** Its name for a seed: the same for a session and its branches, and in every run of a program. @internal */
  get seedName(): string {
    return this.#seedName ?? this.parent?.seedName ?? this.id;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** It is a branch that leaves no trace in the world; listeners are not called with its events. */
  get simulated(): boolean {
    return this.simulation !== undefined;
  }

  /** Ends the session here: its calls are refused from now on. Idempotent. @internal */
  markClosed(): void {
    this.#closed = true;
  }

  /** True while a later call of the session can read a result that was cut. @internal */
  get keepsResults(): boolean {
    return this.recorded && !this.isEphemeral && !this.#closed;
  }

  /** @internal */
  get turns(): TurnQueue {
    return (this.#turns ??= new TurnQueue(this, this.simulation?.mayBeReal === false));
  }

  /** The engines' state of this session. @internal */
  get engines(): EngineSessions {
    return (this.#engines ??= new EngineSessions(() => this.id, this.setup));
  }

  /** As `engines`; undefined when no engine was asked to remember anything. @internal */
  get engagedEngines(): EngineSessions | undefined {
    return this.#engines;
  }

  /** How many events were recorded, those of its parent before the branch included. */
  get length(): number {
    return this.#log?.length ?? 0;
  }

  /** The recorded events, oldest first; of a session that a store keeps, the latest part (see `events`). */
  get log(): readonly SessionEvent[] {
    return this.#log?.events().slice() ?? NO_EVENTS;
  }

  /** The events recorded since the branch was taken; all of them, for a session that is not a branch. */
  get ownLog(): readonly SessionEvent[] {
    return this.#log?.own ?? NO_EVENTS;
  }

  /** The events recorded from this position on, and before `end`; undefined when part of them is not in memory (see `events`). Costs the same however long the log is. */
  logSince(position: number, end?: number): readonly SessionEvent[] | undefined {
    return this.#log === undefined ? NO_EVENTS : this.#log.since(position, end);
  }

  /** Whether a call was rolled back with its batch, or voided with its message. @internal */
  wasTakenBack(callId: string): boolean {
    return this.#log?.wasTakenBack(callId) === true;
  }

  /** The log, and before it what of the forgotten part still steers the model. @internal */
  get spoken(): readonly SessionEvent[] {
    const system = this.#log?.forgottenSystemMessages ?? NO_EVENTS;
    return system.length === 0 ? this.log : [...system, ...this.log];
  }

  /** Position of the first event of `log`; events count from 0. */
  get firstKept(): number {
    return this.#log?.firstKept ?? 0;
  }

  /** @internal */
  record(event: SessionEvent): void {
    this.recordAll([event]);
  }

  /** Adds events that belong together: a store keeps all of them or none. @internal */
  recordAll(events: readonly SessionEvent[]): void {
    if (this.#together !== undefined) this.#together.push(...events);
    else if (this.eventLog !== undefined) this.#store(this.eventLog, events);
    const log = (this.#log ??= new SessionLog());
    for (const event of events) log.push(event);
  }

  /** Does what records several events that belong together: a store keeps all of them or none. Synchronous. @internal */
  together(work: () => void): void {
    this.#together = [];
    try {
      work();
    } finally {
      const events = this.#together;
      this.#together = undefined;
      if (this.eventLog !== undefined && events.length > 0) this.#store(this.eventLog, events);
    }
  }

  /** Keeps the whole answer of a call in the store, and in memory only that it is there. @internal */
  recordOutput(event: SessionEvent & { readonly type: "output-keep" }): void {
    if (this.eventLog === undefined) return;
    if (this.broken === undefined) keepIfItFits(this.eventLog, event);
    const { output: _output, content: _content, ...rest } = event;
    (this.#log ??= new SessionLog()).push(Object.freeze(rest));
  }

  /**
   * Why nothing more is written to the store, such as `conflict` once another process has taken the session over: what it has is whole up to there.
   * Calls are refused from then on. Close it; a session that is resumed in its place continues from what the store has.
   */
  get broken(): ToolError | undefined {
    return this.#broken ?? this.eventLog?.failure;
  }

  /** Gives it to the session that its call has become part of. @internal */
  moveTo(sessionId: string): void {
    if (this.#parentCall !== undefined) this.#parentCall = { ...this.#parentCall, sessionId };
  }

  /** Notes that its log is another's now, before the log itself knows: what would be recorded from here on is not part of it. @internal */
  noteLoss(error: ToolError): void {
    this.#broken ??= error;
  }

  /** Its jobs, and the calls made in them, continue in the process that opens it next, and end there. @internal */
  get isHandedOver(): boolean {
    return this.#isHandedOver;
  }

  /** Leaves what has not ended to that process. @internal */
  leave(reason: ToolError): void {
    this.noteLoss(reason);
    this.#isHandedOver = true;
  }

  /** Events are recorded here in any case; those who wait for the store get the error of what it could not take. */
  #store(eventLog: EventLog, events: readonly SessionEvent[]): void {
    if (this.broken !== undefined) return;
    try {
      eventLog.append(events);
    } catch (thrown: unknown) {
      this.#broken = ToolError.fromUnknown(thrown, "store_failed");
    }
  }

  /** Every call in the order it arrived, each with its result, without the batches that were rolled back. */
  get history(): readonly HistoryEntry[] {
    return historyOf(this.log);
  }

  /** The calls that had ended when the session had so many events. @internal */
  historyAt(length: number): readonly HistoryEntry[] {
    return historyOf(this.#log?.events(length) ?? NO_EVENTS).filter((entry) => entry.result !== undefined);
  }

  /** One value of the state that the tools of a toolset share. */
  state(toolset: string, key: string): JsonValue | undefined {
    return this.#state.get(stateKey(toolset, key));
  }

  /** Every value of the state, by toolset and key. @internal */
  get stateMap(): StateMap {
    return this.#state;
  }

  /** Sets one value, `undefined` removing it, and records the change. Returns the value as it is kept: frozen, and the one before when they are equal. @internal */
  changeState({ turnId, callId, toolset, key }: StatePlace, value: JsonValue | undefined): JsonValue | undefined {
    const at = stateKey(toolset, key);
    const before = this.#state.get(at);
    const after = value === undefined ? undefined : shareJson(value);
    const patch = diffJson(before, after);
    if (patch.length === 0) return before;
    this.#state = after === undefined ? this.#state.delete(at) : this.#state.set(at, after);
    if (this.recorded) {
      const at = this.#ports.clock.wallTime();
      this.recordAndTell({ type: "state-change", callId, sessionId: this.id, turnId, at, toolset, key, patch });
    }
    return after;
  }

  /** Records an event that comes from no call's own run, and tells those who listen. @internal */
  recordAndTell(event: SessionEvent): void {
    this.record(Object.freeze(event));
    this.#tell?.(event);
  }

  /** The session as of its last turn that is over; a branch begins there. @internal */
  get head(): SessionHead {
    this.#log ??= new SessionLog();
    if (this.#heldLength < 0) return { log: this.#log, length: this.#log.length, state: this.#state, tally: this.tally };
    return { log: this.#log, length: this.#heldLength, state: this.#heldState, tally: this.#heldTally };
  }

  /** Holds the head where it is while a turn runs. @internal */
  turnsBegin(): void {
    this.#heldLength = this.length;
    this.#heldState = this.#state;
    this.#heldTally = this.tally;
  }

  /** The changes of the turns are part of the session now. @internal */
  turnsEnded(): void {
    this.#heldLength = -1;
    this.#heldState = NO_STATE;
    this.#heldTally = undefined;
  }

  /** Continues from the head of another session; its events are recorded here. @internal */
  adopt(events: readonly SessionEvent[], state: StateMap): void {
    this.recordAll(events);
    if (this.tally !== undefined) this.tally = countCalls(this.tally, events);
    this.#state = state;
    this.turnsEnded();
  }
}

/** The key of a value in a `StateMap`. No name of a toolset holds a control character. */
export function stateKey(toolset: string, key: string): string {
  return `${toolset}\u0000${key}`;
}

/** The toolset of a key in a `StateMap`, and the key there. */
export function splitStateKey(at: string): { readonly toolset: string; readonly key: string } {
  const split = at.indexOf("\u0000");
  return { toolset: at.slice(0, split), key: at.slice(split + 1) };
}

/** A whole answer is a convenience: one that the store has no room for must not cost the session what follows it. */
function keepIfItFits(eventLog: EventLog, event: SessionEvent): void {
  try {
    eventLog.append([event]);
  } catch {
    // It can be read from memory for as long as that keeps it.
  }
}
