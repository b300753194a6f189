/** The store of a node: the real one, over the simulated server. */
import { Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, sql } from "kysely";
import type { Clock } from "../../../src/core/ports.ts";
import type { EventLog, Store } from "../../../src/core/store/store.ts";
import { DatabaseStore } from "../../../src/store/database/database-store.ts";
import { migrate } from "../../../src/store/sql/migrate.ts";
import { withRetries } from "../../../src/store/postgres/postgres-connection.ts";
import { explainPostgres, isConnectionLost, isPostgresBusy } from "../../../src/store/postgres/postgres-error.ts";
import type { SqlConnection } from "../../../src/store/sql/sql-connection.ts";
import { SqlDatabase } from "../../../src/store/sql/sql-database.ts";
import { explainSqlite, isSqliteKeyTaken } from "../../../src/store/sqlite/sqlite-error.ts";
import { readSqliteShape } from "../../../src/store/sqlite/sqlite-shape.ts";
import type { Tables } from "../../../src/store/sql/tables.ts";
import type { DatabaseServer } from "./database-server.ts";
import type { FleetSabotage } from "./fleet-sabotage.ts";
import type { Link } from "./link.ts";

export const LEASE_MS = 3_000;
const HEARTBEAT_MS = LEASE_MS / 3;
const RETRY_MS = 2_000;

export interface NodeStoreParts {
  readonly node: number;
  readonly clock: Clock;
  readonly link: Link;
  readonly server: DatabaseServer;
  readonly sabotage: FleetSabotage | undefined;
}

export interface NodeStore {
  readonly store: Store;
  /** Says, again and again, that the node lives. */
  beat(): void;
}

export function openNodeStore(parts: NodeStoreParts): NodeStore {
  const database = new SqlDatabase(connect(parts), { maxCacheBytes: 1_000_000, prepare: migrate });
  const store = new DatabaseStore(database, {
    kind: "postgres",
    outlivesProcess: true,
    place: "The simulated database",
    readOnly: false,
    maxBufferedBytes: 10_000_000,
    clock: parts.clock,
  });
  const beat = (): void => {
    void database.sendHeartbeat().catch(() => {}); // the next one makes up for one that is missed
    parts.clock.timer(beat, HEARTBEAT_MS);
  };
  if (parts.sabotage === "write after the claim is lost") reclaim(database, parts);
  return { store: sabotaged(store, parts.sabotage), beat };
}

function connect({ node, clock, link, sabotage }: NodeStoreParts): SqlConnection {
  const tables = new Kysely<Tables>({
    dialect: {
      createDriver: () => link,
      createQueryCompiler: () => new SqliteQueryCompiler(),
      createAdapter: () => new ServerAdapter(),
      createIntrospector: (all) => new SqliteIntrospector(all),
    },
  });
  const place = "The simulated database";
  return {
    tables,
    liveness: {
      leaseMs: sabotage === "never take what a dead node had" ? Number.MAX_SAFE_INTEGER : LEASE_MS,
      seesProcesses: false,
      clock,
    },
    maxKeyBytes: 2_000,
    place,
    databaseTime: sabotage === "take over by the clock of the node" ? sql<number>`haft_now_of(${sql.lit(node)})` : sql<number>`haft_now()`,
    lastSequence: sql<number | null>`(select seq from sqlite_sequence where name = 'haft_event')`,
    randomText: sql<string>`haft_random()`,
    toStoreError: (thrown, doing) =>
      isConnectionLost(thrown) || isPostgresBusy(thrown)
        ? explainPostgres(thrown, `${place} ${doing}`)
        : explainSqlite(thrown, `${place} ${doing}`),
    isDamageError: () => false,
    isLockBusy: isPostgresBusy,
    isKeyTaken: isSqliteKeyTaken,
    isUnstorable: () => false,
    runWithRetries: (work) => withRetries(work, { retryMs: RETRY_MS, clock }),
    tableNames: async (all) => (await all.introspection.getTables({ withInternalKyselyTables: true })).map(({ name }) => name),
    lockTables: async () => {},
    orderEvents: async () => {},
    setLastSequence: async () => {},
    readShape: readSqliteShape,
    close: () => tables.destroy(),
  };
}

/** As for a server, which takes several connections at a time. */
class ServerAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

/** Writes as if no other had claimed the session since. */
function reclaim(database: SqlDatabase, { server, node }: NodeStoreParts): void {
  const commit = database.commit.bind(database);
  database.commit = async (writes) => {
    for (const { sessionId, epoch } of writes) server.claimAgain(node, { sessionId, epoch });
    return commit(writes);
  };
}

function sabotaged(store: Store, sabotage: FleetSabotage | undefined): Store {
  if (sabotage === "give every lease the same fence") {
    const { leases } = store;
    const update: typeof leases.update = async (request) =>
      (await leases.update(request)).map((answer) => (answer.granted ? { ...answer, fence: 1 } : answer));
    return withParts(store, { leases: { update, list: () => leases.list() } });
  }
  if (sabotage === "acknowledge before the commit" || sabotage === "leave out the end of a job")
    return withParts(store, {
      create: (id, options) => sabotagedLog(store.create(id, options), sabotage),
      claim: async (id, options) => sabotagedLog(await store.claim(id, options), sabotage),
    });
  return store;
}

function withParts(store: Store, parts: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, key) {
      if (Object.hasOwn(parts, key)) return Reflect.get(parts, key);
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function sabotagedLog(log: EventLog, sabotage: FleetSabotage): EventLog {
  return new Proxy(log, {
    get(target, key) {
      if (sabotage === "acknowledge before the commit" && key === "whenDurable") return () => undefined;
      if (sabotage === "leave out the end of a job" && key === "append")
        return (events: Parameters<EventLog["append"]>[0]) => target.append(events.filter(({ type }) => type !== "job-end"));
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
