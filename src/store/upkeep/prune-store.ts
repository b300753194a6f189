/** Deletes old data of a store, in batches between which other processes may write. */
import type { SelectQueryBuilder } from "kysely";
import { KEYED_REQUEST_RETENTION_MS } from "../../core/store/access-store.ts";
import { requireCurrent } from "../sql/migrate.ts";
import { selectOldEntries, pruneEntries } from "../sql/sql-cache.ts";
import type { SqlConnection } from "../sql/sql-connection.ts";
import { pruneJobs } from "../sql/sql-jobs.ts";
import type { Tables } from "../sql/tables.ts";
import { PRUNED_PARTS, type PrunedPart, type PruneOptions } from "./pruned-parts.ts";
import { countOldSessions, pruneSessions, withKeptSessions } from "./prune-sessions.ts";
import { yieldBetweenSteps } from "./upkeep-options.ts";

/** Number of items of each part that were deleted, or would be. */
export type PruneCounts = Readonly<Partial<Record<PrunedPart, number>>>;

type Prune = (connection: SqlConnection, options: PruneOptions) => Promise<number>;

const ROW_BATCH_SIZE = 10_000;
const PRUNERS: Readonly<Record<PrunedPart, { readonly count: Prune; readonly prune: Prune }>> = {
  sessions: { count: countOldSessions, prune: pruneSessions },
  artifacts: { count: countOldArtifacts, prune: pruneArtifacts },
  jobs: {
    count: ({ tables }, { before }) => countRows(tables.selectFrom("haft_job").where("ended_at", "<", Math.ceil(before))),
    prune: ({ tables }, { before }) => pruneJobs(tables, { keep: Number.MAX_SAFE_INTEGER, endedBefore: before }),
  },
  answers: {
    count: ({ tables }, options) => countRows(tables.selectFrom("haft_request").where("at", "<", answerCutoff(options))),
    prune: pruneAnswers,
  },
  calls: {
    count: ({ tables }, { before }) => countRows(tables.selectFrom("haft_call").where("at", "<", Math.ceil(before))),
    prune: pruneCalls,
  },
  cache: { count: ({ tables }, options) => countRows(selectOldEntries(tables, options)), prune: pruneCache },
};

/**
 * Deletes sessions whose last event is older than a time, artifacts that no remaining session refers to, rows of ended jobs, answers to keyed
 * requests, audited calls outside of sessions, and cached results.
 *
 * A session is kept while a process has it open, and while another kept session branches off it. Answers to keyed requests are kept for at least a
 * day. Deletions are committed in batches: if the work is stopped, some items are deleted, each completely.
 */
export async function pruneStore(connection: SqlConnection, options: PruneOptions): Promise<PruneCounts> {
  await requireCurrent(connection);
  const parts = options.parts ?? PRUNED_PARTS;
  const counts: Partial<Record<PrunedPart, number>> = {};
  for (const part of PRUNED_PARTS) {
    if (!parts.includes(part)) continue;
    await yieldBetweenSteps(options);
    counts[part] = await (options.dryRun === true ? PRUNERS[part].count : PRUNERS[part].prune)(connection, options);
  }
  return counts;
}

async function countRows<Table extends keyof Tables>(rows: SelectQueryBuilder<Tables, Table, object>): Promise<number> {
  return (await rows.select(({ fn }) => fn.countAll<number>().as("rows")).executeTakeFirstOrThrow()).rows;
}

function answerCutoff({ before, now }: PruneOptions): number {
  return Math.trunc(Math.min(before, now - KEYED_REQUEST_RETENTION_MS));
}

function pruneAnswers({ tables }: SqlConnection, options: PruneOptions): Promise<number> {
  const old = tables.selectFrom("haft_request").select("key").where("at", "<", answerCutoff(options)).limit(ROW_BATCH_SIZE);
  return deleteInBatches("answers", options, () => tables.deleteFrom("haft_request").where("key", "in", old).executeTakeFirst());
}

function pruneCalls({ tables }: SqlConnection, options: PruneOptions): Promise<number> {
  const old = tables.selectFrom("haft_call").select("number").where("at", "<", Math.ceil(options.before)).limit(ROW_BATCH_SIZE);
  return deleteInBatches("calls", options, () => tables.deleteFrom("haft_call").where("number", "in", old).executeTakeFirst());
}

async function deleteInBatches(
  part: PrunedPart,
  options: PruneOptions,
  deleteBatch: () => Promise<{ readonly numDeletedRows: bigint }>,
): Promise<number> {
  for (let pruned = 0; ;) {
    const { numDeletedRows } = await deleteBatch();
    pruned += Number(numDeletedRows);
    options.onProgress?.(part, pruned);
    if (numDeletedRows < BigInt(ROW_BATCH_SIZE)) return pruned;
    await yieldBetweenSteps(options);
  }
}

async function pruneCache({ tables }: SqlConnection, options: PruneOptions): Promise<number> {
  for (let pruned = 0; ;) {
    const gone = await tables.transaction().execute((transaction) => pruneEntries(transaction, options));
    if (gone === 0) return pruned;
    pruned += gone;
    options.onProgress?.("cache", pruned);
    await yieldBetweenSteps(options);
  }
}

/** Maximum number of ids looked for in one pass over the events. */
const ID_BATCH_SIZE = 100_000;
const EVENT_BATCH_SIZE = 20;
const DELETE_BATCH_SIZE = 500;
const ADDRESS = /artifact:([0-9a-f]{64})/gu;

async function countOldArtifacts(connection: SqlConnection, options: PruneOptions): Promise<number> {
  let count = 0;
  for await (const ids of listUnusedArtifacts(connection, options)) count += ids.length;
  return count;
}

async function pruneArtifacts(connection: SqlConnection, options: PruneOptions): Promise<number> {
  let pruned = 0;
  for await (const ids of listUnusedArtifacts(connection, options))
    for (let from = 0; from < ids.length; from += DELETE_BATCH_SIZE) {
      const { numDeletedRows } = await connection.tables
        .deleteFrom("haft_artifact")
        .where("id", "in", ids.slice(from, from + DELETE_BATCH_SIZE))
        .where("stored_at", "<", options.before) // one that was stored again meanwhile is in use again
        .executeTakeFirst();
      pruned += Number(numDeletedRows);
      options.onProgress?.("artifacts", pruned);
      await yieldBetweenSteps(options);
    }
  return pruned;
}

async function* listUnusedArtifacts(connection: SqlConnection, options: PruneOptions): AsyncGenerator<readonly string[], void, undefined> {
  for (let last = ""; ;) {
    const old = connection.tables.selectFrom("haft_artifact").select("id").where("stored_at", "<", options.before);
    const rows = await old.where("id", ">", last).orderBy("id").limit(ID_BATCH_SIZE).execute();
    const end = rows.at(-1);
    if (end === undefined) return;
    const unused = new Set(rows.map(({ id }) => id));
    for await (const id of listReferredArtifacts(connection, options)) unused.delete(id);
    yield [...unused];
    last = end.id;
  }
}

/** The artifact ids in the events of the sessions that are kept: of all existing sessions, except those that a dry run only counted. */
async function* listReferredArtifacts(connection: SqlConnection, options: PruneOptions): AsyncGenerator<string, void, undefined> {
  const { dryRun = false, parts } = options;
  const staying = dryRun && parts?.includes("sessions") !== false ? await withKeptSessions(connection, options) : undefined;
  for (let last = -1; ;) {
    await yieldBetweenSteps(options);
    const events =
      staying === undefined
        ? connection.tables.selectFrom("haft_event")
        : staying.selectFrom("haft_event").where("session", "in", (session) => session.selectFrom("staying").select("staying.id"));
    const rows = await events
      .select(["sequence", "body"])
      .where("sequence", ">", last)
      .where("body", "like", "%artifact:%")
      .orderBy("sequence")
      .limit(EVENT_BATCH_SIZE)
      .execute();
    for (const { body } of rows) for (const [, id = ""] of body.matchAll(ADDRESS)) yield id;
    const end = rows.at(-1);
    if (end === undefined) return;
    last = end.sequence;
  }
}
