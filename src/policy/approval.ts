/** Puts a call to a person or a rule before it may run, and holds what was answered. */
import { createHash } from "node:crypto";
import type { ApprovalRequest, Approver } from "../core/ask.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import { canonicalJson } from "../core/base/canonical-json.ts";
import type { JsonObject } from "../core/base/json.ts";
import type { Ports } from "../core/ports.ts";
import { onAbort } from "./deadline.ts";
import { MAX_REMEMBERED_NAMES, nameMatcher } from "./permission.ts";
import type { NameMatcher } from "./permission.ts";

export interface ApprovalSettings {
  /** Answers the questions. Left out = every call that needs approval ends with `approval_required`. */
  readonly approve?: Approver;
  /** Patterns over qualified names that are asked for besides destructive tools: `mail::*`, `*`. */
  readonly always?: readonly string[];
  /** Patterns that are never asked for; wins over `always` and over destructive. */
  readonly never?: readonly string[];
  /** Longest wait for an answer, in milliseconds; without one by then the call is denied. 0 = wait. @default 0 */
  readonly timeoutMs?: number;
}

export interface ApprovalQuestion {
  readonly callId: string;
  readonly sessionId: string;
  readonly toolName: string;
  readonly description: string;
  readonly input: JsonObject;
  readonly reason: string;
  /** It belongs to a simulation whose caller allows side effects. */
  readonly simulated: boolean;
  readonly signal: AbortSignal;
}

/** Why a session must be asked about a tool that the rules let through; undefined where it need not be. */
export type SessionRule = (qualifiedName: string) => string | undefined;

/** What one session has allowed, and what it is being asked right now. */
interface SessionApprovals {
  /** Tools that are allowed for good. */
  readonly granted: Set<string>;
  /** Calls that are allowed once, by digest, and how often. */
  readonly grantedOnce: Map<string, number>;
  readonly pending: Set<PendingQuestion>;
}

const MAX_REASON_LENGTH = 500;

type Rule = "never" | "always" | "none";

/** One question between being asked and being settled, whichever way. */
class PendingQuestion {
  readonly question: ApprovalQuestion;
  readonly settlement: Promise<ToolError | undefined>;
  /** Run once when the question is settled. */
  readonly cleanUps: (() => void)[] = [];
  settled = false;
  readonly #resolve: (error: ToolError | undefined) => void;
  readonly #withdrawal = new AbortController();

  constructor(question: ApprovalQuestion) {
    const { promise, resolve } = Promise.withResolvers<ToolError | undefined>();
    this.question = question;
    this.settlement = promise;
    this.#resolve = resolve;
  }

  /** Aborts when the question is settled without its own answer. */
  get signal(): AbortSignal {
    return this.#withdrawal.signal;
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

/** The approval gate of one runtime (F1.50). Whatever goes wrong on the way to an answer denies the call. */
export class ApprovalGate {
  readonly #approve: Approver | undefined;
  readonly #always: NameMatcher | undefined;
  readonly #never: NameMatcher | undefined;
  readonly #timeoutMs: number;
  readonly #ports: Ports;
  readonly #rules = new Map<string, Rule>();
  readonly #sessions = new Map<string, SessionApprovals>();
  readonly #sessionRules = new Map<string, SessionRule>();
  /** Some call may need approval that destroys nothing. */
  mayAsk: boolean;

  /** @throws ToolError `invalid_argument` */
  constructor(settings: ApprovalSettings, ports: Ports) {
    const timeoutMs = settings.timeoutMs ?? 0;
    if (!Number.isFinite(timeoutMs) || timeoutMs < 0) {
      throw new ToolError("invalid_argument", `The approval's timeoutMs is a number of at least 0, not ${String(timeoutMs)}.`);
    }
    this.#approve = settings.approve;
    this.#always = settings.always === undefined ? undefined : nameMatcher(settings.always, "always");
    this.mayAsk = this.#always !== undefined;
    this.#never = settings.never === undefined ? undefined : nameMatcher(settings.never, "never");
    this.#timeoutMs = timeoutMs;
    this.#ports = ports;
  }

  /** Somebody answers its questions. */
  get hasApprover(): boolean {
    return this.#approve !== undefined;
  }

  /** Why the call must be approved; undefined when it need not be. @param session whose own rule holds as well */
  needed(qualifiedName: string, destructive: boolean, session?: { readonly id: string }): string | undefined {
    const rule = this.#always === undefined && this.#never === undefined ? "none" : this.#ruleFor(qualifiedName);
    if (rule === "never") return undefined;
    if (destructive) return `${qualifiedName} destroys something.`;
    if (rule === "always") return `The approval rules ask before ${qualifiedName} runs.`;
    // The id of a call's own session is minted when it is asked for, which few calls need.
    return session === undefined || this.#sessionRules.size === 0 ? undefined : this.#sessionRules.get(session.id)?.(qualifiedName);
  }

  /** Asks about more of a session's calls from now on; what `never` names is not asked for even so. */
  askMore(sessionId: string, rule: SessionRule): void {
    this.#sessionRules.set(sessionId, rule);
    this.mayAsk = true;
  }

  /** Allows one call of a session that has this digest. What is returned takes that back, unless it was used. */
  grantOnce(sessionId: string, digest: string): () => void {
    const session = this.#sessionOf(sessionId);
    session.grantedOnce.set(digest, (session.grantedOnce.get(digest) ?? 0) + 1);
    let isOpen = true;
    return () => {
      if (isOpen) takeGrant(session, digest);
      isOpen = false;
    };
  }

  /** Allows a tool for good in a session, as the answer `allow-always` does. */
  grantAlways(sessionId: string, toolName: string): void {
    this.#sessionOf(sessionId).granted.add(toolName);
  }

  /**
   * Asks, and waits for the answer: undefined when the call may run, else the error it ends with.
   *
   * Never rejects. Answers at once when this session has allowed the tool for good. `allow-always` also answers
   * the questions about the same tool and session that are still open; their signals abort, as a question's
   * signal does whenever its answer is no longer wanted. An answer that comes later changes nothing.
   */
  async ask(question: ApprovalQuestion): Promise<ToolError | undefined> {
    if (question.signal.aborted) return cancelled(question);
    if (isGranted(this.#sessions.get(question.sessionId), question)) return undefined;
    if (this.#approve === undefined) return noApprover(question);
    return this.#put(question, this.#approve);
  }

  /** Drops what a session allowed. Its open questions stay open, but can no longer allow a tool for good. */
  forget(sessionId: string): void {
    this.#sessions.delete(sessionId);
    this.#sessionRules.delete(sessionId);
  }

  #ruleFor(qualifiedName: string): Rule {
    let rule = this.#rules.get(qualifiedName);
    if (rule === undefined) {
      if (this.#never?.(qualifiedName) !== undefined) rule = "never";
      else rule = this.#always?.(qualifiedName) === undefined ? "none" : "always";
      if (this.#rules.size >= MAX_REMEMBERED_NAMES) this.#rules.clear();
      this.#rules.set(qualifiedName, rule);
    }
    return rule;
  }

  #put(question: ApprovalQuestion, approve: Approver): Promise<ToolError | undefined> {
    const session = this.#sessionOf(question.sessionId);
    const pending = new PendingQuestion(question);
    session.pending.add(pending);
    pending.cleanUps.push(() => this.#close(pending, session));
    pending.cleanUps.push(onAbort(question.signal, () => pending.withdraw(cancelled(question))));
    if (this.#timeoutMs > 0) {
      const late = (): void => pending.withdraw(denied(question, `no answer came within ${this.#timeoutMs} ms`));
      pending.cleanUps.push(this.#ports.clock.timer(late, this.#timeoutMs));
    }
    void this.#settleByAnswer(pending, session, approve);
    return pending.settlement;
  }

  async #settleByAnswer(pending: PendingQuestion, session: SessionApprovals, approve: Approver): Promise<void> {
    const { toolName } = pending.question;
    const answer = await this.#answer(pending, approve);
    if (pending.settled) return;
    if (answer === "allow-always") session.granted.add(toolName);
    pending.settle(typeof answer === "string" ? undefined : answer);
    if (answer === "allow-always") settleSiblings(session, toolName);
  }

  /** What the approver said, or the denial that its failure amounts to. */
  async #answer({ question, signal }: PendingQuestion, approve: Approver): Promise<"allow-once" | "allow-always" | ToolError> {
    try {
      const answer: unknown = await approve(requestFor(question, signal));
      if (answer === "allow-once" || answer === "allow-always") return answer;
      if (answer === "deny") return denied(question, "the answer was no");
      return denied(question, `the answer ${describeAnswer(answer)} is none of "allow-once", "allow-always" and "deny"`);
    } catch (error: unknown) {
      const why = describeThrown(error).slice(0, MAX_REASON_LENGTH);
      if (!signal.aborted) this.#ports.log.warn(`The approver failed on ${question.toolName}: ${why}`, { callId: question.callId });
      return denied(question, `the approver failed: ${why}`);
    }
  }

  #sessionOf(sessionId: string): SessionApprovals {
    let session = this.#sessions.get(sessionId);
    if (session === undefined) {
      session = { granted: new Set(), grantedOnce: new Map(), pending: new Set() };
      this.#sessions.set(sessionId, session);
    }
    return session;
  }

  #close(pending: PendingQuestion, session: SessionApprovals): void {
    const { sessionId } = pending.question;
    session.pending.delete(pending);
    const idle = session.granted.size === 0 && session.grantedOnce.size === 0 && session.pending.size === 0;
    if (idle && this.#sessions.get(sessionId) === session) this.#sessions.delete(sessionId);
  }
}

/** Whether the session has allowed this call; one that was allowed once is used up by it. */
function isGranted(session: SessionApprovals | undefined, { toolName, input }: ApprovalQuestion): boolean {
  if (session === undefined) return false;
  if (session.granted.has(toolName)) return true;
  return session.grantedOnce.size > 0 && takeGrant(session, approvalDigest(toolName, input));
}

function takeGrant({ grantedOnce }: SessionApprovals, digest: string): boolean {
  const left = grantedOnce.get(digest);
  if (left === undefined) return false;
  if (left === 1) grantedOnce.delete(digest);
  else grantedOnce.set(digest, left - 1);
  return true;
}

/** Allows every open question about a tool that was just allowed for good. */
function settleSiblings(session: SessionApprovals, toolName: string): void {
  for (const pending of session.pending) {
    if (pending.question.toolName === toolName) pending.withdraw(undefined);
  }
}

function requestFor(question: ApprovalQuestion, signal: AbortSignal): ApprovalRequest {
  return Object.freeze({ ...question, signal, digest: approvalDigest(question.toolName, question.input) });
}

/** What an answer is bound to: the tool by its qualified name, and its final input. SHA-256 in hex. */
export function approvalDigest(tool: string, input: JsonObject): string {
  return createHash("sha256").update(canonicalJson({ input, tool })).digest("hex");
}

function describeAnswer(answer: unknown): string {
  return typeof answer === "string" ? JSON.stringify(answer.slice(0, 40)) : `of type ${answer === null ? "null" : typeof answer}`;
}

function denied(question: ApprovalQuestion, why: string): ToolError {
  return new ToolError("approval_denied", `${question.toolName} was not approved: ${why}.`, {
    hint: "Do not call it again with this input unless the user asks for it; go on without it, or ask the user what to do.",
  });
}

function cancelled(question: ApprovalQuestion): ToolError {
  return new ToolError("cancelled", `${question.toolName} was cancelled while it waited for approval.`, { outcome: "not_started" });
}

function noApprover(question: ApprovalQuestion): ToolError {
  return new ToolError("approval_required", `${question.toolName} needs approval, and no approver is configured. ${question.reason}`, {
    hint: "A person must approve this call, and none can be asked here. Go on without it, or tell the user what it would do and that it needs approval.",
    operatorHint:
      'Run it where a person can be asked, or allow it beforehand: "never" of [approval] in the configuration file, --yes on the command line, approval: { approve } or { never } in code.',
  });
}
