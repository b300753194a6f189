/** One question, from when it is asked until it is settled. */
import type { ApprovalEnd, ApprovalRecord, NewApproval } from "../../core/store/approval-store.ts";
import type { ApprovalNote, ApprovalQuestion } from "../../core/approvals/approvals.ts";
import type { ApprovalRequest } from "../../core/approvals/ask.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { ToolError } from "../../core/error.ts";

export class PendingQuestion {
  readonly question: ApprovalQuestion;
  readonly asked: NewApproval;
  /** Position of the question in its store. */
  readonly position: number;
  readonly request: ApprovalRequest;
  readonly settlement: Promise<ToolError | undefined>;
  /** Called once when the question is settled. */
  readonly cleanUps: (() => void)[] = [];
  settled = false;
  /** Whether the session's log contains the question, or is about to. */
  isRecorded = false;
  /** Whether this process's approver has answered. */
  isAnswered = false;
  /** Whether the session was forgotten: its answers can no longer allow more than one call. */
  isForgotten = false;
  readonly #resolve: (error: ToolError | undefined) => void;
  readonly #withdrawal = new AbortController();

  constructor(question: ApprovalQuestion, asked: NewApproval, position: number) {
    const { promise, resolve } = Promise.withResolvers<ToolError | undefined>();
    const { preview } = question;
    this.question = question;
    this.asked = asked;
    this.position = position;
    this.request = Object.freeze({ ...asked, ...(preview === undefined ? {} : { preview }), signal: this.#withdrawal.signal });
    this.settlement = promise;
    this.#resolve = resolve;
  }

  /** Settles the question once, so that its call continues. Aborts the approver's signal unless the approver has answered. */
  settle(end: QuestionEnd, error: ToolError | undefined): void {
    if (this.settled) return;
    this.settled = true;
    for (const cleanUp of this.cleanUps) cleanUp();
    if (this.isRecorded) void this.question.onChange?.(toAnswerNote(this.asked, end));
    this.#resolve(error);
    if (!this.isAnswered) this.#withdrawal.abort(error);
  }
}

export type QuestionEnd = Pick<ApprovalEnd, "status" | "scope" | "ruleId" | "by">;

/** Returns the end of a question, as recorded in its session's log. */
export function toAnswerNote({ id, digest }: Pick<NewApproval, "id" | "digest">, end: QuestionEnd): ApprovalNote {
  const { status, scope, ruleId, by } = end;
  return { type: "answer", id, digest, status, ...omitUndefined({ scope, ruleId, by }) };
}

/** Returns the end of a stored question. One that is still open counts as withdrawn. */
export function toApprovalEnd({ id, digest, status, scope, ruleId, answeredBy, answeredAt, askedAt }: ApprovalRecord): ApprovalEnd {
  const ended = status === "open" ? "withdrawn" : status;
  return { id, digest, status: ended, at: answeredAt ?? askedAt, ...omitUndefined({ scope, ruleId, by: answeredBy }) };
}
