/** Sessions, claims and the cache in SQL tables: the same statements for every database that Kysely speaks. */
import type { Kysely, Transaction } from "kysely";
import { ToolError, isToolError } from "../core/error.ts";
import type { CacheRecord, LogOptions, StoredSession } from "../core/store.ts";
import { sessionChecksum } from "./checksum.ts";
import type { FeedPage, ReadFeedOptions } from "../core/store-feed.ts";
import type { ProcessDescription, StoredProcess } from "../core/process-store.ts";
import type { CancelRequest, JobKey, ListUnattendedOptions, PruneJobsOptions, StoredJob } from "../core/job-store.ts";
import { runOperation, type StoreOperation, type StoreParts } from "./store-operations.ts";
import type { ClaimAnswer, ClaimRequest, LogDatabase, LogRefusal, LogWrite, ReadRequest, StoredPage } from "./log-database.ts";
import type { CheckedJobList, CheckedListOptions } from "./store-options.ts";
import { runAccessOperation, type AccessOperation } from "./access-operations.ts";
import { SqlAccess } from "./sql-access.ts";
import { Gathered } from "./gathered.ts";
import { GroupClaims, type ClaimedLog } from "./group-claims.ts";
import { LogReader, type FoundSession } from "./log-reader.ts";
import { LogStatements } from "./log-statements.ts";
import { LogWriter } from "./log-writer.ts";
import { requireAccess, requireApprovals, requireFeed, requireJobs, requireProcesses } from "./migrate.ts";
import { Owner } from "./owner.ts";
import type { SqlConnection } from "./sql-connection.ts";
import { SqlApprovals, removeApprovals } from "./sql-approvals.ts";
import { SqlCache } from "./sql-cache.ts";
import { latestMark, readFeed, settledNumber } from "./sql-feed.ts";
import { listProcesses } from "./sql-processes.ts";
import { cancelRequests, listJobs, pruneJobs, requestCancel, unattendedSessions } from "./sql-jobs.ts";
import { SqlArtifacts } from "./sql-artifacts.ts";
import { SqlLeases, removeLeases } from "./sql-leases.ts";
import { SqlWebhooks } from "./sql-webhooks.ts";
import { readableText, storedText } from "./stored-text.ts";
import type { SessionTable, Tables } from "./tables.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";

export interface SqlDatabaseOptions {
  readonly maxCacheBytes: number;
  /** Makes the tables usable, or says why they are not. */
  readonly prepare: (connection: SqlConnection) => Promise<void>;
}

/** So many events of a log are verified at a time, while others may write in between. */
const VERIFIED_AT_ONCE = 5_000;
/** So many may be left for the transaction that claims. */
const VERIFIED_WITH_CLAIM = 500;

export class SqlDatabase implements LogDatabase {
  readonly #connection: SqlConnection;
  readonly #options: SqlDatabaseOptions;
  readonly #reader: LogReader;
  readonly #writer: LogWriter;
  readonly #owner: Owner;
  readonly #cache: SqlCache;
  readonly #parts: StoreParts;
  /** For a database that has an answer to wait for. */
  readonly #claims: Gathered<string, ReadonlyMap<string, ClaimedLog>> | undefined;

  constructor(connection: SqlConnection, options: SqlDatabaseOptions) {
    const statements = new LogStatements(connection.tables);
    this.#connection = connection;
    this.#options = options;
    this.#reader = new LogReader(connection, statements);
    this.#owner = new Owner(connection);
    this.#writer = new LogWriter({ connection, statements, reader: this.#reader, owner: this.#owner });
    this.#cache = new SqlCache(options.maxCacheBytes, connection.maxKeyBytes);
    this.#parts = {
      approvals: new SqlApprovals(connection, this.#owner),
      webhooks: new SqlWebhooks(connection),
      artifacts: new SqlArtifacts(connection),
      leases: new SqlLeases(connection, this.#owner),
    };
    this.#claims = connection.groups === undefined ? undefined : this.#groupClaims(connection.groups.schema);
  }

  #groupClaims(schema: string): Gathered<string, ReadonlyMap<string, ClaimedLog>> {
    const claims = new GroupClaims({ schema, owner: this.#owner, reader: this.#reader });
    return new Gathered((ids) => this.#do("could not claim sessions", (tables) => claims.claim(tables, ids)));
  }

  open(): Promise<void> {
    return this.#do("could not be opened", () => this.#options.prepare(this.#connection));
  }

  commit(writes: readonly LogWrite[]): Promise<readonly LogRefusal[]> {
    return this.#do("could not be written", (tables) => this.#writer.commit(tables, writes));
  }

  async claim(request: ClaimRequest): Promise<ClaimAnswer> {
    const quick = request.takeOver || request.verified > 0 ? undefined : await this.#claims?.add(storedText(request.sessionId));
    const claimed = quick?.get(storedText(request.sessionId));
    if (claimed === undefined) return this.#claimAlone(request);
    const { row, page } = claimed;
    this.#writer.remember(request.sessionId, row);
    return { claimed: true, length: row.length, options: optionsOf(row), epoch: row.epoch, page };
  }

  #claimAlone(request: ClaimRequest): Promise<ClaimAnswer> {
    return this.#do("could not claim a session", async (tables) => {
      const { verified, length } = await this.#look(tables, (transaction) => this.#verify(transaction, request));
      if (length - verified > VERIFIED_WITH_CLAIM) return { claimed: false, verified };
      const row = await tables.transaction().execute((transaction) => this.#take(transaction, { ...request, verified }));
      if (row === undefined) return { claimed: false, verified };
      this.#owner.confirm();
      this.#writer.remember(request.sessionId, row);
      return { claimed: true, length: row.length, options: optionsOf(row), epoch: row.epoch };
    });
  }

  read({ sessionId, from, limit }: ReadRequest): Promise<StoredPage> {
    return this.#do("could not be read", (tables) =>
      this.#look(tables, async (transaction) => {
        const found = await this.#reader.find(transaction, storedText(sessionId));
        if (found === undefined) throw notFound(sessionId);
        return this.#reader.read(transaction, found, { from, limit });
      }),
    );
  }

  list({ sessionId, limit, offset }: CheckedListOptions): Promise<readonly StoredSession[]> {
    return this.#do("could not list its sessions", (tables) =>
      this.#look(tables, async (transaction) => {
        const all = transaction.selectFrom("haft_session").selectAll();
        const named = sessionId === undefined ? all : all.where("id", "=", storedText(sessionId));
        const newest = named.orderBy("updated_at", "desc").orderBy("id");
        const sessions: StoredSession[] = [];
        for (const row of await newest.limit(limit).offset(offset).execute()) sessions.push(await this.#describe(transaction, row));
        return sessions;
      }),
    );
  }

  remove(sessionId: string): Promise<boolean> {
    let wasThere = false; // a first try may have removed it without an answer
    return this.#do("could not remove a session", async (tables) => {
      try {
        return await tables.transaction().execute(async (transaction) => {
          const id = storedText(sessionId);
          if (!(await this.#takeFree(transaction, sessionId))) return wasThere;
          wasThere = true;
          await this.#remove(transaction, sessionId, id);
          return true;
        });
      } catch (error: unknown) {
        throw this.#connection.isTaken(error) ? hasBranches(sessionId, "that was made just now") : error;
      }
    });
  }

  /** Makes a session this owner's own, so that no other can claim it until the transaction ends. False where there is none. */
  async #takeFree(transaction: Transaction<Tables>, sessionId: string): Promise<boolean> {
    for (let before: SessionTable | undefined; ;) {
      const found = await this.#reader.find(transaction, storedText(sessionId));
      if (found === undefined) return false;
      const { row } = found;
      await this.#requireFree(transaction, sessionId, row);
      // One that is as it was when it could not be taken is a record that is missing
      if (row.owner === before?.owner && row.epoch === before.epoch) return true;
      if (await this.#fence(transaction, row)) return true;
      before = row;
    }
  }

  async #remove(transaction: Transaction<Tables>, sessionId: string, id: string): Promise<void> {
    const child = await transaction.selectFrom("haft_session").select("id").where("parent_id", "=", id).limit(1).executeTakeFirst();
    if (child !== undefined) throw hasBranches(sessionId, child.id);
    await transaction.deleteFrom("haft_event").where("session", "=", id).execute();
    await transaction.deleteFrom("haft_job").where("session", "=", id).execute();
    await removeApprovals(transaction, id);
    await transaction.deleteFrom("haft_session").where("id", "=", id).execute();
  }

  feedLatest(): Promise<string> {
    return this.#feed((tables, settled) => latestMark(tables, settled));
  }

  async feedRead(options: Required<ReadFeedOptions>): Promise<FeedPage> {
    const page = await this.#feed((tables, settled) => readFeed(tables, this.#connection, { ...options, settled }));
    this.#owner.noteRead(page.entries.at(-1)?.mark ?? options.after);
    return page;
  }

  #feed<Result>(read: (tables: Kysely<Tables>, settled: number | undefined) => Promise<Result>): Promise<Result> {
    return this.#do("could not be read", async (tables) => {
      try {
        const settled = await settledNumber(this.#connection);
        return await this.#look(tables, (transaction) => read(transaction, settled));
      } catch (thrown: unknown) {
        if (!isToolError(thrown)) await requireFeed(this.#connection);
        throw thrown;
      }
    });
  }

  jobList(options: CheckedJobList): Promise<readonly StoredJob[]> {
    return this.#do("could not list its jobs", async (tables) => {
      try {
        return await this.#look(tables, (transaction) => listJobs(transaction, this.#owner, options));
      } catch (thrown: unknown) {
        await requireJobs(this.#connection);
        throw thrown;
      }
    });
  }

  jobRequestCancel(request: JobKey & { readonly reason: string }): Promise<boolean> {
    return this.#do("could not be written", (tables) => requestCancel(tables, request));
  }

  jobCancelRequests(): Promise<readonly CancelRequest[]> {
    const { id } = this.#owner;
    return id === undefined ? Promise.resolve([]) : this.#do("could not be read", (tables) => cancelRequests(tables, id));
  }

  jobUnattended(options: Required<ListUnattendedOptions>): Promise<readonly string[]> {
    return this.#do("could not list its jobs", (tables) => unattendedSessions(tables, this.#owner, options.limit));
  }

  jobPrune(options: PruneJobsOptions): Promise<number> {
    return this.#do("could not forget jobs", (tables) => pruneJobs(tables, options));
  }

  access(operation: AccessOperation): Promise<unknown> {
    return this.#do("could not answer for its keys", async (tables) => {
      try {
        return await runAccessOperation(new SqlAccess(tables), operation);
      } catch (thrown: unknown) {
        await requireAccess(this.#connection);
        throw thrown;
      }
    });
  }

  operate(operation: StoreOperation): Promise<unknown> {
    return this.#do("could not be used", async () => {
      try {
        return await runOperation(this.#parts, operation);
      } catch (thrown: unknown) {
        await requireApprovals(this.#connection);
        throw thrown;
      }
    });
  }

  cacheGet(request: { readonly key: string; readonly now: number }): Promise<string | undefined> {
    return this.#do("could not be read", (tables) => this.#cache.get(tables, request));
  }

  cacheVersions(resources: readonly string[]): Promise<readonly number[]> {
    return this.#do("could not be read", (tables) => this.#cache.versions(tables, resources));
  }

  cachePut(entry: CacheRecord): Promise<void> {
    return this.#do("could not keep a result", (tables) => this.#cache.put(tables, entry));
  }

  cacheInvalidate(resources: readonly string[]): Promise<void> {
    return this.#do("could not drop results", (tables) => this.#cache.invalidate(tables, resources));
  }

  announce(description: ProcessDescription): Promise<void> {
    return this.#do("could not announce this process", (tables) => this.#owner.announce(tables, description));
  }

  processes(): Promise<readonly StoredProcess[]> {
    return this.#do("could not list its processes", (tables) =>
      requireProcesses(this.#connection).then(() => this.#look(tables, (transaction) => listProcesses(transaction, this.#owner))),
    );
  }

  /** Says that this owner lives; to be called every `HEARTBEAT_MS`. */
  beat(): Promise<void> {
    return this.#do("could not say that it is in use", (tables) => this.#owner.beat(tables));
  }

  async close(): Promise<void> {
    try {
      await this.#do("could not give up its claims", async (tables) => {
        const { id } = this.#owner;
        if (id !== undefined) await removeLeases(tables, id);
        await this.#owner.leave(tables);
      });
    } finally {
      await this.#connection.close();
    }
  }

  /** Continues to verify a log that may be claimed. */
  async #verify(transaction: Transaction<Tables>, request: ClaimRequest): Promise<{ readonly verified: number; readonly length: number }> {
    const { row } = await this.#claimable(transaction, request);
    if (row.length - request.verified <= VERIFIED_WITH_CLAIM) return { verified: request.verified, length: row.length };
    return { verified: await this.#verifyPage(transaction, request), length: row.length };
  }

  /** Undefined when another claim was quicker: whether it may be claimed must be asked again. */
  async #take(transaction: Transaction<Tables>, request: ClaimRequest): Promise<SessionTable | undefined> {
    const before = await this.#claimable(transaction, request);
    await this.#owner.register(transaction);
    if (!(await this.#fence(transaction, before.row))) return undefined;
    const { row } = await this.#claimable(transaction, { ...request, takeOver: true }); // as its last owner left it
    let verified = request.verified;
    while (verified < row.length) verified = await this.#verifyPage(transaction, { ...request, verified });
    return row;
  }

  /** Makes a session this owner's own, if it is still as it was found. From then on no other owner can write it. */
  async #fence(transaction: Transaction<Tables>, { id, owner, epoch }: SessionTable): Promise<boolean> {
    const { numUpdatedRows } = await transaction
      .updateTable("haft_session")
      .set({ owner: this.#owner.id ?? null, epoch: epoch + 1 })
      .where("id", "=", id)
      .where("epoch", "=", epoch)
      .where("owner", "is not distinct from", owner)
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  }

  async #claimable(transaction: Transaction<Tables>, { sessionId, takeOver }: ClaimRequest): Promise<FoundSession> {
    const found = await this.#reader.find(transaction, storedText(sessionId));
    if (found === undefined) throw notFound(sessionId);
    if (!takeOver) await this.#requireFree(transaction, sessionId, found.row);
    if (found.damage !== undefined) throw damaged(sessionId, await this.#soundLength(transaction, found), found.damage);
    return found;
  }

  /** Returns up to where the log is sound. */
  async #verifyPage(transaction: Transaction<Tables>, { sessionId, verified }: ClaimRequest): Promise<number> {
    const found = await this.#reader.find(transaction, storedText(sessionId));
    if (found === undefined) throw notFound(sessionId);
    const page = await this.#reader.read(transaction, found, { from: verified + 1, limit: VERIFIED_AT_ONCE });
    const sound = verified + page.bodies.length;
    if (page.damage !== undefined) throw damaged(sessionId, sound, `event ${page.damage.position}: ${page.damage.reason}`);
    return sound;
  }

  async #soundLength(transaction: Transaction<Tables>, found: FoundSession): Promise<number> {
    for (let sound = 0; ;) {
      const page = await this.#reader.read(transaction, found, { from: sound + 1, limit: VERIFIED_AT_ONCE });
      sound += page.bodies.length;
      if (page.next === undefined) return sound;
    }
  }

  async #requireFree(transaction: Transaction<Tables>, sessionId: string, { owner }: SessionTable): Promise<void> {
    if (owner === null || owner === this.#owner.id) return;
    const living = await this.#owner.describe(transaction, owner);
    if (living === undefined) return;
    throw new ToolError("resource_busy", `Session ${JSON.stringify(sessionId)} is open in ${living.text}.`, {
      operatorHint: "Close it there, or claim it with takeOver: what is open there can then write no more.",
    });
  }

  async #describe(transaction: Transaction<Tables>, row: SessionTable): Promise<StoredSession> {
    const owner = row.owner === null ? undefined : await this.#owner.describe(transaction, row.owner);
    const { parent } = optionsOf(row);
    return {
      sessionId: readableText(row.id),
      createdAt: row.created_at,
      updatedAt: row.updated_at,
      length: row.length,
      ...omitUndefined({ parent, openedBy: owner?.text, openedIn: owner?.id, openedAt: owner?.address }),
      ...(sessionChecksum(row) === row.checksum ? {} : { damage: "its record does not have the checksum it should have" }),
    };
  }

  /** Several statements that see the same state of the tables. */
  #look<Result>(tables: Kysely<Tables>, look: (transaction: Transaction<Tables>) => Promise<Result>): Promise<Result> {
    return tables.transaction().setIsolationLevel("repeatable read").setAccessMode("read only").execute(look);
  }

  async #do<Result>(failure: string, run: (tables: Kysely<Tables>) => Promise<Result>): Promise<Result> {
    try {
      return await this.#connection.attempt(() => run(this.#connection.tables));
    } catch (error: unknown) {
      const explained = this.#connection.explain(error, failure);
      throw this.#connection.isBusy(error) ? await this.#busy(explained) : explained;
    }
  }

  async #others(): Promise<readonly string[]> {
    try {
      return await this.#owner.others(this.#connection.tables);
    } catch {
      return []; // the first error is reported
    }
  }

  /** Names the processes that may have the lock; reading needs none. */
  async #busy(error: ToolError): Promise<ToolError> {
    const others = await this.#others();
    const holders = others.length === 0 ? "a program that has no session open here" : others.join("; ");
    return new ToolError(error.code, `${error.message} The lock is held by ${holders}.`, {
      cause: error,
      hint: "A process that was stopped in the middle of a write holds the lock until it continues or ends. Waiting writes are tried again with the next call.",
    });
  }
}

function optionsOf({ created_at, durability, parent_id, parent_length }: SessionTable): LogOptions {
  const parent = parent_id === null ? {} : { parent: { sessionId: readableText(parent_id), length: parent_length } };
  return { at: created_at, durability: durability === "async" ? "async" : "sync", ...parent };
}

function notFound(sessionId: string): ToolError {
  return new ToolError("not_found", `The store has no session ${JSON.stringify(sessionId)}.`);
}

function damaged(sessionId: string, sound: number, reason: string): ToolError {
  return new ToolError("corrupt_record", `Session ${JSON.stringify(sessionId)} is damaged behind its first ${sound} events (${reason}).`, {
    hint: "Those can be read: export them, and continue in a new session.",
  });
}

function hasBranches(sessionId: string, child: string): ToolError {
  return new ToolError(
    "conflict",
    `Session ${JSON.stringify(sessionId)} cannot be removed: session ${child} branches off it and shares its events.`,
    { hint: "Remove the branch first." },
  );
}
