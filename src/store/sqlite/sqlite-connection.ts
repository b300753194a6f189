/** A connection to SQLite through Kysely and `node:sqlite`. Loaded in the store's thread only. */
import { chmodSync, closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { CompiledQuery, Kysely, SqliteAdapter, SqliteDriver, SqliteIntrospector, SqliteQueryCompiler, sql } from "kysely";
import type { DatabaseConnection, Dialect, SqliteDatabase, SqliteStatement, Transaction, TransactionSettings } from "kysely";
import { systemErrorCode } from "../../core/base/system-error-code.ts";
import { ToolError } from "../../core/error.ts";
import { LEASE_MS } from "../records/store-options.ts";
import type { ImmediateSql, RunStatement, SqlConnection } from "../sql/sql-connection.ts";
import {
  explainSqlite,
  isSqliteBusy,
  isSqliteDamage,
  isSqliteReadOnly,
  isSqliteKeyTaken,
  isSqliteCannotOpen,
  sqliteUnavailableError,
} from "./sqlite-error.ts";
import type { SqliteSettings } from "./sqlite-settings.ts";
import { readSqliteShape } from "./sqlite-shape.ts";
import { requireVersion } from "./sqlite-version.ts";
import type { Tables } from "../sql/tables.ts";

/** A connection, with the database object for what is not a statement of the store. */
export interface SqliteConnection extends SqlConnection {
  readonly database: DatabaseSync;
}

/**
 * Opens the file without changing it yet.
 *
 * @throws ToolError `store_failed`, `corrupt_record`
 */
export function connectSqlite(settings: SqliteSettings): SqliteConnection {
  const place = settings.path === ":memory:" ? "The store in memory" : `The store ${settings.path}`;
  const toStoreError = (thrown: unknown, doing: string): ToolError => explainSqlite(thrown, `${place} ${doing}`);
  try {
    const database = openFile(settings);
    const requireFile = requireSameFile(settings.path);
    return {
      database,
      tables: new Kysely<Tables>({ dialect: nodeSqliteDialect(database, requireFile) }),
      immediate: new ImmediateSqlite(database, requireFile),
      place,
      databaseTime: sql<number>`cast(unixepoch('subsec') * 1000 as integer)`,
      lastSequence: sql<number | null>`(select seq from sqlite_sequence where name = 'haft_event')`,
      randomText: sql<string>`lower(hex(randomblob(16)))`,
      toStoreError,
      isDamageError: isSqliteDamage,
      isLockBusy: isSqliteBusy,
      isKeyTaken: isSqliteKeyTaken,
      isUnstorable: () => false,
      liveness: { leaseMs: LEASE_MS, seesProcesses: true },
      maxKeyBytes: Number.MAX_SAFE_INTEGER,
      runWithRetries: (work) => work(),
      tableNames: async (tables) => (await tables.introspection.getTables({ withInternalKyselyTables: true })).map(({ name }) => name),
      lockTables: async () => {}, // a writing transaction locks the whole file
      orderEvents: async () => {},
      setLastSequence,
      readShape: readSqliteShape,
      fileDamage: async (tables) => {
        const found = await sql<{ integrity_check: string }>`pragma integrity_check(10)`.execute(tables);
        return found.rows.map((row) => row.integrity_check).filter((text) => text !== "ok");
      },
      close: async () => database.close(),
    };
  } catch (error: unknown) {
    if (isIllegalConstructor(error)) throw sqliteUnavailableError(error, place);
    throw toStoreError(explainOpenFailure(error, settings), "could not be opened");
  }
}

/** Makes a store to be written safe for several processes and power failures. The first change to the file, so it must be known to be a store. */
export function prepareForWriting({ database }: SqliteConnection, { path, busyTimeoutMs, synchronous }: SqliteSettings): void {
  database.exec(
    `PRAGMA synchronous = ${synchronous}; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}; PRAGMA cache_size = -${CACHE_KB}`,
  );
  if (path === ":memory:") return;
  for (let waitedMs = 0; ; waitedMs += RETRY_MS) {
    try {
      database.exec("PRAGMA journal_mode = WAL");
      return;
    } catch (error: unknown) {
      if (waitedMs >= busyTimeoutMs || !isSqliteBusy(error)) throw error;
      pause(RETRY_MS); // SQLite itself does not wait here while another process does the same
    }
  }
}

async function setLastSequence(transaction: Transaction<Tables>, last: number): Promise<void> {
  await sql`delete from sqlite_sequence where name = 'haft_event'`.execute(transaction);
  await sql`insert into sqlite_sequence (name, seq) values ('haft_event', ${last})`.execute(transaction);
}

const RETRY_MS = 20;
/** 16 MB of 4 kB pages between checkpoints: pages at the ends of logs change often, and are copied into the main file only then. */
const CHECKPOINT_PAGES = 4_000;
/** A group of 512 sessions changes some 4 MB of pages; with SQLite's default of 2 MB they would be written and reread within a transaction. */
const CACHE_KB = 16_000;

function pause(durationMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs);
}

function openFile(settings: SqliteSettings): DatabaseSync {
  requireVersion(sqliteVersion()); // first, because opening a file creates it
  const isNew = settings.path !== ":memory:" && !settings.readOnly && !existsSync(settings.path);
  const place = settings.readOnly && isImmutable(settings) ? toImmutableUrl(settings.path) : settings.path;
  const database = openDatabase(settings, place);
  try {
    // a writable schema lets SQLite read a truncated file as far as possible; must be set before the first read
    if (settings.readOnly) database.exec("PRAGMA writable_schema = ON");
    if (isNew) chmodSync(settings.path, 0o600); // conversations are private
    return database;
  } catch (error: unknown) {
    database.close();
    throw error;
  }
}

function sqliteVersion(): string {
  const database = new DatabaseSync(":memory:");
  try {
    return String(database.prepare("select sqlite_version() as version").get()?.["version"]);
  } finally {
    database.close();
  }
}

/**
 * Rolls back what a killed process left half written before the file was in WAL mode: readers are refused until someone with write access has done
 * so.
 *
 * @returns whether this user cannot change the file and no process has it open, such as a copy on a read-only disk
 * @see https://sqlite.org/lockingv3.html#hot_journals
 */
function isImmutable(settings: SqliteSettings): boolean {
  try {
    readSchema(settings);
    return false;
  } catch (error: unknown) {
    if (isSqliteCannotOpen(error)) return hasNoJournalFiles(settings.path);
    if (!isSqliteReadOnly(error)) return false;
  }
  try {
    readSchema({ ...settings, readOnly: false });
    return false;
  } catch (error: unknown) {
    if (isSqliteReadOnly(error) && hasNoJournalFiles(settings.path)) return true;
    throw error;
  }
}

/** Whether no other files of SQLite are next to the file. There are some if it is open, or was open when its process was killed. */
function hasNoJournalFiles(path: string): boolean {
  return existsSync(path) && !existsSync(`${path}-wal`) && !existsSync(`${path}-journal`);
}

/** The URL to read the file without the WAL index, which SQLite would create in the folder. @see https://sqlite.org/uri.html#uriimmutable */
function toImmutableUrl(path: string): URL {
  const url = pathToFileURL(path);
  url.searchParams.set("immutable", "1");
  return url;
}

function readSchema(settings: SqliteSettings): void {
  const database = openDatabase(settings);
  try {
    database.prepare("select count(*) from sqlite_schema").get();
  } finally {
    database.close();
  }
}

function openDatabase({ path, readOnly, busyTimeoutMs }: SqliteSettings, place: string | URL = path): DatabaseSync {
  if (path !== ":memory:" && isSpecialFile(path)) throw new TypeError("it is not a file"); // opening a pipe would wait for a writer
  return new DatabaseSync(place, { readOnly, timeout: busyTimeoutMs, ...(readOnly ? { defensive: false } : {}) });
}

/** Whether `DatabaseSync` cannot be constructed, as in Cloudflare Workers. */
function isIllegalConstructor(error: unknown): boolean {
  return error instanceof TypeError && error.message.startsWith("Illegal constructor");
}

function explainOpenFailure(error: unknown, { path, readOnly }: SqliteSettings): unknown {
  if (error instanceof ToolError || path === ":memory:") return error;
  const problem = findPathProblem(path, readOnly);
  return problem === undefined
    ? error
    : new ToolError("store_failed", `The store ${path} could not be opened: ${problem}.`, { cause: error });
}

/** Whether the path is a pipe, socket or device. */
function isSpecialFile(path: string): boolean {
  const info = statSync(path, { throwIfNoEntry: false });
  return info !== undefined && !info.isFile() && !info.isDirectory();
}

function findPathProblem(path: string, readOnly: boolean): string | undefined {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return "it is a folder, not a file";
  if (isSpecialFile(path)) return "it is a pipe, a socket or a device, not a file";
  if (!existsSync(dirname(path))) return `the folder ${dirname(path)} does not exist`;
  return readOnly && !existsSync(path) ? "there is no such file" : undefined;
}

/**
 * Remembers which file is open. Writes to a file that was removed, renamed, replaced or truncated would be acknowledged and lost.
 *
 * @returns a check that throws ToolError `store_failed` if the path has another file or none, `corrupt_record` if the file was truncated
 */
function requireSameFile(path: string): () => void {
  const opened = path === ":memory:" ? undefined : statSync(path, { throwIfNoEntry: false });
  let size = opened?.size ?? 0;
  return () => {
    if (opened === undefined) return;
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.ino === opened.ino && found.dev === opened.dev) {
      if (found.size < size) requireUntruncated(path, found.size);
      size = found.size;
      return;
    }
    const what = found === undefined ? "no longer exists" : "is not the one that was opened";
    throw new ToolError("store_failed", `The file ${path} ${what}; nothing more is written.`, {
      retryable: false,
      hint: "Put the file back, or restart with the one that is there now.",
    });
  };
}

const HEADER_BYTES = 100;

/**
 * Distinguishes truncation from a vacuum, which also makes the file shorter but updates its header.
 *
 * @see https://sqlite.org/fileformat2.html#the_database_header — page size at 16, pages at 28
 */
function requireUntruncated(path: string, size: number): void {
  const header = Buffer.alloc(HEADER_BYTES);
  const file = openSync(path, "r");
  try {
    readSync(file, header, 0, HEADER_BYTES, 0);
  } finally {
    closeSync(file);
  }
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  if (size >= HEADER_BYTES && size >= header.readUInt32BE(28) * pageSize) return;
  throw new ToolError("corrupt_record", `The file ${path} was truncated to ${size} bytes while it was in use; nothing more is written.`, {
    hint: "Put a copy of the file back, or open it with readOnly to read what is left.",
  });
}

function nodeSqliteDialect(database: DatabaseSync, requireFile: () => void): Dialect {
  return {
    createDriver: () => new NodeSqliteDriver(database, requireFile),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (tables) => new SqliteIntrospector(tables),
  };
}

class NodeSqliteDriver extends SqliteDriver {
  readonly #database: DatabaseSync;
  readonly #requireFile: () => void;
  #isReading = false;

  constructor(database: DatabaseSync, requireFile: () => void) {
    super({ database: new PreparedStatements(database) });
    this.#database = database;
    this.#requireFile = requireFile;
  }

  /** Takes the write lock at BEGIN if the transaction will write: upgrading a read lock later can fail at once with SQLITE_BUSY. */
  override async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings = {}): Promise<void> {
    this.#isReading = settings.accessMode === "read only";
    if (!this.#isReading) this.#requireFile();
    await connection.executeQuery(this.#isReading ? BEGIN_READING : BEGIN_WRITING);
  }

  /** Rolls back a transaction that only read: it has nothing to commit, and a commit would fail after it met a broken page. */
  override async commitTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#isReading) await this.rollbackTransaction(connection);
    else await super.commitTransaction(connection);
  }

  /** Rolls back, unless SQLite has already done so after an error; a second rollback would fail. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.isTransaction) await super.rollbackTransaction(connection);
  }
}

const BEGIN_READING = CompiledQuery.raw("begin");
const BEGIN_WRITING = CompiledQuery.raw("begin immediate");

class ImmediateSqlite implements ImmediateSql {
  readonly #database: DatabaseSync;
  readonly #requireFile: () => void;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;

  constructor(database: DatabaseSync, requireFile: () => void) {
    this.#database = database;
    this.#requireFile = requireFile;
    this.#begin = database.prepare(BEGIN_WRITING.sql);
    this.#commit = database.prepare("commit");
  }

  get isIdle(): boolean {
    return !this.#database.isTransaction;
  }

  prepare(query: CompiledQuery): RunStatement {
    const statement = this.#database.prepare(query.sql);
    return (parameters) => Number(statement.run(...sqliteValues(parameters)).changes);
  }

  write(work: () => boolean): boolean {
    this.#requireFile();
    this.#begin.run();
    try {
      const isDone = work();
      if (isDone) this.#commit.run();
      return isDone;
    } finally {
      if (this.#database.isTransaction) this.#database.exec("rollback");
    }
  }
}

/** Maximum number of prepared statements kept; more than a store uses. */
const MAX_PREPARED = 200;

/** Prepares each statement once. */
class PreparedStatements implements SqliteDatabase {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, SqliteStatement>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  prepare(text: string): SqliteStatement {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    const statement = kyselyStatement(this.#database.prepare(text));
    if (this.#statements.size >= MAX_PREPARED) this.#statements.clear();
    this.#statements.set(text, statement);
    return statement;
  }

  close(): void {
    this.#database.close();
  }
}

function kyselyStatement(statement: StatementSync): SqliteStatement {
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => allRows(statement, sqliteValues(parameters)),
    run: (parameters) => statement.run(...sqliteValues(parameters)),
    iterate: (parameters) => statement.iterate(...sqliteValues(parameters)),
  };
}

/** Reads rows. Integers too large for a number are rounded, so that one row edited by hand does not make all others unreadable. */
function allRows(statement: StatementSync, parameters: readonly SQLInputValue[]): Row[] {
  try {
    return statement.all(...parameters);
  } catch (error: unknown) {
    if (systemErrorCode(error) !== "ERR_OUT_OF_RANGE" || !/^select\b/iu.test(statement.sourceSQL)) throw error; // a write must not run twice
  }
  statement.setReadBigInts(true);
  try {
    return statement.all(...parameters).map(withNumbers);
  } finally {
    statement.setReadBigInts(false);
  }
}

type Row = Record<string, SQLOutputValue>;

function withNumbers(row: Row): Row {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, typeof value === "bigint" ? Number(value) : value]));
}

function sqliteValues(parameters: readonly unknown[]): readonly SQLInputValue[] {
  return parameters as readonly SQLInputValue[]; // the tables contain text, numbers and null
}
