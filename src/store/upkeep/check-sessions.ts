/** Verifies the log of every session: its record, its checksums, and that no position is missing or surplus. */
import { sql, type Transaction } from "kysely";
import { LogReader } from "../sql/log-reader.ts";
import { LogStatements, type StoredEvent } from "../sql/log-statements.ts";
import { runInSnapshot } from "../sql/session-claims.ts";
import type { SqlConnection } from "../sql/sql-connection.ts";
import { parseStoredText } from "../records/stored-text.ts";
import type { SessionTable, Tables } from "../sql/tables.ts";
import type { Finding } from "./finding.ts";
import { yieldBetweenSteps, type UpkeepOptions } from "./upkeep-options.ts";
import { eventChecksum, rootChecksum, sessionChecksum } from "../sql/checksum.ts";

const SESSION_BATCH_SIZE = 200;
const EVENT_BATCH_SIZE = 1_000;
/** Maximum number of sessions without a record that are reported. */
const MAX_ORPHANS = 100;

/** @param transaction reads all sessions from its snapshot; if omitted, each session is read from a snapshot of its own */
export async function* checkSessions(
  connection: SqlConnection,
  options: UpkeepOptions,
  transaction?: Transaction<Tables>,
): AsyncGenerator<Finding, void, undefined> {
  const reader = new LogReader(connection, new LogStatements(connection.tables));
  const readSnapshot = <Result>(work: (tables: Transaction<Tables>) => Promise<Result>): Promise<Result> =>
    transaction === undefined ? runInSnapshot(connection.tables, work) : work(transaction);
  let count = 0;
  for (let last = ""; ;) {
    const { ids, sound } = await readSnapshot((tables) => nextSessions(tables, last));
    for (const id of ids) {
      count++;
      if (sound.has(id)) continue;
      await yieldBetweenSteps(options);
      const problem = await readSnapshot((tables) => findProblem(tables, reader, id));
      if (problem !== undefined) yield damagedFinding(id, problem);
    }
    options.onProgress?.("sessions", count);
    await yieldBetweenSteps(options);
    const end = ids.at(-1);
    if (end === undefined) break;
    last = end;
  }
  for (const id of await readSnapshot(findOrphans)) yield damagedFinding(id, "it has events but no record");
}

async function nextSessions(
  tables: Transaction<Tables>,
  last: string,
): Promise<{ readonly ids: readonly string[]; readonly sound: ReadonlySet<string> }> {
  const rows = await tables.selectFrom("haft_session").selectAll().where("id", ">", last).orderBy("id").limit(SESSION_BATCH_SIZE).execute();
  return { ids: rows.map(({ id }) => id), sound: await findSoundSessions(tables, rows) };
}

/** Returns the problem of a session. Only its own events are read; shared events are verified with the parent. */
async function findProblem(tables: Transaction<Tables>, reader: LogReader, id: string): Promise<string | undefined> {
  const found = await reader.find(tables, id);
  if (found === undefined) return undefined; // removed meanwhile
  if (found.damage !== undefined) return found.damage;
  for (let from: number | undefined = found.row.parent_length + 1; from !== undefined;) {
    const page = await reader.read(tables, found, { from, limit: EVENT_BATCH_SIZE });
    if (page.damage !== undefined) return `event ${page.damage.position}: ${page.damage.reason}`;
    from = page.next;
  }
  return (await findEndProblem(tables, reader, found.row)) ?? findSurplusEvent(tables, found.row);
}

/** Checks that the parent has the last event of a log without own events. */
async function findEndProblem(tables: Transaction<Tables>, reader: LogReader, row: SessionTable): Promise<string | undefined> {
  if (row.parent_id === null || row.length > row.parent_length) return undefined;
  return (await reader.checksumAt(tables, row, row.parent_length)) === undefined
    ? `event ${row.parent_length}: its parent does not have it`
    : undefined;
}

async function findSurplusEvent(tables: Transaction<Tables>, { id, length, parent_length }: SessionTable): Promise<string | undefined> {
  const surplus = await tables
    .selectFrom("haft_event")
    .select("position")
    .where("session", "=", id)
    .where((event) => event.or([event("position", ">", length), event("position", "<=", parent_length)]))
    .orderBy("position")
    .limit(1)
    .executeTakeFirst();
  return surplus === undefined ? undefined : `event ${surplus.position}: the record of the session does not count it`;
}

async function findOrphans(tables: Transaction<Tables>): Promise<readonly string[]> {
  const rows = await tables
    .selectFrom("haft_event")
    .select("session")
    .distinct()
    .where((event) =>
      event.not(event.exists(event.selectFrom("haft_session").select("id").whereRef("haft_session.id", "=", "haft_event.session"))),
    )
    .limit(MAX_ORPHANS)
    .execute();
  return rows.map(({ session }) => session);
}

function damagedFinding(stored: string, problem: string): Finding {
  let id = stored;
  try {
    id = parseStoredText(stored);
  } catch {
    // the stored text is shown
  }
  return {
    kind: "session",
    what: `session ${JSON.stringify(id)} is damaged: ${problem}`,
    wayOut:
      "Save what can be read to a file with haft sessions export, import it under a new id, and remove the session; or restore a backup.",
  };
}

/** Maximum size of the bodies that are read together, in bytes. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Finds sound sessions among many small ones at once. A session that is missing from the result must be checked individually. */
async function findSoundSessions(tables: Transaction<Tables>, rows: readonly SessionTable[]): Promise<ReadonlySet<string>> {
  const sound = new Set<string>();
  for (const group of await groupSmallSessions(tables, rows)) {
    const events = await tables
      .selectFrom("haft_event")
      .select(["session", "position", "at", "type", "call_id", "body", "checksum"])
      .where("session", "in", [...group.keys()])
      .orderBy("session")
      .orderBy("position")
      .execute();
    const bySession = Map.groupBy(events, ({ session }) => session);
    for (const [id, row] of group) if (isSound(row, bySession.get(id) ?? [])) sound.add(id);
  }
  return sound;
}

/** Groups small sessions that share no events with a parent, so that each group is small too. */
async function groupSmallSessions(
  tables: Transaction<Tables>,
  rows: readonly SessionTable[],
): Promise<readonly ReadonlyMap<string, SessionTable>[]> {
  const withoutParent = new Map(rows.filter((row) => row.parent_id === null).map((row) => [row.id, row]));
  if (withoutParent.size === 0) return [];
  const sizes = await tables
    .selectFrom("haft_event")
    .select(["session", sql<number>`sum(octet_length(body) + 200)`.as("bytes")])
    .where("session", "in", [...withoutParent.keys()])
    .groupBy("session")
    .execute();
  const groups: Map<string, SessionTable>[] = [];
  let left = 0;
  for (const { session, bytes } of sizes) {
    const row = withoutParent.get(session);
    if (row === undefined || bytes > MAX_BYTES) continue;
    if (bytes > left) {
      groups.push(new Map());
      left = MAX_BYTES;
    }
    groups.at(-1)?.set(session, row);
    left -= bytes;
  }
  return groups;
}

function isSound(row: SessionTable, events: readonly StoredEvent[]): boolean {
  let checksum = rootChecksum(row, "");
  for (const [index, event] of events.entries()) {
    if (event.position !== index + 1 || event.checksum !== eventChecksum(checksum, event)) return false;
    ({ checksum } = event);
  }
  return row.parent_length === 0 && events.length === row.length && checksum === row.head && row.checksum === sessionChecksum(row);
}
