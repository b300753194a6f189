/** The database of a store in the thread that uses it, without a file to start another thread from: in a bundle. */
import { ToolError } from "../core/error.ts";
import type { CacheRecord, ListOptions, StoredSession } from "../core/store.ts";
import type { CancelRequest, JobKey, PruneJobsOptions, StoredJob } from "../core/job-store.ts";
import type {
  CheckedJobList,
  ClaimAnswer,
  ClaimRequest,
  LogDatabase,
  LogRefusal,
  LogWrite,
  ReadRequest,
  StoredPage,
} from "./log-database.ts";
import type { SqlDatabase } from "./sql-database.ts";
import { HEARTBEAT_MS, type SqliteSettings } from "./sqlite-settings.ts";

/** Each commit holds up the thread until the disk has it. An idle store does not keep the process alive. */
export class InThreadDatabase implements LogDatabase {
  readonly #settings: SqliteSettings;
  #database: SqlDatabase | undefined;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(settings: SqliteSettings) {
    this.#settings = settings;
  }

  async open(): Promise<void> {
    const { openSqliteDatabase } = await import("./sqlite-database.ts");
    const database = openSqliteDatabase(this.#settings);
    try {
      await database.open();
    } catch (thrown: unknown) {
      await closeQuietly(database);
      throw thrown;
    }
    this.#database = database;
    // oxlint-disable-next-line no-restricted-globals -- real time, as in the thread of the other kind: other processes wait for it
    this.#heartbeat = setInterval(() => void beat(database), HEARTBEAT_MS).unref();
  }

  async commit(writes: readonly LogWrite[]): Promise<readonly LogRefusal[]> {
    return this.#opened.commit(writes);
  }

  async claim(request: ClaimRequest): Promise<ClaimAnswer> {
    return this.#opened.claim(request);
  }

  async release(sessionIds: readonly string[]): Promise<void> {
    return this.#opened.release(sessionIds);
  }

  async read(request: ReadRequest): Promise<StoredPage> {
    return this.#opened.read(request);
  }

  async list(options: Required<ListOptions>): Promise<readonly StoredSession[]> {
    return this.#opened.list(options);
  }

  async remove(sessionId: string): Promise<boolean> {
    return this.#opened.remove(sessionId);
  }

  async jobList(options: CheckedJobList): Promise<readonly StoredJob[]> {
    return this.#opened.jobList(options);
  }

  async jobRequestCancel(request: JobKey & { readonly reason: string }): Promise<boolean> {
    return this.#opened.jobRequestCancel(request);
  }

  async jobCancelRequests(): Promise<readonly CancelRequest[]> {
    return this.#opened.jobCancelRequests();
  }

  async jobPrune(options: PruneJobsOptions): Promise<number> {
    return this.#opened.jobPrune(options);
  }

  async cacheGet(request: { readonly key: string; readonly now: number }): Promise<string | undefined> {
    return this.#opened.cacheGet(request);
  }

  async cacheVersions(resources: readonly string[]): Promise<readonly number[]> {
    return this.#opened.cacheVersions(resources);
  }

  async cachePut(entry: CacheRecord): Promise<void> {
    return this.#opened.cachePut(entry);
  }

  async cacheInvalidate(resources: readonly string[]): Promise<void> {
    return this.#opened.cacheInvalidate(resources);
  }

  async close(): Promise<void> {
    clearInterval(this.#heartbeat);
    const database = this.#database;
    this.#database = undefined;
    await database?.close();
  }

  get #opened(): SqlDatabase {
    if (this.#database !== undefined) return this.#database;
    throw new ToolError("store_failed", `The store ${this.#settings.path} is not open.`);
  }
}

async function beat(database: SqlDatabase): Promise<void> {
  try {
    await database.beat();
  } catch {
    // The next one makes up for one that is missed
  }
}

async function closeQuietly(database: SqlDatabase): Promise<void> {
  try {
    await database.close();
  } catch {
    // The error that kept it from being opened is reported
  }
}
