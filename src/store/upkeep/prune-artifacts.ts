/** Forgets files that were last stored before a time, and that no event of a session which stays refers to. */
import type { SqlConnection } from "../sql/sql-connection.ts";
import type { PruneOptions } from "./pruned-parts.ts";
import { withStaying } from "./prune-sessions.ts";
import { betweenSteps } from "./upkeep-work.ts";

/** So many ids are compared with the events in one walk over them. */
const IDS_AT_ONCE = 100_000;
const EVENTS_AT_ONCE = 20;
const DELETED_AT_ONCE = 500;
const ADDRESS = /artifact:([0-9a-f]{64})/gu;

export async function countOldArtifacts(connection: SqlConnection, options: PruneOptions): Promise<number> {
  let count = 0;
  for await (const ids of unusedArtifacts(connection, options)) count += ids.length;
  return count;
}

export async function pruneArtifacts(connection: SqlConnection, options: PruneOptions): Promise<number> {
  let pruned = 0;
  for await (const ids of unusedArtifacts(connection, options))
    for (let from = 0; from < ids.length; from += DELETED_AT_ONCE) {
      const { numDeletedRows } = await connection.tables
        .deleteFrom("haft_artifact")
        .where("id", "in", ids.slice(from, from + DELETED_AT_ONCE))
        .where("stored_at", "<", options.before) // one that was stored again since is in use again
        .executeTakeFirst();
      pruned += Number(numDeletedRows);
      options.onProgress?.("artifacts", pruned);
      await betweenSteps(options);
    }
  return pruned;
}

async function* unusedArtifacts(connection: SqlConnection, options: PruneOptions): AsyncGenerator<readonly string[], void, undefined> {
  for (let last = ""; ;) {
    const old = connection.tables.selectFrom("haft_artifact").select("id").where("stored_at", "<", options.before);
    const rows = await old.where("id", ">", last).orderBy("id").limit(IDS_AT_ONCE).execute();
    const end = rows.at(-1);
    if (end === undefined) return;
    const unused = new Set(rows.map(({ id }) => id));
    for await (const id of referredTo(connection, options)) unused.delete(id);
    yield [...unused];
    last = end.id;
  }
}

/** The ids in the events of the sessions that stay: all that are there, but for those that a dry run only counted. */
async function* referredTo(connection: SqlConnection, options: PruneOptions): AsyncGenerator<string, void, undefined> {
  const { dryRun = false, parts } = options;
  const staying = dryRun && parts?.includes("sessions") !== false ? await withStaying(connection, options) : undefined;
  for (let last = -1; ;) {
    await betweenSteps(options);
    const events =
      staying === undefined
        ? connection.tables.selectFrom("haft_event")
        : staying.selectFrom("haft_event").where("session", "in", (session) => session.selectFrom("staying").select("staying.id"));
    const rows = await events
      .select(["sequence", "body"])
      .where("sequence", ">", last)
      .where("body", "like", "%artifact:%")
      .orderBy("sequence")
      .limit(EVENTS_AT_ONCE)
      .execute();
    for (const { body } of rows) for (const [, id = ""] of body.matchAll(ADDRESS)) yield id;
    const end = rows.at(-1);
    if (end === undefined) return;
    last = end.sequence;
  }
}
