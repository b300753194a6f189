/** Copies the contents of a store into an empty one, in one transaction, and compares the two before it commits. */
import { sql, type Transaction } from "kysely";
import { toStorableMediaType } from "../../core/artifact.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import { requireCurrent, runNextSteps } from "../sql/migrate.ts";
import { ownerAfterRelease } from "../sql/owner.ts";
import { runInSnapshot } from "../sql/session-claims.ts";
import type { SqlConnection } from "../sql/sql-connection.ts";
import type { Tables } from "../sql/tables.ts";
import { checkSessions } from "./check-sessions.ts";
import { expectedShape } from "./schema-drift.ts";
import { TableSum, toUntypedTables, toTableLayout, readRowBatches, type Row, type TableLayout } from "./table-rows.ts";
import type { UpkeepOptions } from "./upkeep-options.ts";

/** The copied tables, in an order in which referenced rows come first. */
export const COPIED_TABLES: readonly Pick<TableLayout, "name" | "key">[] = [
  { name: "haft_session", key: ["id"] },
  { name: "haft_event", key: ["sequence"] },
  { name: "haft_job", key: ["session", "id"] },
  { name: "haft_key", key: ["id"] },
  { name: "haft_refusal", key: ["number"] },
  { name: "haft_call", key: ["number"] },
  { name: "haft_request", key: ["key"] },
  { name: "haft_approval", key: ["id"] },
  { name: "haft_approval_rule", key: ["id"] },
  { name: "haft_webhook", key: ["endpoint", "type"] },
  { name: "haft_delivery", key: ["endpoint", "message"] },
  { name: "haft_artifact", key: ["id"] },
  { name: "haft_channel", key: ["name"] },
  { name: "haft_channel_message", key: ["channel", "number"] },
];
/** Tables that are not copied. The cache begins empty, because its keys differ between databases; no process has the copy open. */
export const UNCOPIED_TABLES: readonly string[] = [
  "haft_migration",
  "haft_owner",
  "haft_process",
  "haft_cache",
  "haft_generation",
  "haft_counter",
  "haft_lease",
  "haft_lease_slot",
];

export interface CopiedTable {
  readonly table: string;
  readonly rows: number;
  /** Over all rows; equal in the source and the copy. */
  readonly checksum: string;
}

export interface StoreCopy {
  readonly from: SqlConnection;
  readonly to: SqlConnection;
}

/**
 * Copies a snapshot of the source, even while other processes write to it. Sessions keep their ids, checksums and sequence numbers of events, so that
 * marks of a feed stay valid in the copy. If the copy fails or the signal aborts, the target is unchanged.
 *
 * @throws ToolError `conflict` for a target that is not empty, `corrupt_record` if a session of the source is damaged or the copy differs,
 * `too_large` for a row that the target cannot hold
 */
export async function copyStore({ from, to }: StoreCopy, options: UpkeepOptions = {}): Promise<readonly CopiedTable[]> {
  await requireCurrent(from);
  const shape = await expectedShape();
  const tables = COPIED_TABLES.map((table) => toTableLayout(shape, table));
  return runInSnapshot(from.tables, (source) =>
    to.tables.transaction().execute(async (target) => {
      await prepareTarget(to, target);
      const sums = new Map<string, TableSum>();
      for (const table of tables) sums.set(table.name, await copyTable({ source, target, to, table }, options));
      await copyParents({ source, target, table: tables[0] ?? toTableLayout(shape, { name: "haft_session", key: ["id"] }) }, options);
      const last = await source.selectNoFrom(from.lastSequence.as("last")).executeTakeFirst();
      await to.setLastSequence(target, last?.last ?? 0);
      for (const table of tables) await requireSameSum(target, table, sums.get(table.name) ?? new TableSum(), options);
      for await (const { what } of checkSessions(to, options, target))
        throw new ToolError("corrupt_record", `Nothing was copied: in ${from.place.replace(/^The /u, "the ")} ${what}.`, {
          operatorHint: "haft store check lists everything that is damaged, and what to do about it.",
        });
      return tables.map(({ name }) => ({ table: name, rows: sums.get(name)?.rows ?? 0, checksum: sums.get(name)?.checksum ?? "" }));
    }),
  );
}

/** Creates the tables if necessary, and checks that they are empty. */
async function prepareTarget(to: SqlConnection, target: Transaction<Tables>): Promise<void> {
  while ((await runNextSteps(target, to)).length > 0);
  await to.excludeWriters?.(target);
  for (const name of [...COPIED_TABLES.map((table) => table.name), ...UNCOPIED_TABLES]) {
    if (name === "haft_migration") continue;
    const row = await toUntypedTables(target)
      .selectFrom(name)
      .select(sql<number>`1`.as("one"))
      .limit(1)
      .executeTakeFirst();
    if (row === undefined) continue;
    throw new ToolError("conflict", `${to.place} is not empty: ${name} has rows. Nothing was copied.`, {
      operatorHint: "Copy into a place that has no store yet: a new file, a new database, or another schema with --schema.",
    });
  }
}

interface TableCopy {
  readonly source: Transaction<Tables>;
  readonly target: Transaction<Tables>;
  readonly table: TableLayout;
}

async function copyTable(
  { source, target, to, table }: TableCopy & { readonly to: SqlConnection },
  options: UpkeepOptions,
): Promise<TableSum> {
  const sum = new TableSum();
  for await (const piece of readRowBatches(source, table, options)) {
    const rows = piece.map(ROW_TRANSFORMS.get(table.name) ?? ((row) => row));
    sum.add(rows, table);
    try {
      await toUntypedTables(target)
        .insertInto(table.name)
        .values(rows.map((row) => (table.name === "haft_session" ? { ...row, parent_id: null } : row)))
        .execute();
    } catch (thrown: unknown) {
      throw to.isUnstorable(thrown) ? unstorableRowError(thrown, { rows, table, to }) : thrown;
    }
    options.onProgress?.(table.name, sum.rows);
  }
  return sum;
}

function unstorableRowError(
  cause: unknown,
  { rows, table, to }: { readonly rows: readonly Row[]; readonly table: TableLayout; readonly to: SqlConnection },
) {
  const ids = rows.map((row) => table.key.map((column) => String(row[column])).join(" "));
  const long = ids.find((id) => Buffer.byteLength(id) > to.maxKeyBytes);
  const [what, hint] =
    long === undefined
      ? [`: ${describeThrown(cause)}`, ""]
      : [`, probably ${long.slice(0, 80)}…`, `PostgreSQL keeps ids of at most ${to.maxKeyBytes.toLocaleString("en")} bytes. `];
  return new ToolError("too_large", `${to.place} cannot hold a row of ${table.name}${what}`, {
    cause,
    operatorHint: `${hint}Nothing was copied.`,
  });
}

/** Rows that differ in the copy: open sessions count as left open, and media types are normalized as for new artifacts. */
const ROW_TRANSFORMS = new Map<string, (row: Row) => Row>([
  ["haft_session", (row) => ({ ...row, owner: ownerAfterRelease({ leavesOpen: row["owner"] !== null }) })],
  ["haft_artifact", (row) => ({ ...row, media_type: toStorableMediaType(String(row["media_type"])) })],
]);

/** Sets the parents once all sessions exist, because sessions are copied in any order. */
async function copyParents({ source, target, table }: TableCopy, options: UpkeepOptions): Promise<void> {
  const pairs: TableLayout = { ...table, columns: ["id", "parent_id"], texts: ["id", "parent_id"] };
  for await (const piece of readRowBatches(source, pairs, options))
    for (const { id, parent_id } of piece)
      if (id !== undefined && parent_id !== undefined && parent_id !== null)
        await toUntypedTables(target).updateTable("haft_session").set({ parent_id }).where("id", "=", id).execute();
}

async function requireSameSum(target: Transaction<Tables>, table: TableLayout, expected: TableSum, options: UpkeepOptions): Promise<void> {
  const found = new TableSum();
  for await (const rows of readRowBatches(target, table, options)) {
    found.add(rows, table);
    options.onProgress?.(`${table.name} compared`, found.rows);
  }
  if (found.rows === expected.rows && found.checksum === expected.checksum) return;
  throw new ToolError("corrupt_record", `The copy of ${table.name} differs from the source, so nothing was copied.`, {
    operatorHint: "Run it again; if that fails in the same way, haft store check says what is wrong with the source.",
  });
}

/** Number of sessions that a process may have open, according to the tables. @throws ToolError `corrupt_record` for tables that are not up to date */
export async function countOpenSessions(connection: SqlConnection): Promise<number> {
  await requireCurrent(connection);
  const { rows } = await connection.tables
    .selectFrom("haft_session")
    .innerJoin("haft_owner", "haft_owner.id", "haft_session.owner")
    .select(({ fn }) => fn.countAll<number>().as("rows"))
    .executeTakeFirstOrThrow();
  return rows;
}
