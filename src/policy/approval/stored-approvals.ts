/** The inbox: questions of all processes that share a store, which any of them can read and answer. */
import { pushAll } from "../../core/collections/push-all.ts";
import { quoteValue } from "../../core/base/wording.ts";
import type { ApprovalPreview } from "../../core/approvals/approval-preview.ts";
import type {
  ApprovalEnd,
  ApprovalRecord,
  ApprovalRule,
  ApprovalStatus,
  ApprovalStore,
  ListApprovalsOptions,
  StoredApprovalQuery,
} from "../../core/store/approval-store.ts";
import { APPROVAL_STATUSES } from "../../core/store/approval-store.ts";
import type { ApprovalDecision, ApprovalInbox, ApprovalVerdict, ManyApprovals, NewApprovalRule } from "../../core/approvals/approvals.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { ToolError } from "../../core/error.ts";
import { checkString } from "../../core/check-argument.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import type { Ports } from "../../core/ports.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import { ruleAlsoAnswers, createApprovalRule, parseVerdict, createAnswerRule, type ParsedVerdict } from "./approval-verdict.ts";
import { awaitPreview } from "./await-preview.ts";
import { createNameMatcher, qualifyPattern } from "../permission.ts";

const DEFAULT_LIMIT = 100;
const PAGE = 1_000;
/** Maximum number of ended questions kept in a store. */
export const MAX_ENDED_IN_STORE = 10_000;
const LIST: OptionNames<ListApprovalsOptions> = {
  status: ["array", "string"],
  sessionId: "string",
  callId: "string",
  tool: "string",
  after: true,
  first: true,
  limit: true,
};
const VERDICT: OptionNames<ApprovalVerdict> = { answer: true, scope: true, rule: true, by: true };
const DECISION: OptionNames<ApprovalDecision & { readonly id: string; readonly callId: string }> = {
  ...VERDICT,
  id: true,
  callId: "string",
  digest: true,
};
const MANY: OptionNames<ManyApprovals> = { ...VERDICT, sessionId: "string", tool: "string", permits: "function", upTo: true };

/** Options of `StoredApprovals`. */
export interface StoredApprovalsOptions {
  readonly store: ApprovalStore;
  /** Clock and ids, for tests. @default those of the system */
  readonly ports?: Pick<Ports, "clock" | "ids">;
  /** Called when this object has ended a question. */
  readonly onEnd?: (end: ApprovalEnd) => void;
}

/**
 * The approvals of a store, for a program that does not ask any itself: a web page, a command, another service.
 *
 * A runtime over the same store offers them as `runtime.approvals`.
 */
export class StoredApprovals implements ApprovalInbox {
  readonly #store: ApprovalStore;
  readonly #ports: Pick<Ports, "clock" | "ids">;
  readonly #onEnd: ((end: ApprovalEnd) => void) | undefined;

  /** @throws ToolError `invalid_argument` for an unknown option */
  constructor(options: StoredApprovalsOptions) {
    checkKnownKeys(options, { store: "object", ports: "object", onEnd: "function" }, "new StoredApprovals()");
    const { store, ports = systemPorts, onEnd } = options;
    this.#store = store;
    this.#ports = ports;
    this.#onEnd = onEnd;
  }

  async list(options: ListApprovalsOptions = {}): Promise<readonly ApprovalRecord[]> {
    checkKnownKeys(options, LIST, "the list of approvals");
    const { tool, limit = DEFAULT_LIMIT } = options;
    const query = this.#toQuery(options);
    if (tool === undefined || !tool.includes("*"))
      return this.#list({ ...query, ...omitUndefined({ toolName: tool && qualifyPattern(tool) }) });
    const matches = createNameMatcher([tool], "tool");
    const found: ApprovalRecord[] = [];
    for await (const record of this.#eachRecord(query)) {
      if (matches(record.toolName) !== undefined) found.push(record);
      if (found.length >= limit) break;
    }
    return found;
  }

  async get(id: string): Promise<ApprovalRecord | undefined> {
    checkString(id, "get() of approvals", "the id of a question");
    const [record] = await this.#list({ now: this.#now, ids: [id], first: "oldest", limit: 1 });
    return record === undefined ? undefined : checkUndamaged(record);
  }

  async answer(decision: ApprovalDecision): Promise<boolean> {
    checkKnownKeys(decision, DECISION, "answer() of approvals");
    const verdict = parseVerdict(decision);
    const { digest } = decision;
    if (typeof digest !== "string") throw invalidArgumentError("The digest of an answer must be a string, the digest of the question.");
    const open = (await this.#findOpen(decision)).find((record) => record.digest === digest);
    return open !== undefined && (await this.#endQuestion(checkUndamaged(open), verdict)).length > 0;
  }

  async answerMany(many: ManyApprovals): Promise<readonly ApprovalRecord[]> {
    checkKnownKeys(many, MANY, "answerMany() of approvals");
    const { sessionId, tool, permits = () => true, upTo } = many;
    const verdict = parseVerdict(many);
    if (!Number.isSafeInteger(upTo) || upTo < 0)
      throw invalidArgumentError(`upTo of answerMany() is ${String(upTo)}; it takes the position of the last question that was seen.`);
    const matches = tool === undefined ? undefined : createNameMatcher([tool], "tool", { bareNames: "default" });
    const selected = (await this.open(sessionId)).filter(
      ({ position, toolName }) => position <= upTo && (matches === undefined || matches(toolName) !== undefined) && permits(toolName),
    );
    // throws, before anything is answered, if the rule does not match every question
    for (const record of selected) createAnswerRule(record, verdict, { id: "", now: this.#now });
    const ids: string[] = [];
    for (const record of selected) pushAll(ids, await this.#endQuestion(record, verdict));
    const records: ApprovalRecord[] = [];
    while (ids.length > 0)
      pushAll(records, await this.#store.list({ now: this.#now, ids: ids.splice(0, PAGE), first: "oldest", limit: PAGE }));
    return records;
  }

  async preview(id: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<ApprovalPreview> {
    const record = await this.get(id);
    if (record === undefined) throw new ToolError("not_found", `There is no approval ${JSON.stringify(id)}.`);
    return awaitPreview(record, { store: this.#store, clock: this.#ports.clock, signal });
  }

  rules(): Promise<readonly ApprovalRule[]> {
    return this.#store.rules({ now: this.#now });
  }

  async addRule(rule: NewApprovalRule & { readonly pattern: string }): Promise<ApprovalRule> {
    const created = createApprovalRule(rule, this.#createStamp());
    await this.#store.addRule(created);
    return created;
  }

  revokeRule(id: string): Promise<boolean> {
    return this.#store.removeRule(id);
  }

  /** Returns all open questions that can be answered, of one session or of all. */
  async open(sessionId?: string): Promise<readonly ApprovalRecord[]> {
    const open: ApprovalRecord[] = [];
    for await (const record of this.#eachRecord(this.#toQuery({ status: "open", ...omitUndefined({ sessionId }) })))
      if (record.damage === undefined) open.push(record);
    return open;
  }

  /** Returns the questions that a decision may refer to. */
  async #findOpen(decision: ApprovalDecision): Promise<readonly ApprovalRecord[]> {
    const [name, key] = "id" in decision ? (["id", decision.id] as const) : (["callId", decision.callId] as const);
    if (typeof key !== "string")
      throw invalidArgumentError(
        `The ${name} of an answer must be a string, the ${name} of the ${name === "id" ? "question" : "question's call"}.`,
      );
    const query = this.#toQuery({ status: "open", ...(name === "id" ? {} : { callId: key }) });
    return this.#list({ ...query, ...(name === "id" ? { ids: [key] } : {}) });
  }

  /** Answers a question and all others that the resulting rule matches. Resolves to their ids; empty if another answer came first. */
  async #endQuestion(record: ApprovalRecord, verdict: ParsedVerdict): Promise<readonly string[]> {
    const { scope, by } = verdict;
    const rule = createAnswerRule(record, verdict, this.#createStamp());
    const { id, digest } = record;
    const status = scope === undefined ? "denied" : "allowed";
    const storedRule = record.simulated ? undefined : rule; // a simulation stores no rule: the process that asked keeps the scope of the answer
    const end = { id, digest, status, at: this.#now, ...omitUndefined({ scope, by, rule: storedRule, ruleId: storedRule?.id }) } as const;
    if (!(await this.#store.end(end))) return [];
    this.#onEnd?.(end);
    return rule === undefined ? [id] : [id, ...(await this.#endMatching(rule, end))];
  }

  async #endMatching(rule: ApprovalRule, answered: ApprovalEnd): Promise<readonly string[]> {
    const ended: string[] = [];
    for (const record of await this.open(rule.sessionId)) {
      if (!ruleAlsoAnswers(rule, record, answered.id)) continue;
      const { rule: _rule, ...like } = answered;
      const end = { ...like, id: record.id, digest: record.digest };
      if (!(await this.#store.end(end))) continue;
      this.#onEnd?.(end);
      ended.push(record.id);
    }
    return ended;
  }

  /** Lists questions. First withdraws those that no process waits for and whose session is in no store: their calls will never be resumed. */
  async #list(query: StoredApprovalQuery): Promise<readonly ApprovalRecord[]> {
    const records = await this.#store.list(query);
    if (!records.some(({ status, askedIn }) => status === "open" && askedIn === undefined)) return records;
    await this.#store.prune({ keep: MAX_ENDED_IN_STORE, now: this.#now });
    return await this.#store.list(query);
  }

  async *#eachRecord(query: StoredApprovalQuery): AsyncGenerator<ApprovalRecord> {
    let after = query.after;
    for (;;) {
      const page = await this.#list({ ...query, limit: PAGE, ...omitUndefined({ after }) });
      yield* page;
      if (page.length < PAGE) return;
      after = page.at(-1)?.position;
    }
  }

  /** @throws ToolError `invalid_argument` */
  #toQuery({ status, sessionId, callId, after, first = "oldest", limit = DEFAULT_LIMIT }: ListApprovalsOptions): StoredApprovalQuery {
    const statuses = status === undefined || typeof status === "string" ? (status === undefined ? undefined : [status]) : [...status];
    const unknown = statuses?.find((one) => !isStatus(one));
    if (unknown !== undefined)
      throw invalidArgumentError(
        `The status of an approval must be one of ${APPROVAL_STATUSES.join(", ")}; this is ${quoteValue(unknown)}.`,
      );
    if (first !== "oldest" && first !== "newest")
      throw invalidArgumentError(`"first" of the list of approvals must be "oldest" or "newest", not ${quoteValue(first)}.`);
    if (!Number.isSafeInteger(limit) || limit < 1)
      throw invalidArgumentError(`limit is ${quoteValue(limit)}; it must be an integer of at least 1.`);
    if (after !== undefined && !Number.isSafeInteger(after))
      throw invalidArgumentError(`after is ${quoteValue(after)}; it takes the position of an approval.`);
    return { now: this.#now, first, limit, ...omitUndefined({ statuses, sessionId, callId, after }) };
  }

  #createStamp(): { readonly id: string; readonly now: number } {
    return { id: this.#ports.ids.next("rule"), now: this.#now };
  }

  get #now(): number {
    return this.#ports.clock.wallTime();
  }
}

/** @throws ToolError `corrupt_record` */
function checkUndamaged(record: ApprovalRecord): ApprovalRecord {
  if (record.damage === undefined) return record;
  throw new ToolError("corrupt_record", record.damage, {
    operatorHint: "It cannot be answered: cancel its call, which can be made again.",
  });
}

function isStatus(status: unknown): status is ApprovalStatus {
  return APPROVAL_STATUSES.some((one) => one === status);
}

function invalidArgumentError(message: string): ToolError {
  return new ToolError("invalid_argument", message);
}
