/** Puts a call to a person or a rule before it may run, and holds what was answered. */
import { createHash } from "node:crypto";
import type { ApprovalDecision, ApprovalQuestion, Approvals, PendingApproval, SessionRule } from "../core/approvals.ts";
import type { ApprovalAnswer, ApprovalRequest, Approver } from "../core/ask.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import { canonicalJson } from "../core/base/canonical-json.ts";
import type { JsonObject } from "../core/base/json.ts";
import type { Ports } from "../core/ports.ts";
import { onAbort } from "./deadline.ts";
import { ApprovalRules } from "./approval-rules.ts";

/** Which calls need a yes first, and which never do. */
export interface ApprovalSettings {
  /** Answers the questions. Left out = every call that needs approval ends with `approval_required`. */
  readonly approve?: Approver;
  /** Patterns over qualified names that are asked for besides destructive tools: `mail::*`, `*`. A name without `::` is one of the toolset `default`. */
  readonly always?: readonly string[];
  /** Patterns that are never asked for; wins over `always` and over destructive. */
  readonly never?: readonly string[];
  /** Longest wait for an answer, in milliseconds; without one by then the call is denied. 0 = wait. @default 0 */
  readonly timeoutMs?: number;
}

/** The approvals of one session, and its open questions. */
interface SessionApprovals {
  /** Tools that are allowed for good. */
  readonly always: Set<string>;
  /** Calls that are allowed once, by digest, and how often. */
  readonly once: Map<string, number>;
  readonly pending: Set<PendingQuestion>;
}

const MAX_REASON_LENGTH = 500;

/** One question between being asked and being settled, whichever way. */
class PendingQuestion {
  readonly question: ApprovalQuestion;
  readonly request: ApprovalRequest;
  readonly session: SessionApprovals;
  readonly settlement: Promise<ToolError | undefined>;
  /** Run once when the question is settled. */
  readonly cleanUps: (() => void)[] = [];
  settled = false;
  readonly #resolve: (error: ToolError | undefined) => void;
  readonly #withdrawal = new AbortController();

  constructor(question: ApprovalQuestion, session: SessionApprovals) {
    const { promise, resolve } = Promise.withResolvers<ToolError | undefined>();
    this.question = question;
    const digest = approvalDigest(question.toolName, question.input);
    this.request = Object.freeze({ ...question, signal: this.#withdrawal.signal, digest });
    this.session = session;
    this.settlement = promise;
    this.#resolve = resolve;
  }

  settle(error: ToolError | undefined): void {
    if (this.settled) return;
    this.settled = true;
    for (const cleanUp of this.cleanUps) cleanUp();
    this.#resolve(error);
  }

  /** Settles without the approver's answer, and tells the approver that none is wanted. */
  withdraw(error: ToolError | undefined): void {
    if (this.settled) return;
    this.settle(error);
    this.#withdrawal.abort(error);
  }
}

/** The approvals of one process. Any error on the way to an answer denies the call. */
export class ApprovalGate implements Approvals {
  readonly #approve: Approver | undefined;
  /** A field, as every call looks at it. */
  mayAsk: boolean;
  readonly #rules: ApprovalRules;
  readonly #timeoutMs: number;
  readonly #ports: Ports;
  readonly #sessions = new Map<string, SessionApprovals>();
  /** Oldest first. */
  readonly #open = new Set<PendingQuestion>();

  /** @throws ToolError `invalid_argument` */
  constructor(settings: ApprovalSettings, ports: Ports) {
    const timeoutMs = settings.timeoutMs ?? 0;
    if (!Number.isFinite(timeoutMs) || timeoutMs < 0) {
      throw new ToolError("invalid_argument", `The approval's timeoutMs is a number of at least 0, not ${String(timeoutMs)}.`);
    }
    this.#approve = settings.approve;
    this.#rules = new ApprovalRules(settings);
    this.mayAsk = this.#rules.mayAsk;
    this.#timeoutMs = timeoutMs;
    this.#ports = ports;
  }

  get hasApprover(): boolean {
    return this.#approve !== undefined;
  }

  needed(qualifiedName: string, destructive: boolean, session?: { readonly id: string }): string | undefined {
    return this.#rules.needed(qualifiedName, destructive, session);
  }

  async ask(question: ApprovalQuestion): Promise<ToolError | undefined> {
    if (question.signal.aborted) return cancelled(question);
    if (isAllowed(this.#sessions.get(question.sessionId), question)) return undefined;
    if (this.#approve === undefined) return undecided(question, "no approver is configured");
    return this.#put(question, this.#approve);
  }

  async pending(): Promise<readonly PendingApproval[]> {
    return [...this.#open].map(({ request: { signal: _signal, ...shown } }) => Object.freeze(shown));
  }

  async answer({ callId, digest, answer }: ApprovalDecision): Promise<boolean> {
    if (!isAnswer(answer))
      throw new ToolError("invalid_argument", `An answer is "allow-once", "allow-always" or "deny"; this is ${describeAnswer(answer)}.`);
    const open = [...this.#open].find(({ request }) => request.callId === callId && request.digest === digest);
    if (open === undefined) return false;
    if (answer === "allow-always") open.session.always.add(open.question.toolName);
    open.withdraw(refusalOf(open.question, answer));
    if (answer === "allow-always") settleSiblings(open);
    return true;
  }

  allowOnce(sessionId: string, digest: string): () => void {
    const session = this.#sessionOf(sessionId);
    session.once.set(digest, (session.once.get(digest) ?? 0) + 1);
    let isOpen = true;
    return () => {
      if (isOpen) takeOnce(session, digest);
      isOpen = false;
    };
  }

  allowAlways(sessionId: string, toolName: string): void {
    this.#sessionOf(sessionId).always.add(toolName);
  }

  askMore(sessionId: string, rule: SessionRule): void {
    this.#rules.askMore(sessionId, rule);
    this.mayAsk = true;
  }

  forget(sessionId: string): void {
    this.#sessions.delete(sessionId);
    this.#rules.forget(sessionId);
  }

  #put(question: ApprovalQuestion, approve: Approver): Promise<ToolError | undefined> {
    const session = this.#sessionOf(question.sessionId);
    const pending = new PendingQuestion(question, session);
    session.pending.add(pending);
    this.#open.add(pending);
    pending.cleanUps.push(() => this.#close(pending));
    pending.cleanUps.push(onAbort(question.signal, () => pending.withdraw(cancelled(question))));
    if (this.#timeoutMs > 0) {
      const late = (): void => pending.withdraw(denied(question, `no answer came within ${this.#timeoutMs} ms`));
      pending.cleanUps.push(this.#ports.clock.timer(late, this.#timeoutMs));
    }
    void this.#settleByAnswer(pending, approve);
    return pending.settlement;
  }

  async #settleByAnswer(pending: PendingQuestion, approve: Approver): Promise<void> {
    const answer = await this.#answerOf(pending, approve);
    if (pending.settled) return;
    if (answer === "allow-always") pending.session.always.add(pending.question.toolName);
    pending.settle(typeof answer === "string" ? refusalOf(pending.question, answer) : answer);
    if (answer === "allow-always") settleSiblings(pending);
  }

  /** The approver's answer, or the denial that its failure amounts to. */
  async #answerOf({ question, request }: PendingQuestion, approve: Approver): Promise<ApprovalAnswer | ToolError> {
    try {
      const answer: unknown = await approve(request);
      if (isAnswer(answer)) return answer;
      return denied(question, `the answer ${describeAnswer(answer)} is none of "allow-once", "allow-always" and "deny"`);
    } catch (error: unknown) {
      const why = describeThrown(error).slice(0, MAX_REASON_LENGTH);
      if (error instanceof ToolError && error.code === "approval_required") return undecided(question, why);
      if (!request.signal.aborted) this.#ports.log.warn(`The approver failed on ${question.toolName}: ${why}`, { callId: question.callId });
      return denied(question, `the approver failed: ${why}`);
    }
  }

  #sessionOf(sessionId: string): SessionApprovals {
    let session = this.#sessions.get(sessionId);
    if (session === undefined) {
      session = { always: new Set(), once: new Map(), pending: new Set() };
      this.#sessions.set(sessionId, session);
    }
    return session;
  }

  #close(pending: PendingQuestion): void {
    const { session, question } = pending;
    this.#open.delete(pending);
    session.pending.delete(pending);
    const idle = session.always.size === 0 && session.once.size === 0 && session.pending.size === 0;
    if (idle && this.#sessions.get(question.sessionId) === session) this.#sessions.delete(question.sessionId);
  }
}

/** Whether the session has allowed this call; one that was allowed once is used up by it. */
function isAllowed(session: SessionApprovals | undefined, { toolName, input }: ApprovalQuestion): boolean {
  if (session === undefined) return false;
  if (session.always.has(toolName)) return true;
  return session.once.size > 0 && takeOnce(session, approvalDigest(toolName, input));
}

function takeOnce({ once }: SessionApprovals, digest: string): boolean {
  const left = once.get(digest);
  if (left === undefined) return false;
  if (left === 1) once.delete(digest);
  else once.set(digest, left - 1);
  return true;
}

/** Allows the open questions about a tool that this one has just allowed for good. */
function settleSiblings({ question: { toolName }, session }: PendingQuestion): void {
  for (const pending of session.pending) {
    if (pending.question.toolName === toolName) pending.withdraw(undefined);
  }
}

/** The identity that an answer is bound to: the tool by its qualified name, and its final input. SHA-256 in hex. */
export function approvalDigest(tool: string, input: JsonObject): string {
  return createHash("sha256").update(canonicalJson({ input, tool })).digest("hex");
}

function refusalOf(question: ApprovalQuestion, answer: ApprovalAnswer): ToolError | undefined {
  return answer === "deny" ? denied(question, "the answer was no") : undefined;
}

function isAnswer(answer: unknown): answer is ApprovalAnswer {
  return answer === "allow-once" || answer === "allow-always" || answer === "deny";
}

function describeAnswer(answer: unknown): string {
  return typeof answer === "string" ? JSON.stringify(answer.slice(0, 40)) : `of type ${answer === null ? "null" : typeof answer}`;
}

function denied(question: ApprovalQuestion, why: string): ToolError {
  return new ToolError("approval_denied", `${question.toolName} was not approved: ${why}.`, {
    hint: "Do not call it again with this input unless the user asks for it; continue without it, or ask the user what to do.",
  });
}

function cancelled(question: ApprovalQuestion): ToolError {
  return new ToolError("cancelled", `${question.toolName} was cancelled while it waited for approval.`, { outcome: "not_started" });
}

/** Refuses a call without a decision. */
function undecided(question: ApprovalQuestion, why: string): ToolError {
  return new ToolError("approval_required", `${question.toolName} needs approval, and ${why}. ${question.reason}`, {
    hint: "A person must approve this call, and none can be asked here. Go on without it, or tell the user what it would do and that it needs approval.",
    operatorHint:
      'Run it where a person can be asked, or allow it beforehand: "never" of [approval] in the configuration file, --yes on the command line, approval: { approve } or { never } in code.',
  });
}
