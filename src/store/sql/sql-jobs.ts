/** The rows of jobs as other processes see them, and requests to cancel jobs. */
import type { Kysely, Transaction } from "kysely";
import { ToolError } from "../../core/error.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { JOB_STATES, type JobMode, type JobState } from "../../core/jobs/job-status.ts";
import type { CancelRequest, JobStore, ListUnattendedOptions, PruneJobsOptions, StoredJob } from "../../core/store/job-store.ts";
import type { CheckedJobList } from "../records/store-options.ts";
import { requirePart } from "./migrate.ts";
import type { Owner } from "./owner.ts";
import { runInSnapshot } from "./session-claims.ts";
import type { SqlConnection } from "./sql-connection.ts";
import { parseStoredText, toStoredText, toStoredTime } from "../records/stored-text.ts";
import type { StoredJobTable, Tables } from "./tables.ts";

/** Maximum number of rows deleted by one statement. */
const PRUNE_BATCH_SIZE = 10_000;

export class SqlJobs implements JobStore {
  readonly #connection: SqlConnection;
  readonly #owner: Owner;

  constructor(connection: SqlConnection, owner: Owner) {
    this.#connection = connection;
    this.#owner = owner;
  }

  async list(options: CheckedJobList): Promise<readonly StoredJob[]> {
    try {
      return await runInSnapshot(this.#connection.tables, (transaction) => this.#list(transaction, options));
    } catch (thrown: unknown) {
      await requirePart(this.#connection, "jobs");
      throw thrown;
    }
  }

  async #list(tables: Transaction<Tables>, options: CheckedJobList): Promise<readonly StoredJob[]> {
    const { sessionId, id, states, limit, offset } = options;
    let query = tables
      .selectFrom("haft_job")
      .leftJoin("haft_session", "haft_session.id", "haft_job.session")
      .selectAll("haft_job")
      .select("haft_session.owner")
      .orderBy("haft_job.started_at", "desc")
      .orderBy("haft_job.session")
      .orderBy("haft_job.id")
      .limit(limit)
      .offset(offset);
    if (sessionId !== undefined) query = query.where("haft_job.session", "=", toStoredText(sessionId));
    if (id !== undefined) query = query.where("haft_job.id", "=", toStoredText(id));
    // a state that only a newer version knows must not prevent listing the other jobs; for a job given by its id it is an error
    const listed = states ?? (id === undefined ? JOB_STATES : undefined);
    if (listed !== undefined) query = query.where("haft_job.state", "in", [...new Set(listed)]);
    if (listed?.length === 0) return [];
    const owners = new Map<string, string | undefined>();
    const jobs: StoredJob[] = [];
    for (const row of await query.execute()) {
      if (row.owner !== null && !owners.has(row.owner)) owners.set(row.owner, (await this.#owner.describe(tables, row.owner))?.text);
      jobs.push(toStoredJob(row, row.owner === null ? undefined : owners.get(row.owner)));
    }
    return jobs;
  }

  async requestCancel(request: CancelRequest): Promise<boolean> {
    const reason = toStoredText(request.reason);
    const { numUpdatedRows } = await this.#connection.tables
      .updateTable("haft_job")
      .set((build) => ({ cancel_reason: build.fn.coalesce(build.ref("cancel_reason"), build.val(reason)) }))
      .where("session", "=", toStoredText(request.sessionId))
      .where("id", "=", toStoredText(request.id))
      .where("ended_at", "is", null)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  async cancelRequests(): Promise<readonly CancelRequest[]> {
    const { id: owner } = this.#owner;
    if (owner === undefined) return [];
    const rows = await this.#connection.tables
      .selectFrom("haft_job")
      .innerJoin("haft_session", "haft_session.id", "haft_job.session")
      .select(["haft_job.session", "haft_job.id", "haft_job.cancel_reason"])
      .where("haft_job.cancel_reason", "is not", null)
      .where("haft_job.ended_at", "is", null)
      .where("haft_session.owner", "=", owner)
      .execute();
    return rows.map(({ session, id, cancel_reason }) => ({
      sessionId: parseStoredText(session),
      id: parseStoredText(id),
      reason: cancel_reason === null ? "" : parseStoredText(cancel_reason),
    }));
  }

  /** Lists sessions with jobs that no living owner has open. This owner counts as living. */
  async unattended({ limit }: Required<ListUnattendedOptions>): Promise<readonly string[]> {
    const { tables } = this.#connection;
    const living = await this.#owner.listLiving(tables);
    const rows = await tables
      .selectFrom("haft_job")
      .innerJoin("haft_session", "haft_session.id", "haft_job.session")
      .select((build) => ["haft_job.session", build.fn.min("haft_job.started_at").as("begun")])
      .where("haft_job.ended_at", "is", null)
      .where((build) =>
        living.length === 0
          ? build.lit(true)
          : build.or([build("haft_session.owner", "is", null), build("haft_session.owner", "not in", living)]),
      )
      .groupBy("haft_job.session")
      .orderBy("begun")
      .orderBy("haft_job.session")
      .limit(limit)
      .execute();
    return rows.map(({ session }) => parseStoredText(session));
  }

  prune(options: PruneJobsOptions): Promise<number> {
    return pruneJobs(this.#connection.tables, options);
  }
}

export async function pruneJobs(tables: Kysely<Tables>, { keep, endedBefore }: PruneJobsOptions): Promise<number> {
  const ended = tables.selectFrom("haft_job").select(["session", "id"]).where("ended_at", "is not", null);
  const surplus = ended.orderBy("ended_at", "desc").orderBy("session").orderBy("id").offset(keep).limit(PRUNE_BATCH_SIZE);
  const old = endedBefore === undefined ? [] : [ended.where("ended_at", "<", toStoredTime(Math.ceil(endedBefore))).limit(PRUNE_BATCH_SIZE)];
  let pruned = 0;
  for (const rows of [...old, surplus])
    for (let gone = PRUNE_BATCH_SIZE; gone === PRUNE_BATCH_SIZE; pruned += gone) {
      const { numDeletedRows } = await tables
        .deleteFrom("haft_job")
        .where((build) => build(build.refTuple("session", "id"), "in", rows.$asTuple("session", "id")))
        .executeTakeFirst();
      gone = Number(numDeletedRows);
    }
  return pruned;
}

/** @throws ToolError `corrupt_record` that names the job */
function toStoredJob(row: StoredJobTable, openedBy: string | undefined): StoredJob {
  const text = (stored: string): string => {
    try {
      return parseStoredText(stored);
    } catch {
      throw damagedError(row, `${stored.slice(0, 60)} is not a JSON string`);
    }
  };
  return {
    id: text(row.id),
    sessionId: text(row.session),
    toolName: text(row.tool),
    mode: readMode(row),
    notify: row.notify !== 0,
    state: readState(row),
    startedAt: row.started_at,
    starts: row.starts,
    ...omitUndefined({
      endedAt: row.ended_at ?? undefined,
      errorCode: row.error_code ?? undefined,
      cancelReason: row.cancel_reason === null ? undefined : text(row.cancel_reason),
      openedBy,
    }),
  };
}

function readMode(row: StoredJobTable): JobMode {
  if (row.mode === "background" || row.mode === "stateful") return row.mode;
  throw damagedError(row, `its mode is ${JSON.stringify(row.mode)}`);
}

function readState(row: StoredJobTable): JobState {
  const state = JOB_STATES.find((one) => one === row.state);
  if (state === undefined) throw damagedError(row, `its state is ${JSON.stringify(row.state)}, which this version does not know`);
  return state;
}

function damagedError({ session, id }: StoredJobTable, what: string): ToolError {
  return new ToolError("corrupt_record", `The row of the job ${id} of session ${session} is damaged: ${what}.`, {
    hint: "The log of its session says what became of it.",
  });
}
