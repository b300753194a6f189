/** From the events of a session to the session: its state, its latest events, and what was under way when they ended. */
import type { ToolCall } from "../core/call.ts";
import type { SessionEvent } from "../core/event.ts";
import { applyPatch, diffJson } from "../core/base/json-patch.ts";
import type { JsonObject, JsonValue } from "../core/base/json.ts";
import { PersistentMap } from "../core/base/persistent-map.ts";
import type { AnswerSource } from "../core/answer-source.ts";
import { shareJson } from "../core/base/share-json.ts";
import { NO_CALLS, countCall, type CallSample, type CallTally } from "../policy/fault-tally.ts";
import { SessionLog } from "../session/session-log.ts";
import { place, type SessionHead, type StateMap } from "../session/session.ts";
import { noticeSubmission, type Submitted } from "./submissions.ts";
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
  readonly answerFrom: readonly AnswerSource[] | undefined;
  /** Its input was to be made by its caller. */
  readonly isRewritten: boolean;
  /** What a seed knows it by, where calls are counted. */
  readonly sample: CallSample | undefined;
}

/** A call that counts only when messages of a model have come to a good end: its own, or that of the call it was made in. */
interface UnsettledCall {
  readonly turnId: string;
  readonly parentCallId: string | undefined;
  /** Its own message has not ended. */
  isInRound: boolean;
}

/** The calls of a message that was never over. */
export interface OpenRound {
  readonly turnId: string;
  readonly callIds: readonly string[];
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
  /** In the order they began: a call stands behind the one it was made in. */
  readonly #unsettled = new Map<string, UnsettledCall>();
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
        this.#start(event);
        break;
      case "round-end":
        this.#endRound(event);
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

  /** The calls of messages that were never over, with and without a result, in the order they began, then those that were made in them. */
  get openRounds(): readonly OpenRound[] {
    const turns = new Map<string, string>();
    const nested: [string, string][] = [];
    for (const [callId, { turnId, parentCallId }] of this.#unsettled) {
      const outer = parentCallId === undefined ? undefined : turns.get(parentCallId);
      turns.set(callId, outer ?? turnId);
      if (outer !== undefined) nested.push([callId, outer]);
    }
    for (const [callId, turnId] of nested) if (turns.delete(callId)) turns.set(callId, turnId);
    return Array.from(
      Map.groupBy(turns, ([, turnId]) => turnId),
      ([turnId, calls]) => ({ turnId, callIds: calls.map(([callId]) => callId) }),
    );
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

  #start(event: SessionEvent & { readonly type: "call-start" }): void {
    const { callId, turnId, call, parentCallId, inRound, answerFrom, rewritten } = event;
    const isInRound = inRound === true;
    const isUnsettled = isInRound || (parentCallId !== undefined && this.#unsettled.has(parentCallId));
    this.#open.set(callId, {
      callId,
      turnId,
      call,
      wasNeverWhole: isUnsettled || (parentCallId !== undefined && this.#log.wasTakenBack(parentCallId)),
      intent: undefined,
      intendedInput: undefined,
      answerFrom,
      isRewritten: rewritten === true,
      sample: this.#count(call),
    });
    this.#places.set(callId, new Set());
    if (isUnsettled) this.#unsettled.set(callId, { turnId, parentCallId, isInRound });
  }

  #endRound({ callIds, voided }: SessionEvent & { readonly type: "round-end" }): void {
    for (const callId of callIds) {
      if (voided === undefined && this.#log.wasTakenBack(callId)) continue; // a handler went on that was called in vain
      const unsettled = this.#unsettled.get(callId);
      if (unsettled !== undefined) unsettled.isInRound = false;
      if (voided !== undefined) this.#unsettled.delete(callId);
      if (voided !== undefined || unsettled === undefined) this.#settle(callId, voided !== undefined);
    }
    if (voided !== undefined) return;
    for (const [callId, { isInRound, parentCallId }] of this.#unsettled) {
      if (isInRound || (parentCallId !== undefined && this.#unsettled.has(parentCallId))) continue;
      this.#unsettled.delete(callId);
      this.#settle(callId, false);
    }
  }

  #settle(callId: string, isVoided: boolean): void {
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
    // A change after the call's end takes back what it changed, and what was changed after that.
    if (places === undefined || !this.#open.has(callId)) return this.#takeBack(at, after);
    places.add(at);
    const changes = this.#changes.get(at) ?? [];
    this.#changes.set(at, changes);
    changes.push({ callId, turnId, toolset, key, before, after });
  }

  /** What stays is what was changed before those changes; the value as it is now is the one that its last change left. */
  #takeBack(at: string, value: JsonValue | undefined): void {
    const changes = this.#changes.get(at) ?? [];
    const kept = changes.slice(
      0,
      Math.max(
        0,
        changes.findLastIndex(({ before }) => diffJson(before, value).length === 0),
      ),
    );
    const last = kept.pop();
    if (last === undefined) this.#changes.delete(at);
    else this.#changes.set(at, [...kept, { ...last, after: value }]);
  }

  #end(callId: string): void {
    const wasNeverWhole = this.#open.get(callId)?.wasNeverWhole === true;
    this.#open.delete(callId);
    if (!wasNeverWhole) this.#keepChanges(callId);
    else if (this.#places.get(callId)?.size === 0 && !this.#unsettled.has(callId)) this.#places.delete(callId);
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
