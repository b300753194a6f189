/** Rebuilds a session from its events: its state, its latest events, and the calls that were open when they ended. */
import type { EarlierJob } from "../../call/jobs/job.ts";
import type { ToolCall } from "../../core/call.ts";
import type { SessionEvent } from "../../core/event.ts";
import { NO_CALLS, countCall, type CallSample, type CallTally } from "../../policy/faults/fault-tally.ts";
import { Inbox, isInboxEvent } from "../../session/inbox.ts";
import { SessionLog } from "../../session/session-log.ts";
import type { SessionHead } from "../../session/session.ts";
import { FoldedState, type StateChange } from "./folded-state.ts";
import { noteEndedWithin, noteNestedIntent, toOpenCall, type OpenCall } from "./open-call.ts";
import { applySubmissionEvent, type SubmittedBatch } from "../submissions.ts";

/** A call that counts only once messages of a model have ended well: its own, or that of the call it is nested in. */
interface UnsettledCall {
  readonly turnId: string;
  readonly parentCallId: string | undefined;
  /** Its own message has not ended. */
  isInRound: boolean;
}

/** The calls of a message that never ended. */
export interface OpenRound {
  readonly turnId: string;
  readonly callIds: readonly string[];
}

interface FoldedSession {
  readonly seedName: string | undefined;
  readonly head: SessionHead;
  readonly submissions: ReadonlyMap<string, SubmittedBatch>;
  readonly inbox: Inbox;
}

export interface FoldOptions {
  /** Minimum number of the latest events that stay in memory. @default all */
  readonly keep?: number | undefined;
  /** The session whose submissions are recognized again; those of the session it branched from belong to that one. @default none */
  readonly sessionId?: string | undefined;
  /** Whether to count calls, which faults need. @default false */
  readonly countsCalls?: boolean;
  /** Passed to `applyPatch`. @default no limit */
  readonly spendItems?: (items: number) => void;
}

/** Takes events one by one, in order. Keeps only the latest events, the state, and open calls in memory. */
export class SessionFold {
  readonly #log: SessionLog;
  readonly #open = new Map<string, OpenCall>();
  /** The open nested calls of each open call, by its id. */
  readonly #nested = new Map<string, Set<OpenCall>>();
  readonly #state: FoldedState;
  readonly #submissions = new Map<string, SubmittedBatch>();
  readonly #inbox = new Inbox();
  /** In the order in which they began: a nested call comes after its caller. */
  readonly #unsettled = new Map<string, UnsettledCall>();
  readonly #sessionId: string | undefined;
  #tally: CallTally | undefined;
  /** The session id of the first event; for a branch, that of the session at the root. */
  #root: string | undefined;

  constructor({ keep, sessionId, countsCalls = false, spendItems }: FoldOptions = {}) {
    if (countsCalls) this.#tally = NO_CALLS;
    this.#sessionId = sessionId;
    this.#state = new FoldedState(spendItems);
    this.#log = new SessionLog(keep === undefined ? {} : { keep });
  }

  /** @throws ToolError `corrupt_record` for a change that does not fit the state */
  apply(event: SessionEvent): void {
    this.#root ??= event.sessionId;
    if (event.sessionId === this.#sessionId && isInboxEvent(event)) this.#inbox.apply(event);
    switch (event.type) {
      case "batch-start":
      case "batch-rollback":
        if (event.sessionId === this.#sessionId) applySubmissionEvent(this.#submissions, event, this.#log.length);
        break;
      case "session-start":
        if (event.sessionId === this.#sessionId) for (const callId of this.#open.keys()) this.#forgetJob(callId);
        break;
      case "call-start":
        this.#startCall(event);
        break;
      case "round-end":
        this.#endRound(event);
        break;
      case "approval-ask":
      case "approval-answer":
        this.#applyApproval(event);
        break;
      case "call-intent":
      case "call-remote":
        this.#applyIntent(event);
        break;
      case "state-change":
        this.#state.change(event, this.#open.has(event.callId));
        break;
      case "call-end":
        this.#endCall(event.callId);
        break;
      default:
        this.#applyJobEvent(event);
    }
    this.#log.push(event);
  }

  get head(): SessionHead {
    return { log: this.#log, length: this.#log.length, state: this.#state.current, tally: this.#tally };
  }

  /** The calls of messages that never ended, with or without a result, in the order in which they began, followed by their nested calls. */
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

  /** Calls without a result, in the order in which they began. */
  get open(): readonly OpenCall[] {
    return Array.from(this.#open.values(), (call) => {
      const { job } = call;
      if (job === undefined) return call;
      return { ...call, job: !job.isQueued && this.#onlyWaitsForApproval(call) ? { ...withSafeStart(job), awaited: true } : job };
    });
  }

  /**
   * The open calls that were made in a call, or in the session, and have no open calls in them; the call itself if it has none. Not by recursion: a
   * log may say that calls were made in one another, and may nest them as deep as it is long.
   */
  innermost(outer?: OpenCall): readonly OpenCall[] {
    const nestedCalls = new Set(outer === undefined ? this.#open.values() : [outer]);
    for (const { callId } of nestedCalls) for (const one of this.#nested.get(callId) ?? []) nestedCalls.add(one);
    return [...nestedCalls].filter(({ callId }) => (this.#nested.get(callId)?.size ?? 0) === 0);
  }

  /** Notes that all open calls of the session which the handler of an open call had begun wait for approval. */
  noteAwaitsWithin(callId: string): void {
    const open = this.#open.get(callId);
    if (open !== undefined) open.awaitsWithin = true;
  }

  /** The changes to undo, so that open calls and those of voided messages have changed nothing: each restores the first value that they found. */
  get openChanges(): readonly StateChange[] {
    return this.#state.uncountedChanges;
  }

  /** An open call that is neither a background job, nor nested in one, nor nested in a call that has ended; no turn had ended while it ran. */
  get openInTurn(): OpenCall | undefined {
    const outside = new Set<string>();
    return this.open.find(({ callId, parentCallId, job }) => {
      const isOutside = job !== undefined || (parentCallId !== undefined && (!this.#open.has(parentCallId) || outside.has(parentCallId)));
      if (isOutside) outside.add(callId);
      return !isOutside;
    });
  }

  /** Everything needed to continue the session. */
  get startOptions(): FoldedSession {
    return { seedName: this.#root, head: this.head, submissions: this.#submissions, inbox: this.#inbox };
  }

  get submissions(): ReadonlyMap<string, SubmittedBatch> {
    return this.#submissions;
  }

  #count(call: ToolCall): CallSample | undefined {
    if (this.#tally === undefined) return undefined;
    const { sample, tally } = countCall(this.#tally, call);
    this.#tally = tally;
    return sample;
  }

  #startCall(event: SessionEvent & { readonly type: "call-start" }): void {
    const { callId, turnId, call, parentCallId, ofComposite } = event;
    const isInRound = event.inRound === true;
    const isUnsettled = isInRound || (parentCallId !== undefined && this.#unsettled.has(parentCallId));
    const hasIncompleteMessage = isUnsettled || (parentCallId !== undefined && this.#log.wasRevoked(parentCallId));
    const opened = toOpenCall(event, { hasIncompleteMessage, sample: this.#count(call) });
    const outer = parentCallId === undefined ? undefined : this.#open.get(parentCallId);
    if (outer !== undefined && ofComposite === true) outer.hasMadeCalls = true;
    this.#open.set(callId, opened);
    this.#addNested(opened);
    if (outer?.job !== undefined) outer.job = withoutSafeStart(outer.job); // the nested call may be what crashed the process
    this.#state.beginCall(callId);
    if (isUnsettled) this.#unsettled.set(callId, { turnId, parentCallId, isInRound });
  }

  #endRound({ callIds, voided }: SessionEvent & { readonly type: "round-end" }): void {
    for (const callId of callIds) {
      if (voided === undefined && this.#log.wasRevoked(callId)) continue; // a handler continued although its call was taken back
      const unsettled = this.#unsettled.get(callId);
      if (unsettled !== undefined) unsettled.isInRound = false;
      if (voided !== undefined) this.#unsettled.delete(callId);
      if (voided !== undefined || unsettled === undefined) this.#settleCall(callId, voided !== undefined);
    }
    if (voided !== undefined) return;
    for (const [callId, { isInRound, parentCallId }] of this.#unsettled) {
      if (isInRound || (parentCallId !== undefined && this.#unsettled.has(parentCallId))) continue;
      this.#unsettled.delete(callId);
      this.#settleCall(callId, false);
    }
  }

  #settleCall(callId: string, isVoided: boolean): void {
    const open = this.#open.get(callId);
    if (open !== undefined) open.hasIncompleteMessage = isVoided;
    else if (!isVoided || this.#state.hasChangedNothing(callId)) this.#state.count(callId);
  }

  /** Forgets a job of the session that this one branched from: it continues there, with its nested calls. */
  #forgetJob(callId: string): void {
    this.#open.delete(callId);
    this.#nested.delete(callId);
    this.#state.count(callId);
  }

  #startJob({ callId, sessionId, toolName, mode, notify, queued, traceparent }: SessionEvent & { readonly type: "job-start" }): void {
    const open = this.#open.get(callId);
    if (open === undefined) return;
    open.job = {
      toolName,
      mode,
      notify,
      starts: queued === true ? 0 : 1,
      safeStarts: 0,
      isAsking: false,
      isQueued: queued === true,
      traceparent,
    };
    if (this.#sessionId !== undefined && sessionId !== this.#sessionId) this.#forgetJob(callId);
  }

  #applyApproval(event: SessionEvent & { readonly type: "approval-ask" | "approval-answer" }): void {
    const open = this.#open.get(event.callId);
    if (open === undefined) return;
    open.reachedApproval = true;
    open.askedAt = event.type === "approval-ask" ? event.at : undefined;
    if (event.type === "approval-answer") {
      if (event.status !== "allowed") return;
      open.askedReason = undefined;
      open.approvedDigest = event.digest;
      return;
    }
    if (event.warned === true) open.askedReason = event.reason;
    open.hadBegun = event.begun === true;
  }

  #applyIntent(event: SessionEvent & { readonly type: "call-intent" | "call-remote" }): void {
    const open = this.#open.get(event.callId);
    if (open === undefined) return;
    open.askedAt = undefined;
    if (event.type === "call-intent") {
      open.intent = { idempotencyKey: event.idempotencyKey, call: { name: event.toolName, input: event.input } };
      noteNestedIntent(this.#open.get(open.parentCallId ?? ""), this.#open);
    } else open.remoteId = event.remoteId;
  }

  #applyJobEvent(event: SessionEvent): void {
    if (event.type === "job-start") return this.#startJob(event);
    if (event.type !== "job-run" && event.type !== "job-output" && event.type !== "job-input") return;
    const open = this.#open.get(event.callId);
    if (open?.job === undefined) return;
    if (event.type !== "job-run") open.job = this.#applyJobMessage(open.job, event);
    else if (event.handedOver === true) open.job = { ...withSafeStart(open.job), starts: event.starts, isAsking: false, isQueued: true };
    else if (event.queued === true) open.job = { ...this.#withLastStart(open, open.job, event), starts: event.starts, isQueued: true };
    else {
      const { starts, at: startedAt } = event;
      open.job = { ...this.#withLastStart(open, open.job, event), starts, startedAt, isAsking: false, isQueued: false };
    }
  }

  /** The job as its process left it: its last start did not end the process if all calls that were made in it waited for approval. */
  #withLastStart(call: OpenCall, job: EarlierJob, { awaited }: { readonly awaited?: true }): EarlierJob {
    return !job.isQueued && (awaited === true || this.#onlyWaitsForApproval(call)) ? withSafeStart(job) : job;
  }

  #onlyWaitsForApproval(call: OpenCall): boolean {
    return this.innermost(call).every((nested) => nested.awaitsWithin || (nested.askedAt !== undefined && nested.callId !== call.callId));
  }

  /** Applies an input or output to a job. A job that asks while a nested call runs does not only wait: that call may be what crashed the process. */
  #applyJobMessage(job: EarlierJob, event: SessionEvent & { readonly type: "job-output" | "job-input" }): EarlierJob {
    if (event.type === "job-input") return withoutSafeStart(job);
    const onlyWaits = event.asks === true && !job.isAsking && (this.#nested.get(event.callId)?.size ?? 0) === 0;
    return onlyWaits ? { ...withSafeStart(job), isAsking: true, isQueued: false } : job;
  }

  #endCall(callId: string): void {
    const ended = this.#open.get(callId);
    const wasNeverWhole = ended?.hasIncompleteMessage === true;
    this.#open.delete(callId);
    if (ended !== undefined) this.#moveNested(ended);
    const outer = this.#open.get(ended?.parentCallId ?? "");
    if (ended !== undefined && outer !== undefined) noteEndedWithin(outer, ended);
    if (!wasNeverWhole) this.#state.count(callId);
    else if (this.#state.hasChangedNothing(callId) && !this.#unsettled.has(callId)) this.#state.count(callId);
  }

  #addNested(call: OpenCall): void {
    const { parentCallId } = call;
    if (parentCallId === undefined || !this.#open.has(parentCallId)) return;
    const nested = this.#nested.get(parentCallId);
    if (nested === undefined) this.#nested.set(parentCallId, new Set([call]));
    else nested.add(call);
  }

  /** Moves the nested calls of a call that has ended to the call around it. */
  #moveNested(ended: OpenCall): void {
    const { callId, parentCallId = "" } = ended;
    const left = this.#nested.get(callId) ?? [];
    this.#nested.delete(callId);
    this.#nested.get(parentCallId)?.delete(ended);
    const around = this.#open.has(parentCallId) ? parentCallId : undefined;
    for (const call of left) {
      call.parentCallId = around ?? callId;
      this.#addNested(call);
    }
  }
}

/** The job, with its last start counted as one that did not crash the process. */
function withSafeStart(job: EarlierJob): EarlierJob {
  return job.isAsking ? job : { ...job, safeStarts: job.safeStarts + 1 };
}

/** The job, no longer counted as only waiting for an answer. */
function withoutSafeStart(job: EarlierJob): EarlierJob {
  return job.isAsking ? { ...job, isAsking: false, safeStarts: job.safeStarts - 1 } : job;
}
