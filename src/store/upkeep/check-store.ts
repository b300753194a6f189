/** Looks for all damage in a store, without changing it. */
import { hash } from "node:crypto";
import type { Transaction } from "kysely";
import { cacheChecksum } from "../sql/checksum.ts";
import { CURRENT_VERSION, findPendingSteps } from "../sql/migrate.ts";
import { runInSnapshot } from "../sql/session-claims.ts";
import type { SqlConnection } from "../sql/sql-connection.ts";
import type { Tables } from "../sql/tables.ts";
import { checkSessions } from "./check-sessions.ts";
import type { Finding } from "./finding.ts";
import { expectedShape, findSchemaDrift } from "./schema-drift.ts";
import { yieldBetweenSteps, type UpkeepOptions } from "./upkeep-options.ts";

/** Number of artifacts or cached results read at once; they are large. */
const ROW_BATCH_SIZE = 20;
const ARTIFACTS_SINCE = 9;

/**
 * Yields findings as they are found, about the version, the file, the tables, the sessions, the artifacts and the cache.
 *
 * @throws ToolError `corrupt_record` for a newer store, or a database that is not a store
 */
export async function* checkStore(connection: SqlConnection, options: UpkeepOptions = {}): AsyncGenerator<Finding, void, undefined> {
  const { version, pending } = await findPendingSteps(connection);
  if (version === 0)
    return yield { kind: "version", what: `${connection.place} has no tables yet`, wayOut: "haft store migrate creates them." };
  if (pending.length > 0)
    yield {
      kind: "version",
      what: `the store has format version ${version}; this version of Haft works with ${CURRENT_VERSION}`,
      wayOut: "haft store migrate brings it up to date.",
    };
  for (const damage of (await connection.fileDamage?.(connection.tables)) ?? [])
    yield {
      kind: "file",
      what: `the file is damaged: ${damage}`,
      wayOut: "Restore a backup, or save what haft sessions export can still read.",
    };
  const drift = findSchemaDrift(await expectedShape(version), await connection.readShape(connection.tables));
  yield* drift;
  if (drift.some(({ what }) => what.endsWith("is missing") && !what.startsWith("the index"))) return; // the rest would fail for the same reason
  yield* checkSessions(connection, options);
  if (version >= ARTIFACTS_SINCE) yield* checkArtifacts(connection, options);
  yield* await checkCache(connection, options);
}

async function* checkArtifacts({ tables }: SqlConnection, options: UpkeepOptions): AsyncGenerator<Finding, void, undefined> {
  let count = 0;
  for (let last = ""; ;) {
    await yieldBetweenSteps(options);
    const query = tables.selectFrom("haft_artifact").select(["id", "data"]).where("id", ">", last);
    const rows = await query.orderBy("id").limit(ROW_BATCH_SIZE).execute();
    for (const { id, data } of rows) {
      if (hash("sha256", Buffer.from(data, "base64")) === id) continue;
      const wayOut = `Restore it from a backup; or delete it, so that the next answer with these bytes stores it again: delete from haft_artifact where id = '${id}'`;
      yield { kind: "artifact", what: `the bytes of the artifact ${id} do not match its SHA-256`, wayOut };
    }
    count += rows.length;
    options.onProgress?.("artifacts", count);
    const end = rows.at(-1);
    if (end === undefined) return;
    last = end.id;
  }
}

/** Checks the cache in one transaction, because results come and go. A damaged entry is never used, so the check continues. */
async function checkCache({ tables }: SqlConnection, options: UpkeepOptions): Promise<readonly Finding[]> {
  const { damaged, bytes, counted } = await runInSnapshot(tables, (transaction) => inspectCache(transaction, options));
  const wayOut = "haft store prune --only cache --older-than 1m removes cached results; they are computed again when they are needed.";
  const findings: Finding[] = [];
  if (damaged > 0) findings.push({ kind: "cache", what: `${damaged} cached results are damaged, and are not used`, wayOut });
  if (counted !== bytes) findings.push({ kind: "cache", what: `the cache has ${bytes} bytes but counts ${counted}`, wayOut });
  return findings;
}

async function inspectCache(
  tables: Transaction<Tables>,
  options: UpkeepOptions,
): Promise<{ readonly damaged: number; readonly bytes: number; readonly counted: number }> {
  let damaged = 0;
  let bytes = 0;
  for (let last = ""; ;) {
    await yieldBetweenSteps(options);
    const rows = await tables.selectFrom("haft_cache").selectAll().where("key", ">", last).orderBy("key").limit(ROW_BATCH_SIZE).execute();
    for (const row of rows) {
      if (row.checksum !== cacheChecksum(row)) damaged++;
      bytes += row.bytes;
    }
    const end = rows.at(-1);
    if (end === undefined) break;
    last = end.key;
  }
  const counter = await tables.selectFrom("haft_counter").select("value").where("name", "=", "cache-bytes").executeTakeFirst();
  return { damaged, bytes, counted: counter?.value ?? 0 };
}
