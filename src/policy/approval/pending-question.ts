/** One question between being asked and being settled, whichever way. */
import type { ApprovalEnd, ApprovalRecord, NewApproval } from "../../core/approval-store.ts";
import type { ApprovalNote, ApprovalQuestion } from "../../core/approvals.ts";
import type { ApprovalRequest } from "../../core/ask.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { ToolError } from "../../core/error.ts";

export class PendingQuestion {
  readonly question: ApprovalQuestion;
  readonly asked: NewApproval;
  /** Where its store keeps it. */
  readonly position: number;
  readonly request: ApprovalRequest;
  readonly settlement: Promise<ToolError | undefined>;
  /** Run once when the question is settled. */
  readonly cleanUps: (() => void)[] = [];
  settled = false;
  /** The log of its session has it, or is about to have it. */
  isNoted = false;
  /** Its own approver has answered. */
  isAnswered = false;
  /** Its session was forgotten: nothing can be allowed for good any more. */
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

  /** Ends it once: its call continues, and the approver is notified that no answer is wanted, unless it has given one. */
  end(end: QuestionEnd, error: ToolError | undefined): void {
    if (this.settled) return;
    this.settled = true;
    for (const cleanUp of this.cleanUps) cleanUp();
    if (this.isNoted) void this.question.note?.(noteOf(this.asked, end));
    this.#resolve(error);
    if (!this.isAnswered) this.#withdrawal.abort(error);
  }
}

/** The end of a question. */
export type QuestionEnd = Pick<ApprovalEnd, "status" | "scope" | "ruleId" | "by">;

/** The end of a question, for the log of its session. */
export function noteOf({ id, digest }: Pick<NewApproval, "id" | "digest">, end: QuestionEnd): ApprovalNote {
  const { status, scope, ruleId, by } = end;
  return { type: "answer", id, digest, status, ...omitUndefined({ scope, ruleId, by }) };
}

/** The end of a kept question, which is not open. */
export function endOf({ id, digest, status, scope, ruleId, answeredBy, answeredAt, askedAt }: ApprovalRecord): ApprovalEnd {
  const ended = status === "open" ? "withdrawn" : status;
  return { id, digest, status: ended, at: answeredAt ?? askedAt, ...omitUndefined({ scope, ruleId, by: answeredBy }) };
}
