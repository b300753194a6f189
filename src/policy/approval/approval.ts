/** Asks a person or a rule for approval before a call may run, and keeps the answers. */
import type { ApprovalPreview } from "../../core/approval-preview.ts";
import type {
  AbandonedQuestions,
  ApprovalEnd,
  ApprovalRecord,
  ApprovalRule,
  ApprovalStore,
  ListApprovalsOptions,
  NewApproval,
} from "../../core/approval-store.ts";
import type {
  ApprovalDecision,
  ApprovalQuestion,
  Approvals,
  ManyApprovals,
  NewApprovalRule,
  PendingApproval,
  SessionRule,
  ShownTool,
} from "../../core/approvals.ts";
import type { ApprovalAnswer, Approver } from "../../core/ask.ts";
import type { Store } from "../../core/store.ts";
import { Groups } from "../../core/base/groups.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import type { Ports } from "../../core/ports.ts";
import { MemoryApprovals } from "../../store/memory/memory-approvals.ts";
import { approvalDigest, approvalId } from "./approval-digest.ts";
import { ApprovalGrants } from "./approval-grants.ts";
import { cancelled, denied, refusalOf, undecided } from "./approval-refusals.ts";
import { ApprovalRules } from "./approval-rules.ts";
import { answeringRule, describeAnswer, isAnswer } from "./approval-verdict.ts";
import { ApprovalWatch } from "./approval-watch.ts";
import { onAbort } from "../attempts/deadline.ts";
import { endOf, noteOf, PendingQuestion } from "./pending-question.ts";
import { KEPT_IN_STORE, StoredApprovals } from "./stored-approvals.ts";

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
  /** Longest wait for an answer, in milliseconds; then the call is denied. 0 = no limit. @default 0 */
  readonly timeoutMs?: number;
}

const MAX_REASON_LENGTH = 500;
/** Number of questions asked between two prunes of ended questions. */
const ASKED_BETWEEN_PRUNES = 256;
/** Maximum number of ended questions that are kept: in memory, and in a store. */
const KEPT = { own: 1_000, store: KEPT_IN_STORE } as const;

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
  readonly #own: MemoryApprovals | undefined;
  readonly #inbox: StoredApprovals;
  readonly #watch: ApprovalWatch | undefined;
  readonly #grants = new ApprovalGrants();
  /** Open questions by id, oldest first. */
  readonly #open = new Map<string, PendingQuestion>();
  readonly #openIn = new Groups<string, PendingQuestion>();
  readonly #writes = new Set<Promise<unknown>>();
  /** Settles once the rules of all `allowAlways` calls are stored, or have failed. */
  #ruleKept: Promise<unknown> = Promise.resolve();
  /** Questions, by id, that are being released to another process, or to another session of this one. */
  readonly #leaving = new Map<string, Promise<unknown>>();
  #asked = 0;

  /** @param store keeps the questions. @default a store in memory. @throws ToolError `invalid_argument` */
  constructor(settings: ApprovalSettings, ports: Ports, store?: Pick<Store, "approvals" | "follow">) {
    const { approve, timeoutMs = 0 } = settings;
    if (!Number.isFinite(timeoutMs) || timeoutMs < 0) {
      throw new ToolError("invalid_argument", `The approval's timeoutMs must be a number of at least 0, not ${String(timeoutMs)}.`);
    }
    this.#approve = approve === "inbox" ? () => new Promise(() => {}) : approve;
    this.#rules = new ApprovalRules(settings);
    this.mayAsk = this.#rules.mayAsk;
    this.#timeoutMs = timeoutMs;
    this.#ports = ports;
    this.#own = store === undefined ? new MemoryApprovals() : undefined;
    this.#store = store?.approvals ?? this.#own ?? new MemoryApprovals();
    this.#inbox = new StoredApprovals({ store: this.#store, ports, onEnd: (end) => this.#settleElsewhere(end) });
    if (store !== undefined)
      this.#watch = new ApprovalWatch({
        store: store.approvals,
        follow: (listener) => store.follow(listener),
        ports,
        open: this.#open,
        onEnd: (end) => this.#settleElsewhere(end),
      });
  }

  get hasApprover(): boolean {
    return this.#approve !== undefined;
  }

  needed(qualifiedName: string, destructive: boolean, session?: { readonly id: string }): string | undefined {
    return this.#rules.needed(qualifiedName, destructive, session);
  }

  async ask(question: ApprovalQuestion): Promise<ToolError | undefined> {
    if (question.signal.aborted) return cancelled(question);
    const asked = this.#newApproval(question);
    if (asked.simulated) this.#grants.noteSimulated(asked.sessionId);
    if (this.#grants.allow(asked)) return this.#allowedBefore(question, asked);
    try {
      const rule = answeringRule(await this.#store.rules({ now: asked.askedAt, sessionId: asked.sessionId }), asked);
      if (rule !== undefined) return this.#allowedBefore(question, asked, rule);
      return await this.#put(question, asked);
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
    await this.#ruleKept;
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
    const kept = this.#store.addRule({ ...rule, ...omitUndefined({ definition }), ...(warned ? { warnedIn: sessionId } : {}) });
    const settled = this.#reported(kept.then(() => this.#grants.endAlways(sessionId, toolName, shown)));
    this.#ruleKept = Promise.all([this.#ruleKept, settled]).then(() => undefined);
    this.#write(settled);
  }

  askMore(sessionId: string, rule: SessionRule): void {
    this.#rules.askMore(sessionId, rule);
    this.mayAsk = true;
  }

  forget(sessionId: string): void {
    this.#grants.forget(sessionId);
    this.#rules.forget(sessionId);
    this.#own?.forgetRules(sessionId);
    for (const pending of this.#openIn.of(sessionId)) pending.isForgotten = true;
  }

  async resumed(sessionId: string, of: Pick<AbandonedQuestions, "callIds" | "exceptCallIds"> = {}): Promise<void> {
    const withdrawn = this.#store.withdrawAbandoned({ sessionId, at: this.#ports.clock.wallTime(), ...of });
    const settled: Promise<unknown> = Promise.allSettled([withdrawn]).finally(() => this.#writes.delete(settled));
    this.#writes.add(settled);
    await withdrawn;
  }

  async whenSettled(): Promise<void> {
    while (this.#writes.size > 0) await Promise.allSettled(this.#writes);
  }

  #newApproval(question: ApprovalQuestion): NewApproval {
    const { signal: _signal, whenRecorded: _whenRecorded, note: _note, preview: _preview, isLeft: _isLeft, ...shown } = question;
    const askedAt = this.#ports.clock.wallTime();
    const expiresAt = this.#timeoutMs > 0 ? askedAt + this.#timeoutMs : undefined;
    return { id: approvalId(question), ...shown, digest: approvalDigest(question), askedAt, ...omitUndefined({ expiresAt }) };
  }

  /** Records the answer in the session's log for a process that resumes the call: the grant itself is known only here. */
  async #allowedBefore({ note }: ApprovalQuestion, { id, digest }: NewApproval, rule?: ApprovalRule): Promise<undefined> {
    const by = rule === undefined ? {} : { scope: rule.scope, ruleId: rule.id };
    await note?.({ type: "answer", id, digest, status: "allowed", ...by });
  }

  /** Stores the question, then asks the approver. Without an approver, only an answer that an earlier process got counts. */
  async #put(question: ApprovalQuestion, asked: NewApproval): Promise<ToolError | undefined> {
    const approve = this.#approve;
    const { id, digest, expiresAt } = asked;
    if (approve === undefined) {
      const before = await this.#inbox.get(id);
      if (before?.digest === digest && isAnswered(before)) return this.#conclude(question, before);
      return undecided(question, "no approver is configured");
    }
    await question.whenRecorded?.();
    if (question.signal.aborted) return cancelled(question);
    await this.#leaving.get(id);
    const kept = await this.#store.put(asked);
    const pending = new PendingQuestion(question, asked, kept.position);
    if (kept.status === "open") pending.cleanUps.push(onAbort(question.signal, () => this.#withdraw(pending)));
    if (question.signal.aborted) return cancelled(question);
    pending.isNoted = true;
    try {
      await question.note?.({ type: "ask", id, digest, ...omitUndefined({ expiresAt }) });
    } catch (thrown: unknown) {
      if (kept.status === "open") this.#withdraw(pending); // its call ends with this error and can no longer be answered
      throw thrown;
    }
    if (kept.status !== "open") return this.#conclude(question, kept);
    if (!pending.settled) this.#begin(pending, approve);
    return pending.settlement;
  }

  #begin(pending: PendingQuestion, approve: Approver): void {
    const { asked } = pending;
    this.#open.set(asked.id, pending);
    this.#openIn.add(asked.sessionId, pending);
    pending.cleanUps.push(() => this.#close(pending));
    if (this.#timeoutMs > 0) pending.cleanUps.push(this.#ports.clock.timer(() => void this.#expire(pending), this.#timeoutMs));
    this.#watch?.begin();
    if (this.#asked++ % ASKED_BETWEEN_PRUNES === 0) this.#prune();
    void this.#settleByAnswer(pending, approve);
  }

  async #settleByAnswer(pending: PendingQuestion, approve: Approver): Promise<void> {
    const answer = await this.#answerOf(pending, approve);
    if (pending.settled) return;
    pending.isAnswered = true;
    if (answer instanceof ToolError) return this.#end(pending, answer.code === "approval_required" ? "withdrawn" : "denied", answer);
    const { id, digest } = pending.asked;
    await this.#orDenied(pending, async () => {
      const reached = pending.isForgotten && answer !== "deny" ? "allow-once" : answer;
      if (!(await this.#inbox.answer({ id, digest, answer: reached }))) await this.#follow(pending);
    });
  }

  #expire(pending: PendingQuestion): Promise<void> {
    // without a timeout here: another process that asked the question again set one
    const when = this.#timeoutMs > 0 ? `within ${this.#timeoutMs} ms` : "in time";
    return this.#end(pending, "expired", denied(pending.question, `no answer came ${when}`));
  }

  /** Ends the question with an error, unless it was answered first. */
  #end(pending: PendingQuestion, status: ApprovalEnd["status"], error: ToolError): Promise<void> {
    const { id, digest } = pending.asked;
    const end = { id, digest, status, at: this.#ports.clock.wallTime(), byAsker: true } as const;
    return this.#orDenied(pending, async () => {
      if (await this.#store.end(end)) pending.end(end, error);
      else await this.#follow(pending);
    });
  }

  /** Withdraws a question whose call has ended or continues in another process. Does not wait for the store. */
  #withdraw(pending: PendingQuestion): void {
    const { id, digest } = pending.asked;
    const end = { id, digest, status: "withdrawn", at: this.#ports.clock.wallTime() } as const;
    if (pending.question.isLeft?.() === true) this.#leave(pending);
    else this.#write(this.#store.end(end));
    pending.end(end, cancelled(pending.question));
  }

  #leave({ asked: { id, digest }, position }: PendingQuestion): void {
    const leaving = this.#reported(this.#store.leave({ id, digest, position })).finally(() => this.#leaving.delete(id));
    this.#leaving.set(id, leaving);
    this.#write(leaving);
  }

  /** Settles the question by the answer in the store, which came first. */
  async #follow(pending: PendingQuestion): Promise<void> {
    const kept = await this.#inbox.get(pending.asked.id);
    if (kept === undefined || kept.status === "open") pending.end({ status: "withdrawn" }, cancelled(pending.question));
    else this.#endWith(pending, endOf(kept));
  }

  #settleElsewhere(end: ApprovalEnd): void {
    const pending = this.#open.get(end.id);
    if (pending === undefined || pending.asked.digest !== end.digest) return;
    if (end.status === "expired") return void this.#expire(pending); // the store may only report it as overdue, and not have ended it yet
    this.#endWith(pending, end);
  }

  /** Ends the question with an answer. The scope of an answer to a simulation is kept only here: the store has no rule for it. */
  #endWith(pending: PendingQuestion, end: ApprovalEnd): void {
    const { asked, isForgotten, question } = pending;
    if (asked.simulated && !isForgotten) this.#grants.allowReached(asked, end.scope);
    pending.end(end, refusalOf(question, end));
  }

  async #orDenied(pending: PendingQuestion, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (thrown: unknown) {
      const why = describeThrown(thrown).slice(0, MAX_REASON_LENGTH);
      pending.end({ status: "denied" }, denied(pending.question, `the answer could not be stored: ${why}`));
    }
  }

  /** Returns the approver's answer, or an error that denies the call if the approver failed. */
  async #answerOf({ question, request }: PendingQuestion, approve: Approver): Promise<ApprovalAnswer | ToolError> {
    try {
      const answer: unknown = await approve(request);
      if (isAnswer(answer)) return answer;
      return denied(question, `the answer ${describeAnswer(answer)} is not one of "allow-once", "allow-input", "allow-always" and "deny"`);
    } catch (error: unknown) {
      const why = describeThrown(error).slice(0, MAX_REASON_LENGTH);
      if (error instanceof ToolError && error.code === "approval_required") return undecided(question, why);
      if (!request.signal.aborted) this.#ports.log.warn(`The approver failed on ${question.toolName}: ${why}`, { callId: question.callId });
      return denied(question, `the approver failed: ${why}`);
    }
  }

  /** Ends a question with the answer that an earlier process got. */
  #conclude(question: ApprovalQuestion, kept: ApprovalRecord): ToolError | undefined {
    const end = endOf(kept);
    void question.note?.(noteOf(kept, end));
    return refusalOf(question, end);
  }

  #close(pending: PendingQuestion): void {
    const { id, sessionId } = pending.asked;
    if (this.#open.get(id) === pending) this.#open.delete(id);
    this.#openIn.delete(sessionId, pending);
    if (pending.isForgotten) this.#own?.forgetRules(sessionId);
  }

  #prune(): void {
    const keep = this.#own === undefined ? KEPT.store : KEPT.own;
    this.#write(this.#store.prune({ keep, now: this.#ports.clock.wallTime() }));
  }

  #write(work: Promise<unknown>): void {
    const written = this.#reported(work).finally(() => this.#writes.delete(written));
    this.#writes.add(written);
  }

  async #reported(work: Promise<unknown>): Promise<void> {
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
