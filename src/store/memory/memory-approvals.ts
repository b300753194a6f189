/** Approval questions and rules in memory. */
import { isDeepStrictEqual } from "node:util";
import type {
  AbandonedQuestions,
  ApprovalEnd,
  ApprovalRecord,
  ApprovalRule,
  ApprovalStore,
  NewApproval,
  StoredApprovalQuery,
} from "../../core/store/approval-store.ts";
import type { JsonObject } from "../../core/base/json.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { ToolError } from "../../core/error.ts";
import { createCallFilter } from "../records/call-filter.ts";

interface StoredQuestion {
  readonly question: NewApproval;
  readonly position: number;
  readonly end?: ApprovalEnd;
  readonly preview?: JsonObject;
  readonly wantsPreview: boolean;
  /** Whether the call was left for another runtime to resume. */
  readonly isLeftToOthers?: boolean;
}

/** All questions are asked in this process, so only those that it left can be abandoned, or be answered before they are asked. */
export class MemoryApprovals implements ApprovalStore {
  /** By id, in the order they were asked. */
  readonly #questions = new Map<string, StoredQuestion>();
  readonly #rules = new Map<string, ApprovalRule>();
  #position = 0;
  readonly #onPut: ((question: NewApproval) => void) | undefined;

  constructor(onPut?: (question: NewApproval) => void) {
    this.#onPut = onPut;
  }

  async put(question: NewApproval): Promise<ApprovalRecord> {
    const { id, askedAt } = question;
    const earlier = this.#questions.get(id);
    const isAnswered = earlier?.end?.status === "allowed" || earlier?.end?.status === "denied";
    if (earlier?.isLeftToOthers === true && isAnswered && earlier.question.digest === question.digest) return toRecord(earlier, askedAt);
    const stored = { question, position: ++this.#position, wantsPreview: false };
    this.#questions.delete(id);
    this.#questions.set(id, stored);
    this.#onPut?.(question);
    return toRecord(stored, askedAt);
  }

  async list(query: StoredApprovalQuery): Promise<readonly ApprovalRecord[]> {
    const { now, first, limit } = query;
    const all = this.#find(query.ids);
    const found: ApprovalRecord[] = [];
    for (const stored of first === "oldest" ? all : all.reverse()) {
      const record = toRecord(stored, now);
      if (matchesQuery(record, query)) found.push(record);
      if (found.length === limit) break;
    }
    return found;
  }

  /** All questions, or those with these ids, in the order they were asked. */
  #find(ids: readonly string[] | undefined): StoredQuestion[] {
    if (ids === undefined) return [...this.#questions.values()];
    const found = [...new Set(ids)].flatMap((id) => this.#questions.get(id) ?? []);
    return found.sort((one, other) => one.position - other.position);
  }

  async end(end: ApprovalEnd): Promise<boolean> {
    const stored = this.#questions.get(end.id);
    if (stored === undefined || stored.question.digest !== end.digest) return false;
    if (stored.end !== undefined) return isDeepStrictEqual(stored.end, end);
    const isAnswer = end.status === "allowed" || end.status === "denied";
    if (isAnswer && (stored.question.expiresAt ?? Infinity) <= end.at) return false;
    if (end.rule !== undefined) await this.addRule(end.rule);
    this.#questions.set(end.id, { ...stored, end, wantsPreview: false });
    return true;
  }

  async leave({ id, digest, position }: { readonly id: string; readonly digest: string; readonly position: number }): Promise<void> {
    const stored = this.#questions.get(id);
    if (stored?.question.digest === digest && stored.position === position)
      this.#questions.set(id, { ...stored, wantsPreview: false, isLeftToOthers: true });
  }

  async withdrawAbandoned({ sessionId, at, callIds, exceptCallIds }: AbandonedQuestions): Promise<number> {
    const matchesCall = createCallFilter(callIds, exceptCallIds);
    const abandoned = [...this.#questions.values()].filter(
      ({ question, end, isLeftToOthers }) =>
        isLeftToOthers === true && end === undefined && question.sessionId === sessionId && matchesCall(question.callId),
    );
    for (const stored of abandoned) {
      const { id, digest } = stored.question;
      this.#questions.set(id, { ...stored, end: { id, digest, status: "withdrawn", at } });
    }
    return abandoned.length;
  }

  async rules({ now, sessionId }: { readonly now: number; readonly sessionId?: string }): Promise<readonly ApprovalRule[]> {
    return [...this.#rules.values()].filter(
      (rule) =>
        (rule.expiresAt ?? Infinity) > now && (sessionId === undefined || rule.sessionId === undefined || rule.sessionId === sessionId),
    );
  }

  async addRule(rule: ApprovalRule): Promise<void> {
    if (this.#rules.has(rule.id)) throw new ToolError("duplicate", `An approval rule ${JSON.stringify(rule.id)} already exists.`);
    this.#rules.set(rule.id, rule);
  }

  async removeRule(id: string): Promise<boolean> {
    return this.#rules.delete(id);
  }

  async requestPreview({ id, digest }: { readonly id: string; readonly digest: string }): Promise<boolean> {
    const stored = this.#questions.get(id);
    if (stored === undefined || stored.question.digest !== digest || stored.end !== undefined) return false;
    this.#questions.set(id, { ...stored, wantsPreview: true });
    return true;
  }

  async previewRequests(): Promise<readonly string[]> {
    return [...this.#questions.values()].filter(({ wantsPreview }) => wantsPreview).map(({ question }) => question.id);
  }

  async keepPreview({ id, digest, preview }: Parameters<ApprovalStore["keepPreview"]>[0]): Promise<void> {
    const stored = this.#questions.get(id);
    if (stored?.question.digest === digest) this.#questions.set(id, { ...stored, preview, wantsPreview: false });
  }

  async preview(id: string): Promise<JsonObject | undefined> {
    return this.#questions.get(id)?.preview;
  }

  async prune({ keep, now }: { readonly keep: number; readonly now: number }): Promise<number> {
    for (const { id, expiresAt = Infinity } of this.#rules.values()) if (expiresAt <= now) this.#rules.delete(id);
    const ended = [...this.#questions.values()].filter(({ end }) => end !== undefined);
    const surplus = ended.slice(0, Math.max(0, ended.length - keep));
    for (const { question } of surplus) this.#questions.delete(question.id);
    return surplus.length;
  }

  /** Deletes the questions and rules of a session that is removed. */
  removeSession(sessionId: string): void {
    for (const { question } of this.#questions.values()) if (question.sessionId === sessionId) this.#questions.delete(question.id);
    this.forgetRules(sessionId);
  }

  /** Deletes the rules of a session. Called on its own when a session that is in no store ends. */
  forgetRules(sessionId: string): void {
    for (const rule of this.#rules.values()) if (rule.sessionId === sessionId) this.#rules.delete(rule.id);
  }
}

function toRecord({ question, position, end, isLeftToOthers }: StoredQuestion, now: number): ApprovalRecord {
  const { expiresAt } = question;
  const isOverdue = end === undefined && expiresAt !== undefined && expiresAt <= now;
  const status = end?.status ?? (isOverdue ? "expired" : "open");
  const { scope, ruleId, by: answeredBy } = end ?? {};
  const answeredAt = isOverdue ? expiresAt : end?.at;
  const askedIn = end === undefined && isLeftToOthers !== true ? `this process, ${process.pid}` : undefined;
  return { ...question, position, status, ...omitUndefined({ scope, ruleId, answeredBy, answeredAt, askedIn }) };
}

function matchesQuery(record: ApprovalRecord, { statuses, sessionId, callId, toolName, after, first }: StoredApprovalQuery): boolean {
  return (
    (statuses === undefined || statuses.includes(record.status)) &&
    (sessionId === undefined || record.sessionId === sessionId) &&
    (callId === undefined || record.callId === callId) &&
    (toolName === undefined || record.toolName === toolName) &&
    (after === undefined || (first === "oldest" ? record.position > after : record.position < after))
  );
}
