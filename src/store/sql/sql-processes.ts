/** The processes of a store in SQL tables: its owners, with their open sessions. */
import { sql, type Kysely } from "kysely";
import { parseJson } from "../../core/base/parse-json.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { MAX_NAMED_SESSIONS, readProcessDescription, type ProcessDescription, type StoredProcess } from "../../core/store/process-store.ts";
import type { Owner } from "./owner.ts";
import { parseStoredTextOrRaw } from "../records/stored-text.ts";
import type { Tables } from "./tables.ts";

export async function listProcesses(tables: Kysely<Tables>, owner: Owner): Promise<readonly StoredProcess[]> {
  const owners = await owner.listAll(tables);
  const open = await openSessions(tables);
  const processes = owners.map((row): StoredProcess => {
    const sessions = open.get(row.id) ?? [];
    return {
      ...readDescription(row.about),
      id: row.id,
      host: row.host,
      pid: row.pid,
      own: row.id === owner.id,
      alive: row.isAlive,
      seenAt: row.seen_at,
      silentMs: row.silentMs,
      sessions: sessions[0]?.count ?? 0,
      sessionIds: sessions.map(({ id }) => parseStoredTextOrRaw(id)),
      ...omitUndefined({
        address: row.address ?? undefined,
        startedAt: row.started_at ?? undefined,
        eventsBehind: row.events_behind ?? undefined,
      }),
    };
  });
  return processes.toSorted((one, other) => startTime(one) - startTime(other) || (one.id < other.id ? -1 : 1));
}

function startTime({ startedAt, seenAt }: StoredProcess): number {
  return startedAt ?? seenAt;
}

function readDescription(about: string | null): ProcessDescription {
  try {
    return about === null ? {} : readProcessDescription(parseJson(about));
  } catch {
    return {}; // damaged: only the columns are shown
  }
}

interface OpenSession {
  readonly id: string;
  /** Number of open sessions of the owner. */
  readonly count: number;
}

/** The newest open sessions of each owner. */
async function openSessions(tables: Kysely<Tables>): Promise<ReadonlyMap<string, readonly OpenSession[]>> {
  const ranked = tables
    .selectFrom("haft_session")
    .where("owner", "is not", null)
    .select(["owner", "id"])
    .select([
      sql<number>`row_number() over (partition by owner order by updated_at desc, id)`.as("place"),
      sql<number>`count(*) over (partition by owner)`.as("count"),
    ]);
  const rows = await tables
    .selectFrom(ranked.as("ranked"))
    .select(["owner", "id", "count"])
    .where("place", "<=", MAX_NAMED_SESSIONS)
    .orderBy("owner")
    .orderBy("place")
    .execute();
  const found = new Map<string, OpenSession[]>();
  for (const { owner, id, count } of rows) {
    if (owner === null) continue;
    const sessions = found.get(owner) ?? [];
    sessions.push({ id, count });
    found.set(owner, sessions);
  }
  return found;
}
