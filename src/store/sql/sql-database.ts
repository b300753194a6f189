/** Sessions, claims and the cache in SQL tables. The statements work on every database that Kysely supports. */
import type { Kysely, Transaction } from "kysely";
import { ToolError } from "../../core/error.ts";
import type { CacheRecord, StoredSession } from "../../core/store/store.ts";
import { sessionChecksum } from "./checksum.ts";
import type { ProcessDescription, StoredProcess } from "../../core/store/process-store.ts";
import type { JobStore } from "../../core/store/job-store.ts";
import { runOperation, type OperationTries, type StoreOperation, type StoreParts } from "../records/store-operations.ts";
import {
  NONE_TO_VERIFY,
  type ClaimAnswer,
  type ClaimRequest,
  type LogAnswer,
  type LogDatabase,
  type LogRefusal,
  type LogRequests,
  type LogWrite,
  type ReadRequest,
  type StoredPage,
} from "../records/log-database.ts";
import type { CheckedListOptions } from "../records/store-options.ts";
import { SqlAccess } from "./sql-access.ts";
import { DoubtfulClaims } from "./doubtful-claims.ts";
import { Batcher } from "../records/batcher.ts";
import { GroupClaims, type ClaimedLog } from "./group-claims.ts";
import { LogReader } from "./log-reader.ts";
import { LogStatements } from "./log-statements.ts";
import { LogWriter } from "./log-writer.ts";
import { requirePart } from "./migrate.ts";
import { Owner } from "./owner.ts";
import type { SqlConnection } from "./sql-connection.ts";
import { SessionClaims, toClaimAnswer, runInSnapshot, toLogOptions, type ClaimRetryState } from "./session-claims.ts";
import { SqlApprovals, removeApprovals } from "./sql-approvals.ts";
import { SqlCache } from "./sql-cache.ts";
import { SqlFeed } from "./sql-feed.ts";
import { listProcesses } from "./sql-processes.ts";
import { SqlJobs } from "./sql-jobs.ts";
import { SqlArtifacts } from "./sql-artifacts.ts";
import { SqlChannels } from "./sql-channels.ts";
import { SqlLeases, removeLeases } from "./sql-leases.ts";
import { SqlWebhooks } from "./sql-webhooks.ts";
import { parseStoredTextOrRaw, toStoredText } from "../records/stored-text.ts";
import type { SessionTable, Tables } from "./tables.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";

export interface SqlDatabaseOptions {
  readonly maxCacheBytes: number;
  /** A separate connection for heartbeats. @default the connection of all other statements */
  readonly heartbeatConnection?: SqlConnection;
  /** Prepares the tables, or throws if they cannot be used. */
  readonly prepare: (connection: SqlConnection) => Promise<void>;
}

export class SqlDatabase implements LogDatabase, LogRequests {
  readonly #connection: SqlConnection;
  readonly #options: SqlDatabaseOptions;
  readonly #reader: LogReader;
  readonly #writer: LogWriter;
  readonly #owner: Owner;
  readonly #cache: SqlCache;
  readonly #parts: StoreParts;
  readonly #channels: SqlChannels;
  readonly #claims: SessionClaims;
  readonly #doubtful: DoubtfulClaims;
  /** Set if the database is reached over a network. */
  readonly #groupClaims: Batcher<string, ReadonlyMap<string, ClaimedLog>> | undefined;

  constructor(connection: SqlConnection, options: SqlDatabaseOptions) {
    const statements = new LogStatements(connection.tables);
    this.#connection = connection;
    this.#options = options;
    this.#reader = new LogReader(connection, statements);
    this.#owner = new Owner(connection);
    this.#writer = new LogWriter({ connection, statements, reader: this.#reader, owner: this.#owner });
    this.#cache = new SqlCache({
      maxBytes: options.maxCacheBytes,
      maxKeyBytes: connection.maxKeyBytes,
      immediate: connection.immediate,
      owner: this.#owner,
    });
    this.#channels = new SqlChannels(connection, this.#owner);
    this.#parts = {
      jobs: new SqlJobs(connection, this.#owner),
      feed: new SqlFeed(connection, this.#owner),
      access: new SqlAccess(connection.tables),
      approvals: new SqlApprovals(connection, this.#owner),
      webhooks: new SqlWebhooks(connection),
      artifacts: new SqlArtifacts(connection),
      leases: new SqlLeases(connection, this.#owner),
      channels: this.#channels,
    };
    const parts = { owner: this.#owner, reader: this.#reader };
    this.#doubtful = new DoubtfulClaims(this.#owner);
    this.#claims = new SessionClaims({ ...parts, onClaim: (sessionId, row) => this.#writer.cacheRecord(sessionId, row) });
    if (connection.groups === undefined) return;
    const claims = new GroupClaims({ ...parts, schema: connection.groups.schema });
    this.#groupClaims = new Batcher((ids) => this.#run("could not claim sessions", (tables) => claims.claim(tables, ids)));
  }

  open(): Promise<void> {
    return this.#run("could not be opened", () => this.#options.prepare(this.#connection));
  }

  request<Method extends keyof LogRequests>(method: Method, ...argument: Parameters<LogRequests[Method]>): Promise<LogAnswer<Method>> {
    return Reflect.apply(this[method], this, argument) as Promise<LogAnswer<Method>>;
  }

  commit(writes: readonly LogWrite[]): Promise<readonly LogRefusal[]> {
    for (const { sessionId, create } of writes) if (create !== undefined) this.#doubtful.remove(toStoredText(sessionId));
    return this.#run("could not be written", (tables) => this.#writer.commit(tables, writes));
  }

  claim(request: ClaimRequest): Promise<ClaimAnswer> {
    const id = toStoredText(request.sessionId);
    return this.#doubtful.runClaim(id, (isDoubtful) => this.#claim(id, request, { wasLeftOpen: isDoubtful }));
  }

  async #claim(id: string, request: ClaimRequest, retryState: ClaimRetryState): Promise<ClaimAnswer> {
    const isAlone = request.takeOver || request.outer !== undefined || (request.verified > 0 && request.verified < NONE_TO_VERIFY);
    const claimed = isAlone ? undefined : (await this.#groupClaims?.add([id]))?.get(id);
    if (claimed === undefined) return this.#run("could not claim a session", (tables) => this.#claims.claim(tables, request, retryState));
    const { row, ...facts } = claimed;
    this.#writer.cacheRecord(request.sessionId, row);
    return toClaimAnswer(row, { ...facts, wasLeftOpen: false }); // it had no owner
  }

  read({ sessionId, from, limit }: ReadRequest): Promise<StoredPage> {
    return this.#run("could not be read", (tables) =>
      runInSnapshot(tables, async (transaction) => {
        const found = await this.#reader.require(transaction, sessionId);
        return this.#reader.read(transaction, found, { from, limit });
      }),
    );
  }

  list({ sessionId, sessionIds, parentId, limit, offset }: CheckedListOptions): Promise<readonly StoredSession[]> {
    if (sessionIds?.length === 0) return Promise.resolve([]);
    return this.#run("could not list its sessions", (tables) =>
      runInSnapshot(tables, async (transaction) => {
        const all = transaction.selectFrom("haft_session").selectAll();
        const named = sessionId === undefined ? all : all.where("id", "=", toStoredText(sessionId));
        const those = sessionIds === undefined ? named : named.where("id", "in", sessionIds.map(toStoredText));
        const children = parentId === undefined ? those : those.where("parent_id", "=", toStoredText(parentId));
        const newest = children.orderBy("updated_at", "desc").orderBy("id");
        const sessions: StoredSession[] = [];
        for (const row of await newest.limit(limit).offset(offset).execute()) sessions.push(await this.#describe(transaction, row));
        return sessions;
      }),
    );
  }

  remove(sessionId: string): Promise<boolean> {
    let existed = false; // a first try may have removed it and lost the answer
    return this.#run("could not remove a session", async (tables) => {
      try {
        return await tables.transaction().execute(async (transaction) => {
          const id = toStoredText(sessionId);
          if (!(await this.#claims.lockSession(transaction, sessionId))) return existed;
          existed = true;
          await this.#remove(transaction, sessionId, id);
          return true;
        });
      } catch (error: unknown) {
        throw this.#connection.isKeyTaken(error) ? branchesExistError(sessionId, "a session that was created just now") : error;
      }
    });
  }

  async #remove(transaction: Transaction<Tables>, sessionId: string, id: string): Promise<void> {
    const child = await transaction.selectFrom("haft_session").select("id").where("parent_id", "=", id).limit(1).executeTakeFirst();
    if (child !== undefined) throw branchesExistError(sessionId, `session ${child.id}`);
    await transaction.deleteFrom("haft_event").where("session", "=", id).execute();
    await transaction.deleteFrom("haft_job").where("session", "=", id).execute();
    await removeApprovals(transaction, id);
    await transaction.deleteFrom("haft_session").where("id", "=", id).execute();
  }

  operate(operation: StoreOperation): Promise<unknown> {
    const tries: OperationTries = { count: 0 };
    return this.#run(describeFailure(operation), async () => {
      tries.count++;
      try {
        return await runOperation(this.#parts, operation, tries);
      } catch (thrown: unknown) {
        const tables = findPartOf(operation);
        if (tables !== undefined) await requirePart(this.#connection, tables);
        throw thrown;
      }
    });
  }

  cacheGet(request: { readonly key: string; readonly now: number }): Promise<string | undefined> {
    return this.#run("could not be read", (tables) => this.#cache.get(tables, request));
  }

  cacheVersions(resources: readonly string[]): Promise<readonly number[]> {
    return this.#run("could not be read", (tables) => this.#cache.versions(tables, resources));
  }

  cachePut(entry: CacheRecord): Promise<void> {
    return this.#run("could not store a result", (tables) => this.#cache.put(tables, entry));
  }

  cacheInvalidate(resources: readonly string[]): Promise<void> {
    return this.#run("could not remove results", (tables) => this.#cache.invalidate(tables, resources));
  }

  announce(description: ProcessDescription): Promise<void> {
    return this.#run("could not register this process", (tables) => this.#owner.announce(tables, description));
  }

  processes(): Promise<readonly StoredProcess[]> {
    return this.#run("could not list its processes", (tables) =>
      requirePart(this.#connection, "processes").then(() =>
        runInSnapshot(tables, (transaction) => listProcesses(transaction, this.#owner)),
      ),
    );
  }

  /** Renews this owner's lease, and releases claims and messages that it may have although the answers were lost. Must be called every `HEARTBEAT_MS`. */
  async sendHeartbeat(): Promise<void> {
    const { heartbeatConnection } = this.#options;
    const sendOnMainConnection = (): Promise<void> =>
      this.#run("could not be marked as in use", (tables) => this.#owner.sendHeartbeat(tables));
    // a server or role that allows no separate connection may still accept the statement on an open one
    await (heartbeatConnection === undefined
      ? sendOnMainConnection()
      : heartbeatConnection.runWithRetries(() => this.#owner.sendHeartbeat(heartbeatConnection.tables)).catch(sendOnMainConnection));
    await this.#run("could not release a claim", (tables) => this.#doubtful.releaseAll(tables));
    await this.#run("could not release a message", () => this.#channels.releaseDoubtful());
  }

  async close(): Promise<void> {
    try {
      await this.#run("could not release its claims", async (tables) => {
        const { id } = this.#owner;
        if (id !== undefined) await removeLeases(tables, id);
        if (id !== undefined) await this.#cache.removeWriterRow(tables);
        await this.#owner.unregister(tables);
      });
    } finally {
      await Promise.all([this.#connection.close(), this.#options.heartbeatConnection?.close()]);
    }
  }

  async #describe(transaction: Transaction<Tables>, row: SessionTable): Promise<StoredSession> {
    const owner = row.owner === null ? undefined : await this.#owner.describe(transaction, row.owner);
    const { parent } = toLogOptions(row);
    return {
      sessionId: parseStoredTextOrRaw(row.id),
      createdAt: row.created_at,
      updatedAt: row.updated_at,
      length: row.length,
      ...omitUndefined({ parent, openedBy: owner?.text, openedIn: owner?.id, openedAt: owner?.address }),
      ...(row.owner !== null && owner === undefined ? { isLeftOpen: true } : {}),
      ...(sessionChecksum(row) === row.checksum ? {} : { damage: "the checksum of its record is wrong" }),
    };
  }

  async #run<Result>(failure: string, run: (tables: Kysely<Tables>) => Promise<Result>): Promise<Result> {
    try {
      return await this.#connection.runWithRetries(() => run(this.#connection.tables));
    } catch (error: unknown) {
      const explained = this.#connection.toStoreError(error, failure);
      throw this.#connection.isLockBusy(error) ? await this.#withLockHolders(explained) : explained;
    }
  }

  async #others(): Promise<readonly string[]> {
    try {
      return await this.#owner.describeOthers(this.#connection.tables);
    } catch {
      return []; // the first error is reported
    }
  }

  /** Adds the processes that may hold the lock to an error; finding them needs no lock. */
  async #withLockHolders(error: ToolError): Promise<ToolError> {
    const others = await this.#others();
    const holders = others.length === 0 ? "a program that has no session open here" : others.join("; ");
    return new ToolError(error.code, `${error.message} The lock is held by ${holders}.`, {
      cause: error,
      hint: "A process that was stopped in the middle of a write holds the lock until it continues or ends. Waiting writes are tried again with the next call.",
    });
  }
}

const JOB_FAILURES: Readonly<Record<keyof JobStore, string>> = {
  list: "could not list its jobs",
  requestCancel: "could not be written",
  cancelRequests: "could not be read",
  unattended: "could not list its jobs",
  prune: "could not remove jobs",
};

function describeFailure({ part, method }: StoreOperation): string {
  if (part === "jobs") return JOB_FAILURES[method];
  if (part === "feed") return "could not be read";
  return part === "access" ? "could not access its keys" : "could not be used";
}

/** The part whose tables an older version may lack; undefined if the part checks that itself. */
function findPartOf({ part, method }: StoreOperation): "access" | "approvals" | "calls" | "channels" | undefined {
  if (part === "jobs" || part === "feed") return undefined;
  if (part === "access") return method === "addCalls" || method === "calls" ? "calls" : "access";
  return part === "channels" ? "channels" : "approvals";
}

function branchesExistError(sessionId: string, child: string): ToolError {
  return new ToolError(
    "conflict",
    `Session ${JSON.stringify(sessionId)} cannot be removed: ${child} branches off it and shares its events.`,
    { hint: "Remove the branch first." },
  );
}
