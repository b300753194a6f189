/** Approval questions and rules in SQL tables. The statements work on every database that Kysely supports. */
import type { ExpressionBuilder, Kysely, RawBuilder, Transaction } from "kysely";
import type {
  AbandonedQuestions,
  ApprovalEnd,
  ApprovalRecord,
  ApprovalRule,
  ApprovalStatus,
  ApprovalStore,
  NewApproval,
  StoredApprovalQuery,
} from "../../core/store/approval-store.ts";
import type { JsonObject } from "../../core/base/json.ts";
import { ToolError } from "../../core/error.ts";
import { Batcher } from "../records/batcher.ts";
import { createCallFilter } from "../records/call-filter.ts";
import { encodeAnswer, withDatabaseExpiry, readApproval, readListedApproval, readPreview, readRule } from "./approval-rows.ts";
import { lockCounter } from "./counters.ts";
import { databaseTimeAfter, evaluateExpression } from "./database-time.ts";
import type { Owner } from "./owner.ts";
import type { SqlConnection } from "./sql-connection.ts";
import { enqueueMessage } from "./sql-webhooks.ts";
import type { OperationTries } from "../records/store-operations.ts";
import { parseStoredText, toStoredText } from "../records/stored-text.ts";
import { createApprovalMessage } from "../records/webhook-messages.ts";
import type { ApprovalTable, Tables } from "./tables.ts";

type QuestionRow = Omit<ApprovalTable, "expires_at"> & { readonly expires_at: RawBuilder<number> | null };
type AskedQuestion = Pick<ApprovalTable, "id" | "owner">;

interface QuestionsOfOthers {
  readonly session: string;
  readonly at: number;
}
type Row = ExpressionBuilder<Tables, "haft_approval">;

/** Maximum number of rows deleted or updated by one statement. */
const PRUNE_BATCH_SIZE = 10_000;

export class SqlApprovals implements ApprovalStore {
  readonly #connection: SqlConnection;
  readonly #owner: Owner;
  /** Batches the look-ups of open questions of sessions that are resumed at the same time. */
  readonly #openQuestions: Batcher<string, readonly Pick<ApprovalTable, "id" | "owner" | "session" | "call_id">[]>;

  constructor(connection: SqlConnection, owner: Owner) {
    this.#connection = connection;
    this.#owner = owner;
    this.#openQuestions = new Batcher((sessions) => {
      const open = connection.tables.selectFrom("haft_approval").select(["id", "owner", "session", "call_id"]).where("status", "=", "open");
      return open.where("session", "in", [...sessions]).execute();
    });
  }

  async put(question: NewApproval): Promise<ApprovalRecord> {
    const row = await this.#write((tables) => this.#put(tables, question));
    this.#owner.confirmRegistration();
    const living = await this.#describeLivingOwners([row]);
    return readApproval(row, await this.#now(), row.status === "open" ? living.get(row.owner) : undefined);
  }

  async #put(tables: Transaction<Tables>, question: NewApproval): Promise<ApprovalTable> {
    await this.#owner.register(tables);
    await this.#requireOwnSession(tables, question.sessionId);
    await lockCounter(tables, "approvals"); // otherwise two transactions could read the same last position
    const id = toStoredText(question.id);
    const stored = await tables.selectFrom("haft_approval").selectAll().where("id", "=", id).executeTakeFirst();
    const isAnswered = stored?.status === "allowed" || stored?.status === "denied";
    if (isAnswered && stored.digest === question.digest && stored.owner !== this.#owner.id) return stored;
    const last = await tables
      .selectFrom("haft_approval")
      .select((select) => select.fn.max("position").as("position"))
      .executeTakeFirst();
    const row = {
      id,
      position: (last?.position ?? 0) + 1,
      session: toStoredText(question.sessionId),
      call_id: toStoredText(question.callId),
      tool: toStoredText(question.toolName),
      digest: question.digest,
      status: "open",
      expires_at: question.expiresAt === undefined ? null : databaseTimeAfter(question.expiresAt - question.askedAt, this.#connection),
      owner: this.#owner.id ?? "",
      question: JSON.stringify(question),
      answer: null,
      wants_preview: 0,
      preview: null,
    };
    const put = await this.#putRow(tables, row, stored);
    if (put === undefined) return this.#put(tables, question); // it was answered meanwhile
    await enqueueMessage(tables, createApprovalMessage(withDatabaseExpiry(question, put)));
    return put;
  }

  /** Inserts the question, or updates its row in place, so that a concurrent answer finds it. Undefined if it was answered meanwhile. */
  #putRow(tables: Transaction<Tables>, row: QuestionRow, stored: ApprovalTable | undefined): Promise<ApprovalTable | undefined> {
    if (stored === undefined) return tables.insertInto("haft_approval").values(row).returningAll().executeTakeFirstOrThrow();
    const { id, status } = stored;
    return tables.updateTable("haft_approval").set(row).where("id", "=", id).where("status", "=", status).returningAll().executeTakeFirst();
  }

  async list(query: StoredApprovalQuery): Promise<readonly ApprovalRecord[]> {
    const { statuses, ids, sessionId, callId, toolName, after, first, limit } = query;
    if (statuses?.length === 0 || ids?.length === 0) return [];
    const now = await this.#now();
    const isOldest = first === "oldest";
    let rows = this.#connection.tables
      .selectFrom("haft_approval")
      .selectAll()
      .orderBy("position", isOldest ? "asc" : "desc")
      .limit(limit);
    if (statuses !== undefined) rows = rows.where((row) => row.or(statuses.map((status) => hasStatus(row, status, now))));
    if (ids !== undefined) rows = rows.where("id", "in", ids.map(toStoredText));
    if (sessionId !== undefined) rows = rows.where("session", "=", toStoredText(sessionId));
    if (callId !== undefined) rows = rows.where("call_id", "=", toStoredText(callId));
    if (toolName !== undefined) rows = rows.where("tool", "=", toStoredText(toolName));
    if (after !== undefined) rows = rows.where("position", isOldest ? ">" : "<", after);
    return this.#toRecords(await rows.execute(), now);
  }

  end(end: ApprovalEnd): Promise<boolean> {
    return this.#write(async (tables) => {
      let open = tables
        .updateTable("haft_approval")
        .set({ status: end.status, answer: encodeAnswer(end), wants_preview: 0 })
        .where("id", "=", toStoredText(end.id))
        .where("digest", "=", end.digest)
        .where("status", "=", "open");
      if (end.status === "allowed" || end.status === "denied")
        open = open.where((row) => row.or([row("expires_at", "is", null), row("expires_at", ">", this.#connection.databaseTime)]));
      if (end.byAsker === true || end.status === "withdrawn" || end.status === "expired")
        open = open.where("owner", "=", this.#owner.id ?? "");
      const { numUpdatedRows } = await open.executeTakeFirst();
      if (numUpdatedRows === 0n) return isEnded(tables, end);
      if (end.rule !== undefined) await insertRule(tables, end.rule);
      return true;
    });
  }

  async leave({ id, digest, position }: { readonly id: string; readonly digest: string; readonly position: number }): Promise<void> {
    await this.#connection.tables
      .updateTable("haft_approval")
      .set({ owner: "", wants_preview: 0 })
      .where("id", "=", toStoredText(id))
      .where("digest", "=", digest)
      .where("position", "=", position)
      .where("owner", "=", this.#owner.id ?? "")
      .execute();
  }

  async withdrawAbandoned({ sessionId, at, callIds, exceptCallIds }: AbandonedQuestions): Promise<number> {
    const session = toStoredText(sessionId);
    const matchesCall = createCallFilter(callIds?.map(toStoredText), exceptCallIds?.map(toStoredText));
    const open = (await this.#openQuestions.add([session])).filter((row) => row.session === session && matchesCall(row.call_id));
    if (open.length === 0) return 0;
    return (await this.#withdraw(await this.#filterAbandoned(open), at)) + (await this.#withdrawOfOthers(open, { session, at }));
  }

  /** Withdraws questions that an earlier owner, which still lives, asked in a session that this owner has claimed. */
  async #withdrawOfOthers(open: readonly AskedQuestion[], { session, at }: QuestionsOfOthers): Promise<number> {
    const owner = this.#owner.id ?? "";
    const others = open.filter((row) => row.owner !== owner);
    let withdrawn = 0;
    for (let index = 0; index < others.length; index += PRUNE_BATCH_SIZE) {
      const ids = others.slice(index, index + PRUNE_BATCH_SIZE).map(({ id }) => id);
      const claimed = this.#connection.tables.selectFrom("haft_session").select("id").where("id", "=", session).where("owner", "=", owner);
      const { numUpdatedRows } = await this.#connection.tables
        .updateTable("haft_approval")
        .set({ status: "withdrawn", answer: JSON.stringify({ at }), wants_preview: 0 })
        .where("id", "in", ids)
        .where("session", "in", claimed)
        .where("owner", "!=", owner)
        .where("status", "=", "open")
        .executeTakeFirst();
      withdrawn += Number(numUpdatedRows);
    }
    return withdrawn;
  }

  /** @throws ToolError `conflict` if another owner has claimed the session */
  async #requireOwnSession(tables: Transaction<Tables>, sessionId: string): Promise<void> {
    const row = await tables.selectFrom("haft_session").select("owner").where("id", "=", toStoredText(sessionId)).executeTakeFirst();
    if (row === undefined || row.owner === null || row.owner === this.#owner.id) return;
    throw new ToolError("conflict", `Session ${JSON.stringify(sessionId)} was claimed by another process, which now asks its questions.`, {
      operatorHint: "Answer them in that process, or claim the session again to continue it here.",
    });
  }

  async rules({ now, sessionId }: { readonly now: number; readonly sessionId?: string }): Promise<readonly ApprovalRule[]> {
    let rows = this.#connection.tables
      .selectFrom("haft_approval_rule")
      .selectAll()
      .where((row) => row.or([row("expires_at", "is", null), row("expires_at", ">", now)]))
      .orderBy("created_at")
      .orderBy("id");
    if (sessionId !== undefined)
      rows = rows.where((row) => row.or([row("session", "is", null), row("session", "=", toStoredText(sessionId))]));
    return (await rows.execute()).map(readRule);
  }

  async addRule(rule: ApprovalRule, tries?: OperationTries): Promise<void> {
    try {
      await insertRule(this.#connection.tables, rule);
    } catch (thrown: unknown) {
      if (!this.#connection.isKeyTaken(thrown)) throw thrown;
      if ((tries?.count ?? 1) > 1 && (await isAdded(this.#connection.tables, rule))) return;
      throw new ToolError("duplicate", `An approval rule ${JSON.stringify(rule.id)} already exists.`, { cause: thrown });
    }
  }

  removeRule(id: string, tries: OperationTries = { count: 1 }): Promise<boolean> {
    return this.#write(async (tables) => {
      const { numDeletedRows } = await tables.deleteFrom("haft_approval_rule").where("id", "=", toStoredText(id)).executeTakeFirst();
      tries.number = Math.max(tries.number ?? 0, Number(numDeletedRows)); // an earlier try may have removed it
      return tries.number > 0;
    });
  }

  async requestPreview({ id, digest }: { readonly id: string; readonly digest: string }): Promise<boolean> {
    const { numUpdatedRows } = await this.#connection.tables
      .updateTable("haft_approval")
      .set({ wants_preview: 1 })
      .where("id", "=", toStoredText(id))
      .where("digest", "=", digest)
      .where("status", "=", "open")
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  async previewRequests(): Promise<readonly string[]> {
    const { id: owner } = this.#owner;
    if (owner === undefined) return [];
    const rows = await this.#connection.tables
      .selectFrom("haft_approval")
      .select("id")
      .where("status", "=", "open")
      .where("wants_preview", "=", 1)
      .where("owner", "=", owner)
      .execute();
    return rows.map(({ id }) => parseStoredText(id));
  }

  async keepPreview({ id, digest, preview }: Parameters<ApprovalStore["keepPreview"]>[0]): Promise<void> {
    await this.#connection.tables
      .updateTable("haft_approval")
      .set({ wants_preview: 0, preview: JSON.stringify(preview) })
      .where("id", "=", toStoredText(id))
      .where("digest", "=", digest)
      .execute();
  }

  async preview(id: string): Promise<JsonObject | undefined> {
    const row = await this.#connection.tables
      .selectFrom("haft_approval")
      .select("preview")
      .where("id", "=", toStoredText(id))
      .executeTakeFirst();
    return row === undefined || row.preview === null ? undefined : readPreview(id, row.preview);
  }

  async prune({ keep, now }: { readonly keep: number; readonly now: number }): Promise<number> {
    const { tables } = this.#connection;
    const lost = await tables
      .selectFrom("haft_approval")
      .leftJoin("haft_session", "haft_session.id", "haft_approval.session")
      .select(["haft_approval.id", "haft_approval.owner"])
      .where("haft_approval.status", "=", "open")
      .where("haft_session.id", "is", null)
      .execute();
    await this.#withdraw(await this.#filterAbandoned(lost), now);
    await tables.deleteFrom("haft_approval_rule").where("expires_at", "<=", now).execute();
    const ended = tables.selectFrom("haft_approval").select("id").where("status", "!=", "open").orderBy("position", "desc");
    let pruned = 0;
    for (let gone = PRUNE_BATCH_SIZE; gone === PRUNE_BATCH_SIZE; pruned += gone) {
      const surplus = ended.offset(keep).limit(PRUNE_BATCH_SIZE);
      const { numDeletedRows } = await tables.deleteFrom("haft_approval").where("id", "in", surplus).executeTakeFirst();
      gone = Number(numDeletedRows);
    }
    return pruned;
  }

  /** Filters the questions that no living process waits for. */
  async #filterAbandoned(open: readonly AskedQuestion[]): Promise<readonly AskedQuestion[]> {
    const living = await this.#describeLivingOwners(open);
    return open.filter(({ owner }) => living.get(owner) === undefined);
  }

  /** Withdraws open questions. A question that another owner has asked again meanwhile is left unchanged. */
  async #withdraw(abandoned: readonly AskedQuestion[], at: number): Promise<number> {
    let withdrawn = 0;
    for (let index = 0; index < abandoned.length; index += PRUNE_BATCH_SIZE) {
      const some = abandoned.slice(index, index + PRUNE_BATCH_SIZE);
      const { numUpdatedRows } = await this.#connection.tables
        .updateTable("haft_approval")
        .set({ status: "withdrawn", answer: JSON.stringify({ at }) })
        .where(
          "id",
          "in",
          some.map(({ id }) => id),
        )
        .where("owner", "in", [...new Set(some.map(({ owner }) => owner))])
        .where("status", "=", "open")
        .executeTakeFirst();
      withdrawn += Number(numUpdatedRows);
    }
    return withdrawn;
  }

  async #toRecords(rows: readonly ApprovalTable[], now: number): Promise<readonly ApprovalRecord[]> {
    const living = await this.#describeLivingOwners(rows.filter(({ status }) => status === "open"));
    return rows.map((row) => readListedApproval(row, now, row.status === "open" ? living.get(row.owner) : undefined));
  }

  async #describeLivingOwners(rows: readonly Pick<AskedQuestion, "owner">[]): Promise<ReadonlyMap<string, string | undefined>> {
    const living = new Map<string, string | undefined>();
    for (const { owner } of rows)
      if (!living.has(owner)) living.set(owner, (await this.#owner.describe(this.#connection.tables, owner))?.text);
    return living;
  }

  #now(): Promise<number> {
    return evaluateExpression(this.#connection.databaseTime, this.#connection.tables);
  }

  #write<Result>(run: (tables: Transaction<Tables>) => Promise<Result>): Promise<Result> {
    return this.#connection.tables.transaction().execute(run);
  }
}

/** Whether the question has ended with exactly this end: the answer to the first commit was lost, and this is a retry. */
async function isEnded(tables: Kysely<Tables>, end: ApprovalEnd): Promise<boolean> {
  const same = tables.selectFrom("haft_approval").select("id").where("id", "=", toStoredText(end.id)).where("digest", "=", end.digest);
  return (await same.where("status", "=", end.status).where("answer", "=", encodeAnswer(end)).executeTakeFirst()) !== undefined;
}

/** Whether exactly this rule is stored: the answer to the first insert was lost, and this is a retry. */
async function isAdded(tables: Kysely<Tables>, rule: ApprovalRule): Promise<boolean> {
  const row = await tables.selectFrom("haft_approval_rule").select("rule").where("id", "=", toStoredText(rule.id)).executeTakeFirst();
  return row?.rule === JSON.stringify(rule);
}

/** Deletes the questions and rules of a session that is removed. */
export async function removeApprovals(tables: Kysely<Tables>, session: string): Promise<void> {
  await tables.deleteFrom("haft_approval").where("session", "=", session).execute();
  await tables.deleteFrom("haft_approval_rule").where("session", "=", session).execute();
}

async function insertRule(tables: Kysely<Tables>, rule: ApprovalRule): Promise<void> {
  const { id, sessionId, expiresAt = null, createdAt } = rule;
  const session = sessionId === undefined ? null : toStoredText(sessionId);
  const row = { id: toStoredText(id), session, expires_at: expiresAt, created_at: createdAt, rule: JSON.stringify(rule) };
  await tables.insertInto("haft_approval_rule").values(row).execute();
}

/** Matches a status. An open question that is overdue counts as expired, even if its process has not noticed. */
function hasStatus(row: Row, status: ApprovalStatus, now: number) {
  const isOpen = row("status", "=", "open");
  if (status === "open") return row.and([isOpen, row.or([row("expires_at", "is", null), row("expires_at", ">", now)])]);
  if (status === "expired") return row.or([row("status", "=", status), row.and([isOpen, row("expires_at", "<=", now)])]);
  return row("status", "=", status);
}
