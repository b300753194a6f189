/** One turn of a session: its once-per-turn tools, the tool that ended it, and its state changes, which can be undone. */
import type { ToolState } from "../core/context.ts";
import { ToolError } from "../core/error.ts";
import type { ModelMessage } from "../core/message.ts";
import type { Ids } from "../core/ports.ts";
import type { Session } from "./session.ts";
import type { RunningTurn, TurnCall } from "./turn-queue.ts";

/** How a turn begins that is not simply the next one of its session. */
interface TurnStart {
  readonly id?: string;
  readonly startsAt: number;
  readonly joinedTurn?: Turn;
  readonly parentCall?: TurnCall | undefined;
  readonly shown?: readonly ModelMessage[] | undefined;
  readonly callingTurn?: Turn | undefined;
}

export class Turn {
  readonly session: Session;
  /** How many events the session had when the round began: the calls of the round see these as history. */
  startsAt: number;
  /** The history that the model was given when it made the calls of the round; undefined if not given. */
  shown: readonly ModelMessage[] | undefined;
  /** The turn whose handler made these calls: if that turn is taken back, so are these calls. */
  readonly joinedTurn: Turn | undefined;
  /**
   * The turn whose handler made these calls outside a session, or in a session that belongs to its call: both are one turn for tools that may run
   * once a turn.
   */
  readonly #callingTurn: Turn | undefined;
  /** The call of the same session whose handler made these calls: if that call is taken back, so are these calls. */
  readonly parentCall: TurnCall | undefined;
  /** Identifies calls made by handlers of this turn; undefined for calls outside any session. */
  running: RunningTurn | undefined;
  readonly #ids: Ids;
  #id: string | undefined;
  #usedOnce: Set<string> | undefined;
  /** The tool that ended the turn; later calls are skipped. */
  endedBy: string | undefined;
  /** Whether the turn is a batch that is taken back if one of its calls fails, and has not ended. */
  mayRollBack = false;
  /** Whether calls of handlers are attributed to the handler's call, which may be voided without the others. This costs a context for each call. */
  tracksCallers: boolean;
  /** Whether the turn has just one call: values cached for the turn would never be read. */
  isSingleCall = false;
  /** The single call of a turn that joined no other: it makes all calls that handlers of this turn make. */
  soleCall: TurnCall | undefined;
  /** Whether answers of calls made by handlers are cached for other calls of the turn. */
  cachesNestedAnswers = false;

  /** @param start set for a turn that began before a crash, joins a running turn, or belongs to a call of another session */
  constructor(session: Session, ids: Ids, start?: TurnStart) {
    this.session = session;
    this.#id = start?.id;
    this.startsAt = start?.startsAt ?? session.length;
    this.joinedTurn = start?.joinedTurn;
    this.#callingTurn = start?.callingTurn;
    this.parentCall = start?.parentCall;
    this.tracksCallers = this.parentCall !== undefined;
    this.shown = start?.shown;
    this.#ids = ids;
  }

  get id(): string {
    return (this.#id ??= this.#ids.next("turn"));
  }

  /** Identifies the model's message whose calls are running: the same for all of its calls, and different for every other message. */
  get message(): string {
    return `${this.id}/${this.startsAt}`;
  }

  /** Uses up the one use of a once-per-turn tool; returns an error if it was used before. */
  useOnce(qualifiedName: string): ToolError | undefined {
    if (this.joinedTurn !== undefined) return this.joinedTurn.useOnce(qualifiedName);
    if (this.#callingTurn !== undefined) return this.#callingTurn.useOnce(qualifiedName) && usedAroundError(qualifiedName);
    this.#usedOnce ??= new Set();
    if (this.#usedOnce.has(qualifiedName)) {
      return new ToolError("limit_exceeded", `${qualifiedName} may run once a turn, and has run in this one.`, {
        hint: "Call it again in the next turn.",
      });
    }
    this.#usedOnce.add(qualifiedName);
    return undefined;
  }

  /** Frees the one use of a once-per-turn tool, because its call did not run after all. */
  freeOnce(qualifiedName: string): void {
    const outer = this.joinedTurn ?? this.#callingTurn;
    if (outer !== undefined) outer.freeOnce(qualifiedName);
    else this.#usedOnce?.delete(qualifiedName);
    if (this.endedBy === qualifiedName) this.endedBy = undefined;
  }

  /** Returns the state of one toolset during a call; its changes are undone if the call is taken back. */
  stateOf(toolset: string, call: TurnCall): ToolState {
    return {
      get: (key) => this.session.state(toolset, key),
      update: (key, change) => {
        if (typeof key !== "string")
          throw new ToolError("invalid_argument", `The key of a state value must be a string, not ${typeof key}.`);
        const value = change(this.session.state(toolset, key));
        this.session.changeState({ turnId: this.id, callId: call.callId, toolset, key }, value, call);
      },
    };
  }

  /** Starts a round, for one message of the model. @param shown the history that the message answers */
  beginRound(shown: readonly ModelMessage[] | undefined): void {
    this.tracksCallers = true;
    this.startsAt = this.session.length;
    this.shown = shown;
  }

  /** Called when the current message can no longer be voided. */
  confirmRound(): void {
    this.tracksCallers = this.parentCall !== undefined;
  }
}

/** The error of a call that was made within another call, in whose turn the tool was used before: a next turn of a delegate would not help. */
function usedAroundError(qualifiedName: string): ToolError {
  return new ToolError("limit_exceeded", `${qualifiedName} may run once a turn, and has run in the turn of the call around this one.`, {
    hint: "Continue without it, and say so in your answer: it cannot run again before that call has ended.",
  });
}

/** Returns the call whose handler requests this work of a turn. If its turn is over, the call counts only if it was taken back. */
export function findCaller(running: RunningTurn | undefined, caller: TurnCall | undefined): TurnCall | undefined {
  if (running?.runnerData instanceof Turn) return caller ?? running.runnerData.soleCall;
  return caller?.revokedReason === undefined ? undefined : caller;
}
