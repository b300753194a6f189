/** The connections of a store to PostgreSQL. Loads `pg` when first needed, and reuses only connections that are known to work. */
import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from "kysely";
import type { PoolClient } from "pg";
import { ToolError } from "../../core/error.ts";
import { loadPackage } from "../../core/system/lazy-package.ts";
import { isConnectionLost } from "./postgres-error.ts";
import { KEEP_ALIVE, type PostgresSettings } from "./postgres-settings.ts";

/** PostgreSQL 13, the oldest with `gen_random_uuid()`. */
const MIN_VERSION = 130_000;
/** How long an unused connection is kept open, in milliseconds. */
const IDLE_MS = 30_000;

/**
 * Sent once on each connection. Lets the server end a transaction that a stopped process left open. Sets `read committed`, because at another default
 * level of a role or database statements would not see rows committed while they waited for a lock, or would be refused repeatedly.
 */
const PREPARE = `
  select set_config('lock_timeout', $1, false), set_config('idle_in_transaction_session_timeout', $2, false),
    set_config('default_transaction_isolation', 'read committed', false),
    case when current_setting('synchronous_commit') = 'off' then set_config('synchronous_commit', 'on', false) end,
    current_setting('server_encoding') as encoding, current_setting('server_version_num')::int as version,
    current_setting('server_version') as "versionText", version() as product`;

/** Prefix of every statement: a balancer such as pgpool would otherwise send reads to a standby, which may lack the latest writes. */
const PRIMARY_ONLY = "/*NO LOAD BALANCE*/ ";

interface ServerFacts {
  readonly encoding: string;
  readonly version: number;
  readonly versionText: string;
  /** Such as `PostgreSQL 17.1 on …`. */
  readonly product: string;
}

/** @throws ToolError `store_failed` if the package is not installed */
export async function createPostgresPool(settings: PostgresSettings): Promise<PostgresPool> {
  const { Pool, types } = await loadPostgresDriver();
  const pool = new Pool({
    connectionString: settings.url,
    max: settings.maxConnections,
    connectionTimeoutMillis: settings.connectTimeoutMs,
    query_timeout: settings.answerTimeoutMs,
    idleTimeoutMillis: IDLE_MS,
    ...KEEP_ALIVE,
    allowExitOnIdle: true,
    application_name: "haft",
    types: {
      getTypeParser: (oid, format) =>
        oid === types.builtins.INT8 || oid === types.builtins.NUMERIC ? Number : types.getTypeParser(oid, format),
    },
  });
  pool.on("connect", (client) => client.on("error", () => {})); // the statement in flight, or the next one, reports the error
  pool.on("error", () => {}); // a broken idle connection is not reused
  const prepared = new WeakSet<PoolClient>();
  return {
    options: {},
    async connect() {
      const client = await pool.connect();
      const checked = new CheckedClient(client);
      if (!prepared.has(client)) await prepare(checked, settings);
      prepared.add(client);
      return checked;
    },
    end: () => pool.end(),
  };
}

/** @throws ToolError `store_failed` if the package is not installed, as a rejection */
export function loadPostgresDriver(): Promise<typeof import("pg")> {
  const wanted = { name: "pg", need: "a store in PostgreSQL needs it", code: "store_failed" } as const;
  return loadPackage(() => import("pg"), wanted, { retryable: false });
}

async function prepare(client: CheckedClient, { lockTimeoutMs, leaseMs }: PostgresSettings): Promise<void> {
  try {
    const [facts] = (await client.query<ServerFacts>(PREPARE, [`${lockTimeoutMs}`, `${leaseMs}`])).rows;
    if (facts !== undefined) checkServer(facts);
  } catch (error: unknown) {
    client.discard();
    client.release();
    throw error;
  }
}

function checkServer({ encoding, version, versionText, product }: ServerFacts): void {
  if (product.startsWith("CockroachDB"))
    throw new ToolError("store_failed", "The server is CockroachDB, whose advisory locks do nothing; PostgreSQL 13 or newer works.", {
      retryable: false,
    });
  if (version < MIN_VERSION)
    throw new ToolError("store_failed", `The server is PostgreSQL ${versionText}; 13 is the oldest that works.`, { retryable: false });
  if (encoding === "UTF8") return;
  throw new ToolError("store_failed", `The database has the encoding ${encoding}, which cannot hold every text.`, {
    retryable: false,
    operatorHint: "Create the database with: create database … encoding 'UTF8' template template0",
  });
}

/** A client that is closed on release, not reused, if a failure left its state unknown. */
class CheckedClient implements PostgresPoolClient {
  readonly #client: PoolClient;
  #failure: Error | undefined;

  constructor(client: PoolClient) {
    this.#client = client;
  }

  query<Row>(text: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<Row>>;
  query(): never;
  async query(text?: string, parameters: readonly unknown[] = []): Promise<unknown> {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      return await this.#client.query(PRIMARY_ONLY + (text ?? ""), [...parameters]);
    } catch (error: unknown) {
      if (isConnectionLost(error)) this.#failure = asError(error);
      throw error;
    }
  }

  discard(): void {
    this.#failure ??= new Error("The connection was discarded.");
  }

  release(destroy = false): void {
    this.#client.release(destroy || this.#failure !== undefined);
  }
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
