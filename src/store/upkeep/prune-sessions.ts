/** Deletes sessions without recent events, with their events, jobs, questions and rules, and revokes their keys. */
import type { Kysely, Transaction } from "kysely";
import { Owner } from "../sql/owner.ts";
import type { SqlConnection } from "../sql/sql-connection.ts";
import type { Tables } from "../sql/tables.ts";
import type { PruneOptions } from "./pruned-parts.ts";
import { yieldBetweenSteps } from "./upkeep-options.ts";

const SESSION_BATCH_SIZE = 200;
/** Maximum number of tries of a batch. A branch that is created during a batch makes it fail; then it is read again. */
const MAX_TRIES = 5;

interface Batch {
  readonly found: number;
  readonly removed: number;
  /** The id after which the next batch begins. */
  readonly last: string;
}

/** Deletes old sessions, branches before their parents, in rounds until one deletes none. Returns the number of deleted sessions. */
export async function pruneSessions(connection: SqlConnection, options: PruneOptions): Promise<number> {
  const owner = new Owner(connection);
  let removed = 0;
  for (let before = -1; before < removed;) {
    before = removed;
    for (let last = ""; ;) {
      await yieldBetweenSteps(options);
      const batch = await removeBatch(connection, { owner, last, before: options.before, now: options.now });
      removed += batch.removed;
      options.onProgress?.("sessions", removed);
      if (batch.found === 0) break;
      ({ last } = batch);
    }
  }
  return removed;
}

interface BatchOptions {
  readonly owner: Owner;
  readonly last: string;
  readonly before: number;
  readonly now: number;
}

async function removeBatch(connection: SqlConnection, options: BatchOptions): Promise<Batch> {
  for (let tries = 1; ; tries++) {
    try {
      return await connection.runWithRetries(() => connection.tables.transaction().execute((tables) => removeNext(tables, options)));
    } catch (thrown: unknown) {
      if (!connection.isKeyTaken(thrown) || tries === MAX_TRIES) throw thrown;
    }
  }
}

async function removeNext(tables: Transaction<Tables>, { owner, last, before, now }: BatchOptions): Promise<Batch> {
  const living = await owner.listLiving(tables);
  const rows = await selectIdleSessions(tables, before, living)
    .select(["id", "epoch"])
    .where("id", ">", last)
    .where((session) =>
      session.not(
        session.exists(
          session.selectFrom("haft_session as branch").select("branch.id").whereRef("branch.parent_id", "=", "haft_session.id"),
        ),
      ),
    )
    .orderBy("id")
    .limit(SESSION_BATCH_SIZE)
    .execute();
  const end = rows.at(-1);
  if (end === undefined) return { found: 0, removed: 0, last };
  const ids = await fenceSessions(tables, rows, before);
  if (ids.length > 0) await remove(tables, ids, now);
  return { found: rows.length, removed: ids.length, last: end.id };
}

/** Makes sessions unwritable for every owner. Returns those neither claimed, which would change the epoch, nor written since they were found. */
async function fenceSessions(
  tables: Transaction<Tables>,
  found: readonly { readonly id: string; readonly epoch: number }[],
  before: number,
): Promise<readonly string[]> {
  const fenced = await tables
    .updateTable("haft_session")
    .set((session) => ({ owner: null, epoch: session("epoch", "+", 1) }))
    .where((session) => session.or(found.map(({ id, epoch }) => session.and([session("id", "=", id), session("epoch", "=", epoch)]))))
    .where("updated_at", "<", before)
    .returning("id")
    .execute();
  return fenced.map(({ id }) => id);
}

async function remove(tables: Transaction<Tables>, ids: readonly string[], now: number): Promise<void> {
  await tables.deleteFrom("haft_event").where("session", "in", ids).execute();
  await tables.deleteFrom("haft_job").where("session", "in", ids).execute();
  await tables.deleteFrom("haft_approval").where("session", "in", ids).execute();
  await tables.deleteFrom("haft_approval_rule").where("session", "in", ids).execute();
  // a later session with the same id is a different one
  const revoked = { revoked_at: Math.trunc(now) };
  await tables.updateTable("haft_key").set(revoked).where("session", "in", ids).where("revoked_at", "is", null).execute();
  await tables.deleteFrom("haft_session").where("id", "in", ids).execute();
}

/** Selects sessions without events since a time that no living process has open. */
function selectIdleSessions(tables: Kysely<Tables>, before: number, living: readonly string[]) {
  const old = tables.selectFrom("haft_session").where("updated_at", "<", before);
  return living.length === 0
    ? old
    : old.where((session) => session.or([session("haft_session.owner", "is", null), session("haft_session.owner", "not in", living)]));
}

export async function countOldSessions(connection: SqlConnection, options: PruneOptions): Promise<number> {
  const { rows } = await (
    await withKeptSessions(connection, options)
  )
    .selectFrom("haft_session")
    .select(({ fn }) => fn.countAll<number>().as("rows"))
    .where((session) =>
      session.not(session.exists(session.selectFrom("staying").select("id").whereRef("staying.id", "=", "haft_session.id"))),
    )
    .executeTakeFirstOrThrow();
  return rows;
}

/** Adds `staying`: the ids of the sessions that `pruneSessions` would keep, including every session that one of them branches off, however old. */
export async function withKeptSessions(connection: SqlConnection, { before }: Pick<PruneOptions, "before">) {
  const { tables } = connection;
  const living = await new Owner(connection).listLiving(tables);
  return tables.withRecursive("staying", (tree) =>
    tree
      .selectFrom("haft_session")
      .select(["id", "parent_id"])
      .where((session) =>
        living.length === 0
          ? session("updated_at", ">=", before)
          : session.or([session("updated_at", ">=", before), session("owner", "in", living)]),
      )
      .union(
        tree
          .selectFrom("staying")
          .innerJoin("haft_session", "haft_session.id", "staying.parent_id")
          .select(["haft_session.id", "haft_session.parent_id"]),
      ),
  );
}
