/** One turn of a session: its once-per-turn tools, the tool that ended it, and the changes of state that can be taken back. */
import type { ToolState } from "../core/context.ts";
import { ToolError } from "../core/error.ts";
import type { JsonValue } from "../core/base/json.ts";
import type { ModelMessage } from "../core/message.ts";
import type { Ids } from "../core/ports.ts";
import { stateKey, type Session } from "./session.ts";
import type { RunningTurn, TurnCall } from "./turn-queue.ts";

/** A change that a call made to a session's state. */
export interface StateChange {
  readonly callId: string;
  readonly toolset: string;
  readonly key: string;
  /** The value before. */
  readonly before: JsonValue | undefined;
  /** The value after. */
  readonly after: JsonValue | undefined;
}

interface EarlierTurn {
  readonly id?: string;
  readonly startsAt: number;
  readonly joins?: Turn;
  readonly madeIn?: TurnCall | undefined;
  readonly shown?: readonly ModelMessage[] | undefined;
}

export class Turn {
  readonly session: Session;
  /** How many events the session had when its round began: what the calls of it see as history. */
  startsAt: number;
  /** The history that the model was given when it made the calls of its round; undefined where it was not given. */
  shown: readonly ModelMessage[] | undefined;
  /** The turn whose handler made these calls: what they did is taken back with it. */
  readonly joins: Turn | undefined;
  /** The call of the same session whose handler made these calls: what they did is taken back with it. */
  readonly madeIn: TurnCall | undefined;
  /** Finds the calls that handlers of this turn make; undefined for calls of no session. */
  running: RunningTurn | undefined;
  /** The turn that is the next to take back what this one did: that of the call it was made in. */
  readonly #outer: Turn | undefined;
  readonly #ids: Ids;
  #id: string | undefined;
  #used: Set<string> | undefined;
  #changes: Map<string, StateChange> | undefined;
  /** Every change since the round began, in order; undefined while there is no round. */
  #roundChanges: StateChange[] | undefined;
  /** Changes of calls that were taken back, each below a change of another call. */
  #covered: readonly StateChange[] | undefined;
  /** The tool that ended the turn; calls after it are skipped. */
  endedBy: string | undefined;
  /** Whether the calls that handlers make are distinguished by the call, which costs each of them a context of its own: it may be voided without the rest. */
  tracksCallers: boolean;
  /** It has one call and nothing after it: values kept for the turn would never be read. */
  isSingleCall = false;
  /** The single call of a turn that joined no other: whatever its handler calls in this turn is made by it. */
  sole: TurnCall | undefined;
  /** Answers of calls that its handlers made are cached for the other calls of the turn. */
  keepsAnswers = false;

  /** @param earlier set for a turn that began before a crash, and for one that joins a turn that runs */
  constructor(session: Session, ids: Ids, earlier?: EarlierTurn) {
    this.session = session;
    this.#id = earlier?.id;
    this.startsAt = earlier?.startsAt ?? session.length;
    this.joins = earlier?.joins;
    this.madeIn = earlier?.madeIn;
    this.tracksCallers = this.madeIn !== undefined;
    this.#outer = this.madeIn?.turn instanceof Turn && this.joins !== undefined ? this.madeIn.turn : this.joins;
    this.shown = earlier?.shown;
    this.#ids = ids;
  }

  get id(): string {
    return (this.#id ??= this.#ids.next("turn"));
  }

  /** Names the message of the model that is being answered: the same for all of its calls, and for no other message. */
  get message(): string {
    return `${this.id}/${this.startsAt}`;
  }

  /** Takes the one use of a once-per-turn tool; an error when it was taken before. */
  useOnce(qualifiedName: string): ToolError | undefined {
    if (this.joins !== undefined) return this.joins.useOnce(qualifiedName);
    this.#used ??= new Set();
    if (this.#used.has(qualifiedName)) {
      return new ToolError("limit_exceeded", `${qualifiedName} may run once a turn, and has run in this one.`, {
        hint: "Call it again in the next turn.",
      });
    }
    this.#used.add(qualifiedName);
    return undefined;
  }

  /** Gives the one use of a once-per-turn tool back: its call was not run after all. */
  giveBack(qualifiedName: string): void {
    if (this.joins !== undefined) this.joins.giveBack(qualifiedName);
    else this.#used?.delete(qualifiedName);
    if (this.endedBy === qualifiedName) this.endedBy = undefined;
  }

  /** The state that the tools of one toolset see during a call, with each change noted so that it can be taken back. */
  stateOf(toolset: string, callId: string): ToolState {
    return {
      get: (key) => this.session.state(toolset, key),
      update: (key, change) => {
        if (typeof key !== "string") throw new ToolError("invalid_argument", `The key of a value of state is a string, not ${typeof key}.`);
        const before = this.session.state(toolset, key);
        const after = this.session.changeState({ turnId: this.id, callId, toolset, key }, change(before));
        if (after !== before) this.#note({ callId, toolset, key, before, after });
      },
    };
  }

  /** Takes back what this turn changed in the state, except where another turn has changed it since. */
  rollBack(): void {
    this.#takeBack([...(this.#changes?.values() ?? [])]);
  }

  /** Changes that another call has made since go when that one's change is taken back: the calls that made them are void as well. */
  #takeBack(changes: readonly StateChange[]): void {
    const root = this.joins ?? this;
    const taken = new Set(takeBack(this.session, this.id, changes));
    if (root.#covered !== undefined) {
      const freed = new Set(Array.from(taken, ({ toolset, key }) => stateKey(toolset, key)));
      const due = root.#covered.filter(({ toolset, key }) => freed.has(stateKey(toolset, key)));
      for (const change of takeBack(this.session, this.id, due)) taken.add(change);
    }
    const covered = [...(root.#covered ?? []), ...changes].filter((change) => !taken.has(change));
    root.#covered = covered.length === 0 ? undefined : covered;
    // The turn it joined finds the value as it is now, should it be taken back itself.
    if (this.#outer !== undefined) for (const change of taken) this.#outer.#note({ ...change, before: change.after, after: change.before });
  }

  /** Begins a message of the model. @param shown the history that it answers */
  beginRound(shown: readonly ModelMessage[] | undefined): void {
    this.tracksCallers = true;
    this.startsAt = this.session.length;
    this.shown = shown;
    this.#roundChanges = [];
  }

  /** The message that is being answered will not be voided any more. */
  keepRound(): void {
    this.tracksCallers = this.madeIn !== undefined;
  }

  endRound(): void {
    this.#roundChanges = undefined;
    this.#covered = undefined;
  }

  /** Takes back what these calls of the round changed in the state, except where another call has changed it since. */
  takeBackRound(callIds: ReadonlySet<string>): void {
    const changes: StateChange[] = [];
    const latest = new Map<string, number>();
    for (const change of this.#roundChanges ?? []) {
      if (!callIds.has(change.callId)) continue;
      const at = stateKey(change.toolset, change.key);
      const index = latest.get(at) ?? -1;
      const earlier = changes[index];
      // Of changes with another call's between them, the earlier ones are found when that one's has gone.
      if (earlier?.after === change.before && earlier !== undefined) changes[index] = { ...change, before: earlier.before };
      else latest.set(at, changes.push(change) - 1);
    }
    if (changes.length > 0) this.#takeBack(changes);
  }

  #note(change: StateChange): void {
    if (this.#outer !== undefined) this.#outer.#note(change);
    this.#roundChanges?.push(change);
    this.#changes ??= new Map();
    const at = stateKey(change.toolset, change.key);
    const earlier = this.#changes.get(at);
    this.#changes.set(at, earlier === undefined ? change : { ...change, before: earlier.before });
  }
}

/** The call whose handler asks for this work of a turn; one of a turn that is over counts only if it was taken back. */
export function callerIn(running: RunningTurn | undefined, caller: TurnCall | undefined): TurnCall | undefined {
  if (running?.held instanceof Turn) return caller ?? running.held.sole;
  return caller?.takenBack === undefined ? undefined : caller;
}

/** Undoes changes, the last one first; one that another call has changed since stays. */
export function takeBack(session: Session, turnId: string, changes: readonly StateChange[]): readonly StateChange[] {
  return changes.toReversed().filter(({ callId, toolset, key, before, after }) => {
    const isLatest = session.state(toolset, key) === after;
    if (isLatest) session.changeState({ turnId, callId, toolset, key }, before);
    return isLatest;
  });
}

/** Makes changes again that were taken back, the first one first, where the value has not changed since. */
export function makeAgain(session: Session, turnId: string, changes: readonly StateChange[]): void {
  for (const { callId, toolset, key, before, after } of changes)
    if (session.state(toolset, key) === before) session.changeState({ turnId, callId, toolset, key }, after);
}
