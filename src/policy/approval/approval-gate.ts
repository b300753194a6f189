/** Asks a person or a rule for approval before a call may run, and keeps the answers. */
import { MILLISECONDS, checkNumber } from "../../core/base/number-bounds.ts";
import { checkKnownKeys } from "../../core/known-keys.ts";
import type { ApprovalPreview } from "../../core/approvals/approval-preview.ts";
import type {
  AbandonedQuestions,
  ApprovalEnd,
  ApprovalRecord,
  ApprovalRule,
  ApprovalStore,
  ListApprovalsOptions,
  NewApproval,
} from "../../core/store/approval-store.ts";
import type {
  ApprovalDecision,
  ApprovalQuestion,
  Approvals,
  ManyApprovals,
  NewApprovalRule,
  PendingApproval,
  SessionRule,
  ShownTool,
} from "../../core/approvals/approvals.ts";
import type { ApprovalAnswer, Approver } from "../../core/approvals/ask.ts";
import type { Store } from "../../core/store/store.ts";
import { MultiMap } from "../../core/collections/multi-map.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { ToolError, describeThrown, isToolError } from "../../core/error.ts";
import type { Ports } from "../../core/ports.ts";
import { MemoryApprovals } from "../../store/memory/memory-approvals.ts";
import { approvalDigest, approvalId } from "./approval-digest.ts";
import { ApprovalGrants } from "./approval-grants.ts";
import { approvalCancelledError, approvalDeniedError, findApprovalRefusal, noDecisionError } from "./approval-refusals.ts";
import { ApprovalRules } from "./approval-rules.ts";
import { findAnsweringRule, describeAnswer, isApprovalAnswer } from "./approval-verdict.ts";
import { ApprovalPoller } from "./approval-poller.ts";
import { onAbort } from "../../core/base/on-abort.ts";
import { toApprovalEnd, toAnswerNote, PendingQuestion } from "./pending-question.ts";
import { MAX_ENDED_IN_STORE, StoredApprovals } from "./stored-approvals.ts";

/** Which calls need approval first, and which never do. */
export interface ApprovalSettings {
  /**
   * Answers the questions. `"inbox"`: each question waits until it is answered by `runtime.approvals`, by `haft approvals` or by another
   * process over the same store. If omitted, every call that needs approval ends with `approval_required`.
   */
  readonly approve?: Approver | "inbox";
  /** Patterns over qualified names that need approval besides destructive tools: `mail::*`, `*`. A name without `::` is in toolset `default`. */
  readonly always?: readonly string[];
  /** Patterns of tools that never need approval; wins over `always` and over destructive. */
  readonly never?: readonly string[];
  /** Longest wait for an answer, in milliseconds, at most ten years; then the call is denied. 0 = no limit. @default 0 */
  readonly timeoutMs?: number;
}

const MAX_REASON_LENGTH = 500;
/** Number of questions asked between two prunes of ended questions. */
const ASKED_BETWEEN_PRUNES = 256;
/** Maximum number of ended questions that are kept: in memory, and in a store. */
const MAX_ENDED = { memory: 1_000, store: MAX_ENDED_IN_STORE } as const;

/** The approvals of one process, over a store that others may share. Any error while getting an answer denies the call. */
export class ApprovalGate implements Approvals {
  readonly #approve: Approver | undefined;
  /** A field instead of a getter, since every call reads it. */
  mayAsk: boolean;
  readonly #rules: ApprovalRules;
  readonly #timeoutMs: number;
  readonly #ports: Ports;
  readonly #store: ApprovalStore;
  /** Set if no store was given and the questions are kept only in this object. */
  readonly #memoryStore: MemoryApprovals | undefined;
  readonly #inbox: StoredApprovals;
  readonly #poller: ApprovalPoller | undefined;
  readonly #grants = new ApprovalGrants();
  /** Open questions by id, oldest first. */
  readonly #open = new Map<string, PendingQuestion>();
  readonly #openBySession = new MultiMap<string, PendingQuestion>();
  readonly #writes = new Set<Promise<unknown>>();
  /** Settles once the rules of all `allowAlways` calls are stored, or have failed. */
  #rulesStored: Promise<unknown> = Promise.resolve();
  /** Questions, by id, that are being released to another process, or to another session of this one. */
  readonly #releasing = new Map<string, Promise<unknown>>();
  #askedCount = 0;

  /** @param store keeps the questions. @default a store in memory. @throws ToolError `invalid_argument` */
  constructor(settings: ApprovalSettings, ports: Ports, store?: Pick<Store, "approvals" | "follow">) {
    const { approve, timeoutMs = 0 } = settings;
    checkNumber(timeoutMs, "timeoutMs of the approval", { ...MILLISECONDS, zero: "no limit" });
    this.#approve = approve === "inbox" ? () => new Promise(() => {}) : approve;
    this.#rules = new ApprovalRules(settings);
    this.mayAsk = this.#rules.mayAsk;
    this.#timeoutMs = timeoutMs;
    this.#ports = ports;
    this.#memoryStore = store === undefined ? new MemoryApprovals() : undefined;
    this.#store = store?.approvals ?? this.#memoryStore ?? new MemoryApprovals();
    this.#inbox = new StoredApprovals({ store: this.#store, ports, onEnd: (end) => this.#settleFromOthers(end) });
    if (store !== undefined)
      this.#poller = new ApprovalPoller({
        store: store.approvals,
        follow: (listener) => store.follow(listener),
        ports,
        open: this.#open,
        onEnd: (end) => this.#settleFromOthers(end),
      });
  }

  get hasApprover(): boolean {
    return this.#approve !== undefined;
  }

  reasonFor(qualifiedName: string, destructive: boolean, session?: { readonly id: string }): string | undefined {
    return this.#rules.reasonFor(qualifiedName, destructive, session);
  }

  async ask(question: ApprovalQuestion): Promise<ToolError | undefined> {
    if (question.signal.aborted) return approvalCancelledError(question);
    const asked = this.#createApproval(question);
    if (asked.simulated) this.#grants.markSimulated(asked.sessionId);
    if (this.#grants.consumeGrant(asked)) return this.#recordGrant(question, asked);
    try {
      const rule = findAnsweringRule(await this.#store.rules({ now: asked.askedAt, sessionId: asked.sessionId }), asked);
      if (rule !== undefined) return this.#recordGrant(question, asked, rule);
      return await this.#storeQuestion(question, asked);
    } catch (thrown: unknown) {
      const error = ToolError.fromUnknown(thrown, "store_failed");
      return new ToolError(error.code, `${question.toolName} was not run: its approval could not be stored. ${error.message}`, {
        cause: thrown,
        outcome: "not_started",
      });
    }
  }

  list(options?: ListApprovalsOptions): Promise<readonly ApprovalRecord[]> {
    return this.#inbox.list(options);
  }

  get(id: string): Promise<ApprovalRecord | undefined> {
    return this.#inbox.get(id);
  }

  pending(): Promise<readonly PendingApproval[]> {
    return this.#inbox.open();
  }

  answer(decision: ApprovalDecision): Promise<boolean> {
    return this.#inbox.answer(decision);
  }

  answerMany(many: ManyApprovals): Promise<readonly ApprovalRecord[]> {
    return this.#inbox.answerMany(many);
  }

  preview(id: string, options: { readonly signal?: AbortSignal } = {}): Promise<ApprovalPreview> {
    return this.#open.get(id)?.request.preview?.() ?? this.#inbox.preview(id, options);
  }

  async rules(): Promise<readonly ApprovalRule[]> {
    await this.#rulesStored;
    return this.#inbox.rules();
  }

  addRule(rule: NewApprovalRule & { readonly pattern: string }): Promise<ApprovalRule> {
    return this.#inbox.addRule(rule);
  }

  revokeRule(id: string): Promise<boolean> {
    return this.#inbox.revokeRule(id);
  }

  allowOnce(sessionId: string, digest: string): () => void {
    return this.#grants.allowOnce(sessionId, digest);
  }

  allowAlways(sessionId: string, toolName: string, shown: ShownTool = {}): void {
    checkKnownKeys(shown, { definition: "string", warned: "boolean" }, "allowAlways()");
    // The grant ends once the rule is stored, which can be listed and revoked: a grant that stayed would outlast the rule's revocation.
    if (!this.#grants.allowAlways(sessionId, toolName, shown) || this.#grants.isSimulated(sessionId)) return;
    const { definition, warned = false } = shown;
    const rule = {
      id: this.#ports.ids.next("rule"),
      pattern: toolName,
      sessionId,
      scope: "tool",
      createdAt: this.#ports.clock.wallTime(),
    } as const;
    const stored = this.#store.addRule({ ...rule, ...omitUndefined({ definition }), ...(warned ? { warnedIn: sessionId } : {}) });
    const settled = this.#logFailure(stored.then(() => this.#grants.revokeAlways(sessionId, toolName, shown)));
    this.#rulesStored = Promise.all([this.#rulesStored, settled]).then(() => undefined);
    this.#trackWrite(settled);
  }

  setSessionRule(sessionId: string, rule: SessionRule): void {
    this.#rules.setSessionRule(sessionId, rule);
    this.mayAsk = true;
  }

  forget(sessionId: string): void {
    this.#grants.forget(sessionId);
    this.#rules.forget(sessionId);
    this.#memoryStore?.forgetRules(sessionId);
    for (const pending of this.#openBySession.get(sessionId)) pending.isForgotten = true;
  }

  async withdrawAbandoned(sessionId: string, calls: Pick<AbandonedQuestions, "callIds" | "exceptCallIds"> = {}): Promise<void> {
    const withdrawn = this.#store.withdrawAbandoned({ sessionId, at: this.#ports.clock.wallTime(), ...calls });
    const settled: Promise<unknown> = Promise.allSettled([withdrawn]).finally(() => this.#writes.delete(settled));
    this.#writes.add(settled);
    await withdrawn;
  }

  async whenSettled(): Promise<void> {
    while (this.#writes.size > 0) await Promise.allSettled(this.#writes);
  }

  #createApproval(question: ApprovalQuestion): NewApproval {
    const {
      signal: _signal,
      whenRecorded: _whenRecorded,
      onChange: _onChange,
      preview: _preview,
      isHandedOver: _isHandedOver,
      ...shown
    } = question;
    const askedAt = this.#ports.clock.wallTime();
    const expiresAt = this.#timeoutMs > 0 ? askedAt + this.#timeoutMs : undefined;
    return { id: approvalId(question), ...shown, digest: approvalDigest(question), askedAt, ...omitUndefined({ expiresAt }) };
  }

  /** Records the answer in the session's log for a process that resumes the call: the grant itself is known only here. */
  async #recordGrant({ onChange }: ApprovalQuestion, { id, digest }: NewApproval, rule?: ApprovalRule): Promise<undefined> {
    const by = rule === undefined ? {} : { scope: rule.scope, ruleId: rule.id };
    await onChange?.({ type: "answer", id, digest, status: "allowed", ...by });
  }

  /** Stores the question, then asks the approver. Without an approver, only an answer that an earlier process got counts. */
  async #storeQuestion(question: ApprovalQuestion, asked: NewApproval): Promise<ToolError | undefined> {
    const approve = this.#approve;
    const { id, digest, expiresAt } = asked;
    if (approve === undefined) {
      const before = await this.#inbox.get(id);
      if (before?.digest === digest && isAnswered(before)) return this.#settleWithEarlier(question, before);
      return noDecisionError(question, "no approver is configured");
    }
    await question.whenRecorded?.();
    if (question.signal.aborted) return approvalCancelledError(question);
    await this.#releasing.get(id);
    const stored = await this.#store.put(asked);
    const pending = new PendingQuestion(question, asked, stored.position);
    if (stored.status === "open") pending.cleanUps.push(onAbort(question.signal, () => this.#withdraw(pending)));
    if (question.signal.aborted) return approvalCancelledError(question);
    pending.isRecorded = true;
    try {
      await question.onChange?.({ type: "ask", id, digest, ...omitUndefined({ expiresAt }) });
    } catch (thrown: unknown) {
      if (stored.status === "open") this.#withdraw(pending); // its call ends with this error and can no longer be answered
      throw thrown;
    }
    if (stored.status !== "open") return this.#settleWithEarlier(question, stored);
    if (!pending.settled) this.#startQuestion(pending, approve);
    return pending.settlement;
  }

  #startQuestion(pending: PendingQuestion, approve: Approver): void {
    const { asked } = pending;
    this.#open.set(asked.id, pending);
    this.#openBySession.add(asked.sessionId, pending);
    pending.cleanUps.push(() => this.#close(pending));
    if (this.#timeoutMs > 0) pending.cleanUps.push(this.#ports.clock.timer(() => void this.#expire(pending), this.#timeoutMs));
    this.#poller?.start();
    if (this.#askedCount++ % ASKED_BETWEEN_PRUNES === 0) this.#prune();
    void this.#settleByAnswer(pending, approve);
  }

  async #settleByAnswer(pending: PendingQuestion, approve: Approver): Promise<void> {
    const answer = await this.#getAnswer(pending, approve);
    if (pending.settled) return;
    pending.isAnswered = true;
    if (answer instanceof ToolError) return this.#end(pending, answer.code === "approval_required" ? "withdrawn" : "denied", answer);
    const { id, digest } = pending.asked;
    await this.#denyOnFailure(pending, async () => {
      const effectiveAnswer = pending.isForgotten && answer !== "deny" ? "allow-once" : answer;
      if (!(await this.#inbox.answer({ id, digest, answer: effectiveAnswer }))) await this.#settleFromStore(pending);
    });
  }

  #expire(pending: PendingQuestion): Promise<void> {
    // without a timeout here: another process that asked the question again set one
    const when = this.#timeoutMs > 0 ? `within ${this.#timeoutMs} ms` : "in time";
    return this.#end(pending, "expired", approvalDeniedError(pending.question, `no answer came ${when}`));
  }

  /** Ends the question with an error, unless it was answered first. */
  #end(pending: PendingQuestion, status: ApprovalEnd["status"], error: ToolError): Promise<void> {
    const { id, digest } = pending.asked;
    const end = { id, digest, status, at: this.#ports.clock.wallTime(), byAsker: true } as const;
    return this.#denyOnFailure(pending, async () => {
      if (await this.#store.end(end)) pending.settle(end, error);
      else await this.#settleFromStore(pending);
    });
  }

  /** Withdraws a question whose call has ended or continues in another process. Does not wait for the store. */
  #withdraw(pending: PendingQuestion): void {
    const { id, digest } = pending.asked;
    const end = { id, digest, status: "withdrawn", at: this.#ports.clock.wallTime() } as const;
    if (pending.question.isHandedOver?.() === true) this.#release(pending);
    else this.#trackWrite(this.#store.end(end));
    pending.settle(end, approvalCancelledError(pending.question));
  }

  #release({ asked: { id, digest }, position }: PendingQuestion): void {
    const releasing = this.#logFailure(this.#store.leave({ id, digest, position })).finally(() => this.#releasing.delete(id));
    this.#releasing.set(id, releasing);
    this.#trackWrite(releasing);
  }

  /** Settles the question by the answer in the store, which came first. */
  async #settleFromStore(pending: PendingQuestion): Promise<void> {
    const stored = await this.#inbox.get(pending.asked.id);
    if (stored === undefined || stored.status === "open") pending.settle({ status: "withdrawn" }, approvalCancelledError(pending.question));
    else this.#settleWith(pending, toApprovalEnd(stored));
  }

  #settleFromOthers(end: ApprovalEnd): void {
    const pending = this.#open.get(end.id);
    if (pending === undefined || pending.asked.digest !== end.digest) return;
    if (end.status === "expired") return void this.#expire(pending); // the store may only report it as overdue, and not have ended it yet
    this.#settleWith(pending, end);
  }

  /** Ends the question with an answer. The scope of an answer to a simulation is kept only here: the store has no rule for it. */
  #settleWith(pending: PendingQuestion, end: ApprovalEnd): void {
    const { asked, isForgotten, question } = pending;
    if (asked.simulated && !isForgotten) this.#grants.grantScope(asked, end.scope);
    pending.settle(end, findApprovalRefusal(question, end));
  }

  async #denyOnFailure(pending: PendingQuestion, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (thrown: unknown) {
      const why = describeThrown(thrown).slice(0, MAX_REASON_LENGTH);
      pending.settle({ status: "denied" }, approvalDeniedError(pending.question, `the answer could not be stored: ${why}`));
    }
  }

  /** Returns the approver's answer, or an error that denies the call if the approver failed. */
  async #getAnswer({ question, request }: PendingQuestion, approve: Approver): Promise<ApprovalAnswer | ToolError> {
    try {
      const answer: unknown = await approve(request);
      if (isApprovalAnswer(answer)) return answer;
      return approvalDeniedError(
        question,
        `the answer ${describeAnswer(answer)} is not one of "allow-once", "allow-input", "allow-always" and "deny"`,
      );
    } catch (error: unknown) {
      const why = describeThrown(error).slice(0, MAX_REASON_LENGTH);
      if (isToolError(error) && error.code === "approval_required") return noDecisionError(question, why);
      if (!request.signal.aborted) this.#ports.log.warn(`The approver failed on ${question.toolName}: ${why}`, { callId: question.callId });
      return approvalDeniedError(question, `the approver failed: ${why}`);
    }
  }

  /** Ends a question with the answer that an earlier process got. */
  #settleWithEarlier(question: ApprovalQuestion, stored: ApprovalRecord): ToolError | undefined {
    const end = toApprovalEnd(stored);
    void question.onChange?.(toAnswerNote(stored, end));
    return findApprovalRefusal(question, end);
  }

  #close(pending: PendingQuestion): void {
    const { id, sessionId } = pending.asked;
    if (this.#open.get(id) === pending) this.#open.delete(id);
    this.#openBySession.delete(sessionId, pending);
    if (pending.isForgotten) this.#memoryStore?.forgetRules(sessionId);
  }

  #prune(): void {
    const keep = this.#memoryStore === undefined ? MAX_ENDED.store : MAX_ENDED.memory;
    this.#trackWrite(this.#store.prune({ keep, now: this.#ports.clock.wallTime() }));
  }

  #trackWrite(work: Promise<unknown>): void {
    const written = this.#logFailure(work).finally(() => this.#writes.delete(written));
    this.#writes.add(written);
  }

  async #logFailure(work: Promise<unknown>): Promise<void> {
    try {
      await work;
    } catch (thrown: unknown) {
      this.#ports.log.warn(`An approval could not be stored: ${describeThrown(thrown)}`);
    }
  }
}

function isAnswered({ status }: ApprovalRecord): boolean {
  return status === "allowed" || status === "denied";
}
