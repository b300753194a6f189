/**
 * A database server that a seed decides: SQLite in memory, one transaction at a time, with the limits that PostgreSQL sets to a session that is
 * idle in a transaction or waits for a lock. What was not committed is gone when it is restarted.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { Kysely, SqliteAdapter, SqliteDriver, SqliteIntrospector, SqliteQueryCompiler, type CompiledQuery, type QueryResult } from "kysely";
import type { FakeClock } from "../../../src/testing/fake-ports.ts";
import { migrate } from "../../../src/store/sql/migrate.ts";
import type { SqlConnection } from "../../../src/store/sql/sql-connection.ts";
import type { Tables } from "../../../src/store/sql/tables.ts";
import type { Dice } from "../dice.ts";

/** A session that does nothing in a transaction for so long is ended, as by idle_in_transaction_session_timeout. */
const IDLE_IN_TRANSACTION_MS = 900;
const LOCK_TIMEOUT_MS = 1_500;

export interface ServerParts {
  readonly clock: FakeClock;
  readonly dice: Dice;
  /** Called after each commit that may have changed something, with the node that made it. */
  readonly onCommit: (node: number, changed: ReadonlySet<string>) => void;
  /** The time of day that a node takes it to be. */
  readonly timeOf: (node: number) => number;
  /** Some commits are answered and not made. */
  readonly losesCommits: boolean;
  seen(point: string): void;
}

export type Row = Readonly<Record<string, SQLInputValue>>;

export class DatabaseServer {
  readonly parts: ServerParts;
  readonly #database = new DatabaseSync(":memory:");
  /** The names under which the nodes own sessions. */
  readonly ownerOf = new Map<number, string>();
  readonly #statements = new Map<string, { readonly statement: StatementSync; readonly isReader: boolean }>();
  readonly #sessions = new Set<ServerSession>();
  #holder: ServerSession | undefined;
  #waiting: { readonly session: ServerSession; readonly grant: () => void }[] = [];
  #isDown = false;

  constructor(parts: ServerParts) {
    this.parts = parts;
    for (const text of schema) this.#database.exec(text);
    this.#database.function("haft_now", () => parts.clock.wallTime());
    this.#database.function("haft_now_of", (node) => parts.timeOf(Number(node)));
    this.#database.function("haft_random", () => String(Math.floor(parts.dice.share() * 1e15)).padStart(16, "0"));
  }

  get isDown(): boolean {
    return this.#isDown;
  }

  close(): void {
    this.stop();
    this.#database.close();
  }

  /** Undefined while it is down. */
  connect(node: number): ServerSession | undefined {
    if (this.#isDown) return undefined;
    const session = new ServerSession(this, node);
    this.#sessions.add(session);
    return session;
  }

  /** Ends every session at once, without an answer. */
  stop(): void {
    this.#isDown = true;
    for (const session of this.#sessions) session.end();
  }

  start(): void {
    this.#isDown = false;
  }

  /** For the checkers: no session, no time. */
  rows(text: string, ...parameters: readonly SQLInputValue[]): readonly Row[] {
    return this.#prepared(text).statement.all(...parameters); // rows of text, numbers and null
  }

  run({ sql, parameters }: CompiledQuery): QueryResult<unknown> {
    const { statement, isReader } = this.#prepared(sql);
    const values = parameters as readonly SQLInputValue[]; // the tables hold text, numbers and null
    if (isReader) return { rows: statement.all(...values) };
    const { changes, lastInsertRowid } = statement.run(...values);
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
  }

  /** Of a sabotage: the session is the node's again, at once. */
  claimAgain(node: number, { sessionId, epoch }: { readonly sessionId: string; readonly epoch: number }): void {
    const owner = this.ownerOf.get(node);
    if (owner === undefined) return;
    this.#prepared("update haft_session set owner = ?, epoch = ? where id = ?").statement.run(owner, epoch, JSON.stringify(sessionId));
  }

  execute(text: "begin immediate" | "commit" | "rollback"): void {
    this.#database.exec(text);
  }

  /** Resolves when the session has the database to itself. */
  lock(session: ServerSession): Promise<void> {
    if (this.#holder === undefined) {
      this.#holder = session;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const stop = this.parts.clock.timer(() => {
        this.#waiting = this.#waiting.filter((one) => one !== entry);
        this.parts.seen("lock of the database waited for too long");
        reject(Object.assign(new Error("canceling statement due to lock timeout"), { code: "55P03" }));
      }, LOCK_TIMEOUT_MS);
      const grant = (): void => {
        stop();
        resolve();
      };
      const entry = { session, grant };
      this.#waiting.push(entry);
    });
  }

  unlock(session: ServerSession): void {
    if (this.#holder !== session) return;
    this.#holder = undefined;
    while (this.#holder === undefined) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      if (!next.session.isOpen) continue;
      this.#holder = next.session;
      next.grant();
    }
  }

  left(session: ServerSession): void {
    this.#sessions.delete(session);
    this.#waiting = this.#waiting.filter((one) => one.session !== session);
  }

  #prepared(text: string): { readonly statement: StatementSync; readonly isReader: boolean } {
    let known = this.#statements.get(text);
    if (known === undefined) {
      const statement = this.#database.prepare(text);
      this.#statements.set(text, (known = { statement, isReader: statement.columns().length > 0 }));
    }
    return known;
  }
}

const WRITES = /^\s*(?:insert into|update|delete from) "?(haft_[a-z_]+)/u;

/** One connection, as the server has it. */
export class ServerSession {
  readonly node: number;
  isOpen = true;
  readonly #server: DatabaseServer;
  #changed = new Set<string>();
  #isInTransaction = false;
  #stopIdle: (() => void) | undefined;

  constructor(server: DatabaseServer, node: number) {
    this.#server = server;
    this.node = node;
  }

  async execute(query: CompiledQuery): Promise<QueryResult<unknown>> {
    this.#stopIdle?.();
    if (!this.#isInTransaction) await this.#server.lock(this);
    if (!this.isOpen) {
      this.#server.unlock(this);
      throw reset();
    }
    try {
      return this.#run(query);
    } finally {
      if (this.#isInTransaction) this.#watchIdle();
      else this.#server.unlock(this);
    }
  }

  #run(query: CompiledQuery): QueryResult<unknown> {
    const { sql } = query;
    if (sql === "begin") {
      this.#server.execute("begin immediate");
      this.#isInTransaction = true;
      return { rows: [] };
    }
    if (sql === "commit" || sql === "rollback") {
      this.#endTransaction(sql);
      return { rows: [] };
    }
    const result = this.#server.run(query);
    const table = WRITES.exec(sql)?.[1];
    if (table !== undefined) this.#changed.add(table);
    if (table === "haft_owner" && sql.startsWith("insert")) this.#server.ownerOf.set(this.node, String(query.parameters[0]));
    if (!this.#isInTransaction) this.#committed();
    return result;
  }

  #endTransaction(how: "commit" | "rollback"): void {
    this.#isInTransaction = false;
    const { parts } = this.#server;
    const isLost = how === "commit" && parts.losesCommits && this.#changed.has("haft_event") && parts.dice.chance(0.1);
    this.#server.execute(isLost ? "rollback" : how);
    if (how === "commit" && !isLost) this.#committed();
    else this.#changed = new Set();
  }

  #committed(): void {
    const changed = this.#changed;
    if (changed.size === 0) return;
    this.#changed = new Set();
    this.#server.parts.onCommit(this.node, changed);
  }

  #watchIdle(): void {
    this.#stopIdle = this.#server.parts.clock.timer(() => {
      this.#server.parts.seen("transaction ended by the server");
      this.end();
    }, IDLE_IN_TRANSACTION_MS);
  }

  /** Ends without an answer; what was not committed is undone. */
  end(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#stopIdle?.();
    if (this.#isInTransaction) this.#endTransaction("rollback");
    this.#server.left(this);
    this.#server.unlock(this);
  }
}

/** As the driver of PostgreSQL says that a connection is gone. */
export function reset(): Error {
  return Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
}

/** The tables as the migrations make them, once for all worlds. */
const schema: readonly string[] = await makeSchema();

async function makeSchema(): Promise<readonly string[]> {
  const database = new DatabaseSync(":memory:");
  const prepare = (text: string) => {
    const statement = database.prepare(text);
    const of = (parameters: readonly unknown[]) => parameters as readonly SQLInputValue[]; // as above
    return {
      reader: statement.columns().length > 0,
      all: (parameters: readonly unknown[]) => statement.all(...of(parameters)),
      run: (parameters: readonly unknown[]) => statement.run(...of(parameters)),
      iterate: (parameters: readonly unknown[]) => statement.iterate(...of(parameters)),
    };
  };
  const tables = new Kysely<Tables>({
    dialect: {
      createDriver: () => new SqliteDriver({ database: { prepare, close: () => {} } }),
      createQueryCompiler: () => new SqliteQueryCompiler(),
      createAdapter: () => new SqliteAdapter(),
      createIntrospector: (all) => new SqliteIntrospector(all),
    },
  });
  const tableNames = async (all: Kysely<Tables>): Promise<readonly string[]> =>
    (await all.introspection.getTables({ withInternalKyselyTables: true })).map(({ name }) => name);
  const part = { tables, place: "The simulated store", tableNames, lockTables: async () => {}, orderEvents: async () => {} };
  await migrate(part as unknown as SqlConnection); // all that migrations ask of a connection
  const texts = database.prepare("select sql from sqlite_schema where sql is not null and name not like 'sqlite%' order by rowid").all();
  const steps = database.prepare("select version, name from haft_migration").all();
  const slots = database.prepare("select count(*) as count from haft_counter").get();
  if (Number(slots?.["count"]) > 0) throw new Error("A migration writes rows, which the simulated server would not have.");
  database.close();
  return [
    ...texts.map(({ sql }) => String(sql)),
    ...steps.map(({ version, name }) => `insert into haft_migration (version, name) values (${Number(version)}, '${String(name)}')`),
  ];
}
