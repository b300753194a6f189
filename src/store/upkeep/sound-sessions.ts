/** Tells of many small sessions at once that they are sound. Of one that is not known to be, nothing is said: it has to be looked at by itself. */
import { sql, type Transaction } from "kysely";
import { eventChecksum, rootChecksum, sessionChecksum } from "../sql/checksum.ts";
import type { StoredEvent } from "../sql/log-statements.ts";
import type { SessionTable, Tables } from "../sql/tables.ts";

/** Of the bodies that are read together. */
const MAX_BYTES = 4 * 1024 * 1024;

export async function soundSessions(tables: Transaction<Tables>, rows: readonly SessionTable[]): Promise<ReadonlySet<string>> {
  const sound = new Set<string>();
  for (const group of await smallGroups(tables, rows)) {
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

/** Those that share no events with a parent and are small, in groups that are small as well. */
async function smallGroups(
  tables: Transaction<Tables>,
  rows: readonly SessionTable[],
): Promise<readonly ReadonlyMap<string, SessionTable>[]> {
  const alone = new Map(rows.filter((row) => row.parent_id === null).map((row) => [row.id, row]));
  if (alone.size === 0) return [];
  const sizes = await tables
    .selectFrom("haft_event")
    .select(["session", sql<number>`sum(octet_length(body) + 200)`.as("bytes")])
    .where("session", "in", [...alone.keys()])
    .groupBy("session")
    .execute();
  const groups: Map<string, SessionTable>[] = [];
  let left = 0;
  for (const { session, bytes } of sizes) {
    const row = alone.get(session);
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
