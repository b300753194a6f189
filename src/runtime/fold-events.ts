/** From the events of a session to the session: its state, its latest events, and what was under way when they ended. */
import type { ToolCall } from "../core/call.ts";
import type { SessionEvent } from "../core/event.ts";
import { applyPatch } from "../core/base/json-patch.ts";
import type { JsonObject, JsonValue } from "../core/base/json.ts";
import { PersistentMap } from "../core/base/persistent-map.ts";
import type { Rung } from "../core/rung.ts";
import { shareJson } from "../core/base/share-json.ts";
import { NO_CALLS, countCall } from "../policy/fault-tally.ts";
import type { CallSample, CallTally } from "../policy/fault-tally.ts";
import { SessionLog } from "../session/session-log.ts";
import { place } from "../session/session.ts";
import type { SessionHead, StateMap } from "../session/session.ts";
import { noticeSubmission } from "./submissions.ts";
import type { Submitted } from "./submissions.ts";
import type { StateChange } from "../session/turn.ts";

/** A call that had begun and not ended. */
export interface OpenCall {
  readonly callId: string;
  readonly turnId: string;
  readonly call: ToolCall;
  /** The model's message that it belongs to did not come to its end, or came to nothing. */
  wasNeverWhole: boolean;
  /** The key under which it may have been dispatched; undefined when it says nothing of that. */
  intent: string | undefined;
  /** The input that it may have been dispatched with. */
  intendedInput: JsonObject | undefined;
  readonly answerFrom: readonly Rung[] | undefined;
  /** Its input was to be made by whoever called it. */
  readonly isRewritten: boolean;
  /** What a seed knows it by, where calls are counted. */
  readonly sample: CallSample | undefined;
}

/** A change with the turn it was made in. */
export interface TurnChange extends StateChange {
  readonly turnId: string;
}

/** Takes events one by one, in order; costs memory for the latest ones, the state, and what is open. */
export class SessionFold {
  readonly #log: SessionLog;
  readonly #open = new Map<string, OpenCall>();
  /** The latest changes of a value, as far as calls made them that count only if something else comes. */
  readonly #changes = new Map<string, TurnChange[]>();
  /** Where such calls changed something: those that are open, and those of messages that have not ended well. */
  readonly #places = new Map<string, Set<string>>();
  readonly #submissions = new Map<string, Submitted>();
  /** The turns of calls whose round has not ended. */
  readonly #openRounds = new Map<string, string>();
  #state: StateMap = PersistentMap.empty<JsonValue>();

  readonly #sessionId: string | undefined;
  #tally: CallTally | undefined;
  #root: string | undefined;

  /**
   * @param keep how many of the latest events stay in memory, at least. @default all
   * @param sessionId whose submissions are known again: those of the session it is a branch of belong to that one. @default nobody's
   * @param countsCalls whether calls are counted, as faults need it. @default false
   */
  constructor(keep?: number, sessionId?: string, countsCalls: boolean = false) {
    if (countsCalls) this.#tally = NO_CALLS;
    this.#sessionId = sessionId;
    this.#log = new SessionLog(keep === undefined ? {} : { keep });
  }

  /** @throws ToolError `corrupt_record` for a change that does not fit the state */
  apply(event: SessionEvent): void {
    this.#root ??= event.sessionId;
    switch (event.type) {
      case "batch-start":
      case "batch-rollback":
        if (event.sessionId === this.#sessionId) noticeSubmission(this.#submissions, event, this.#log.length);
        break;
      case "call-start":
        this.#open.set(event.callId, {
          callId: event.callId,
          turnId: event.turnId,
          call: event.call,
          wasNeverWhole: event.inRound === true,
          intent: undefined,
          intendedInput: undefined,
          answerFrom: event.answerFrom,
          isRewritten: event.rewritten === true,
          sample: this.#count(event.call),
        });
        this.#places.set(event.callId, new Set());
        if (event.inRound === true) this.#openRounds.set(event.callId, event.turnId);
        break;
      case "round-end":
        for (const callId of event.callIds) this.#endRound(callId, event.voided !== undefined);
        break;
      case "call-intent":
        this.#noteIntent(event);
        break;
      case "state-change":
        this.#change(event);
        break;
      case "call-end":
        this.#end(event.callId);
        break;
      default:
    }
    this.#log.push(event);
  }

  get head(): SessionHead {
    return { log: this.#log, length: this.#log.length, state: this.#state, tally: this.#tally };
  }

  /** The id of the session that the first event is of: of a branch, the one that all began with. */
  get root(): string | undefined {
    return this.#root;
  }

  /** The calls of messages that were never over, with and without a result, in the order they began, by their turn. */
  get openRounds(): ReadonlyMap<string, readonly string[]> {
    const rounds = Map.groupBy(this.#openRounds, ([, turnId]) => turnId);
    return new Map(Array.from(rounds, ([turnId, calls]) => [turnId, calls.map(([callId]) => callId)]));
  }

  /** Calls without a result, in the order they began. */
  get open(): readonly OpenCall[] {
    return [...this.#open.values()];
  }

  /**
   * What to take back so that calls without a result, and those of messages that came to nothing, have changed nothing: each value as the
   * first of them found it.
   */
  get openChanges(): readonly TurnChange[] {
    return [...this.#changes.values()].flatMap((changes) => {
      const [first] = changes;
      return first === undefined ? [] : [{ ...first, after: changes.at(-1)?.after }];
    });
  }

  get submissions(): ReadonlyMap<string, Submitted> {
    return this.#submissions;
  }

  #count(call: ToolCall): CallSample | undefined {
    if (this.#tally === undefined) return undefined;
    const { sample, tally } = countCall(this.#tally, call);
    this.#tally = tally;
    return sample;
  }

  #endRound(callId: string, isVoided: boolean): void {
    this.#openRounds.delete(callId);
    const open = this.#open.get(callId);
    if (open !== undefined) open.wasNeverWhole = isVoided;
    else if (!isVoided || this.#places.get(callId)?.size === 0) this.#keepChanges(callId);
  }

  #noteIntent({ callId, idempotencyKey, input }: SessionEvent & { readonly type: "call-intent" }): void {
    const open = this.#open.get(callId);
    if (open === undefined) return;
    open.intent = idempotencyKey;
    open.intendedInput = input;
  }

  #change({ callId, turnId, toolset, key, patch }: SessionEvent & { readonly type: "state-change" }): void {
    const at = place(toolset, key);
    const before = this.#state.get(at);
    const patched = applyPatch(before, patch);
    const after = patched === undefined ? undefined : shareJson(patched); // so that later changes of it cost what they change
    this.#state = after === undefined ? this.#state.delete(at) : this.#state.set(at, after);
    const places = this.#places.get(callId);
    // A change after the call's end takes back what it changed.
    if (places === undefined || !this.#open.has(callId)) return void this.#changes.delete(at);
    places.add(at);
    const changes = this.#changes.get(at) ?? [];
    this.#changes.set(at, changes);
    changes.push({ callId, turnId, toolset, key, before, after });
  }

  #end(callId: string): void {
    const wasNeverWhole = this.#open.get(callId)?.wasNeverWhole === true;
    this.#open.delete(callId);
    if (!wasNeverWhole) this.#keepChanges(callId);
    else if (this.#places.get(callId)?.size === 0 && !this.#openRounds.has(callId)) this.#places.delete(callId);
  }

  /** What the call changed stays, and so does what it found when it did. */
  #keepChanges(callId: string): void {
    for (const at of this.#places.get(callId) ?? []) {
      const changes = this.#changes.get(at) ?? [];
      changes.splice(0, changes.findLastIndex((change) => change.callId === callId) + 1);
      if (changes.length === 0) this.#changes.delete(at);
    }
    this.#places.delete(callId);
  }
}
