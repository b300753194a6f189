/** PostgreSQL as Kysely and the store need it. */
import { Kysely, PostgresDialect, PostgresQueryCompiler, sql } from "kysely";
import type { DataTypeNode, PostgresPool, QueryCompiler } from "kysely";
import { systemPorts } from "../core/system-ports.ts";
import { explainPostgres, isLost, isPostgresBusy, isPostgresTaken, isPostgresUnfit, isTransactionConflict } from "./postgres-error.ts";
import { postgresPlace, type PostgresSettings } from "./postgres-settings.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { Tables } from "./tables.ts";

/** The bytes that fit into an index: a third of a page of 8 kB, less what belongs to other columns. */
const MAX_KEY_BYTES = 2_000;
/** Of those that change the tables; one number for all stores of a server. */
const TABLES_LOCK = 4_726_183;
const MAX_CONFLICTS = 10;
const FIRST_WAIT_MS = 20;
const MAX_WAIT_MS = 500;

/** @param pool opened when the first statement is run */
export function connectPostgres(settings: PostgresSettings, pool: () => Promise<PostgresPool>): SqlConnection {
  const { schema, leaseMs } = settings;
  const place = postgresPlace(settings);
  const root = new Kysely<Tables>({ dialect: new HaftPostgresDialect({ pool }) });
  return {
    tables: root.withSchema(schema),
    groups: { schema },
    liveness: { leaseMs, seesProcesses: false },
    maxKeyBytes: MAX_KEY_BYTES,
    place,
    databaseTime: sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)::bigint`,
    randomText: sql<string>`replace(gen_random_uuid()::text, '-', '')`,
    explain: (thrown, doing) => explainPostgres(thrown, `${place} ${doing}`),
    isDamage: () => false, // what is stored is shown as it is, and its checksums say whether it is sound
    isBusy: isPostgresBusy,
    isTaken: isPostgresTaken,
    isUnfit: isPostgresUnfit,
    attempt: (work) => attemptFor(settings.retryMs, work),
    async tableNames(tables) {
      const query = sql<{ name: string }>`select tablename as name from pg_tables where schemaname = ${schema} order by 1`;
      return (await query.execute(tables)).rows.map(({ name }) => name);
    },
    async lockTables(transaction) {
      await sql`select pg_advisory_xact_lock(${TABLES_LOCK})`.execute(transaction);
      await transaction.schema.createSchema(schema).ifNotExists().execute();
    },
    close: () => root.destroy(),
  };
}

/** `integer` has 64 bits in SQLite and 32 here; a time in milliseconds needs more. */
class HaftPostgresDialect extends PostgresDialect {
  override createQueryCompiler(): QueryCompiler {
    return new WideIntegers();
  }
}

class WideIntegers extends PostgresQueryCompiler {
  protected override visitDataType(node: DataTypeNode): void {
    this.append(node.dataType === "integer" ? "bigint" : node.dataType);
  }
}

/** Nothing that a store writes is done twice when it is run again: events that are there already are found, and the rest is set, not added. */
async function attemptFor<Result>(retryMs: number, work: () => Promise<Result>): Promise<Result> {
  const { clock } = systemPorts;
  const until = clock.now() + retryMs;
  let conflicts = 0;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, MAX_WAIT_MS)) {
    try {
      return await work();
    } catch (error: unknown) {
      if (isTransactionConflict(error) ? ++conflicts > MAX_CONFLICTS : !isLost(error) || clock.now() + waitMs > until) throw error;
    }
    if (conflicts === 0) await new Promise<void>((resolve) => void clock.timer(resolve, waitMs));
  }
}
