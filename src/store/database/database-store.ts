/** A store over a database: the sessions that are open in this process, the one write buffer that they share, and queries. */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { ToolError } from "../../core/error.ts";
import type { Clock } from "../../core/ports.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import type { AccessStore } from "../../core/store/access-store.ts";
import type { ApprovalStore } from "../../core/store/approval-store.ts";
import type { JobStore } from "../../core/store/job-store.ts";
import { checkProcessDescription, type ProcessDescription, type StoredProcess } from "../../core/store/process-store.ts";
import type { SessionQueue } from "../../core/store/session-queue.ts";
import type { StoreFeed } from "../../core/store/store-feed.ts";
import type { ArtifactStore } from "../../core/artifact.ts";
import type { ChannelStore } from "../../core/store/channel-store.ts";
import type { LeaseStore } from "../../core/store/lease-store.ts";
import type { WebhookStore } from "../../core/store/webhook-store.ts";
import type {
  CacheStore,
  EventLog,
  EventPage,
  ListOptions,
  LogOptions,
  ReadOptions,
  Store,
  StoredSession,
} from "../../core/store/store.ts";
import { NO_FOLLOWER, type StoreChange, type StoreFollower, type StoreNotifier } from "../../core/store/store-changes.ts";
import { guardParts, type StoreOperation } from "../records/store-operations.ts";
import { DatabaseLog, type DatabaseLogOptions } from "./database-log.ts";
import { readStoredPage } from "../records/event-text.ts";
import { Batcher } from "../records/batcher.ts";
import { guardCache } from "../records/guarded-cache.ts";
import {
  FIRST_EPOCH,
  NONE_TO_VERIFY,
  type ClaimRequest,
  type LogDatabase,
  type LogRefusal,
  type LogWrite,
} from "../records/log-database.ts";
import { outerLostError } from "../records/outer-lost-error.ts";
import { checkListOptions, checkLogOptions, checkReadOptions } from "../records/store-options.ts";
import { WriteBuffer } from "./write-buffer.ts";

export interface DatabaseStoreOptions {
  readonly kind: string;
  readonly outlivesProcess: boolean;
  /** Where the store is, for messages: `The store /a/b.db`. */
  readonly place: string;
  readonly readOnly: boolean;
  readonly maxBufferedBytes: number;
  /** @default processes do not notify each other */
  readonly notifier?: StoreNotifier | undefined;
  /** @default the system's clock */
  readonly clock?: Clock;
  /** Whether the database accepts a commit before it has answered the previous one, and runs them in order. @default false */
  readonly acceptsPipelinedCommits?: boolean;
  /** Closed with the store. */
  readonly queue?: SessionQueue;
}

/** How long after a failed close a log is closed again, in milliseconds. */
const CLOSE_AGAIN_MS = 1_000;

/** Methods that change approvals in a way that another process may wait for. */
const NOTIFYING_APPROVAL_METHODS: ReadonlySet<keyof ApprovalStore> = new Set([
  "end",
  "leave",
  "withdrawAbandoned",
  "requestPreview",
  "keepPreview",
]);

/** Methods that change a channel in a way that its readers may wait for. */
const NOTIFYING_CHANNEL_METHODS: ReadonlySet<keyof ChannelStore> = new Set(["send", "release", "end"]);

export class DatabaseStore implements Store {
  readonly kind: string;
  readonly outlivesProcess: boolean;
  readonly cache: CacheStore;
  readonly jobs: JobStore;
  readonly queue: SessionQueue | undefined;
  readonly access: AccessStore;
  readonly approvals: ApprovalStore;
  readonly feed: StoreFeed;
  readonly artifacts: ArtifactStore;
  readonly leases: LeaseStore;
  readonly channels: ChannelStore;
  readonly webhooks: WebhookStore;
  readonly #options: DatabaseStoreOptions;
  readonly #database: LogDatabase;
  readonly #buffer: WriteBuffer;
  readonly #logs = new Map<string, DatabaseLog>();
  readonly #claims = new Set<string>();
  /** Sessions that this process lost, with the error. Events recorded since are in no store. */
  readonly #lostSessions = new Map<string, ToolError>();
  #isClosed = false;
  #opening: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(database: LogDatabase, options: DatabaseStoreOptions) {
    this.kind = options.kind;
    this.outlivesProcess = options.outlivesProcess;
    this.queue = options.queue;
    this.#options = options;
    this.#database = database;
    this.#buffer = new WriteBuffer({
      commit: (writes) => this.#commit(writes),
      maxBytes: options.maxBufferedBytes,
      clock: options.acceptsPipelinedCommits === true ? (options.clock ?? systemPorts.clock) : undefined,
    });
    this.cache = guardCache(createCache(database), () => this.open());
    const { jobs, feed, access, approvals, webhooks, artifacts, leases, channels } = guardParts({
      run: (operation) => this.#operate(operation),
      open: () => this.open(),
      requireWritable: () => this.#requireWritable(),
    });
    this.jobs = this.#batchCancelRequests(jobs);
    this.feed = feed;
    this.access = access;
    this.approvals = {
      ...approvals,
      withdrawAbandoned: async (request) =>
        this.#logs.get(request.sessionId)?.claimFoundNone("questions") === true ? 0 : approvals.withdrawAbandoned(request),
    };
    this.webhooks = webhooks;
    this.artifacts = artifacts;
    this.leases = leases;
    this.channels = channels;
  }

  /** Opens the database. Other methods open it too; call this to find out early if it cannot be used. */
  open(): Promise<void> {
    if (this.#isClosed) return Promise.reject(this.#closedError());
    return this.#whenOpen();
  }

  #whenOpen(): Promise<void> {
    this.#opening ??= this.#database.open().catch((error: unknown) => {
      this.#opening = undefined; // the cause may be fixed, so the next call tries again
      throw error;
    });
    return this.#opening;
  }

  async #commit(writes: readonly LogWrite[]): Promise<readonly LogRefusal[]> {
    await this.#whenOpen();
    const refusals = await this.#database.request("commit", writes);
    this.#options.notifier?.notify({ parts: ["events"], sessionIds: writes.map(({ sessionId }) => sessionId) });
    return refusals;
  }

  async #operate(operation: StoreOperation): Promise<unknown> {
    const answer = await this.#database.request("operate", operation);
    const isChanged = answer !== false && answer !== 0;
    if (isChanged && operation.part === "approvals" && NOTIFYING_APPROVAL_METHODS.has(operation.method))
      this.#options.notifier?.notify({ parts: ["approvals"], sessionIds: [] });
    if (isChanged && operation.part === "channels" && NOTIFYING_CHANNEL_METHODS.has(operation.method)) {
      const { argument } = operation;
      const channel = typeof argument === "string" ? argument : argument.channel;
      this.#options.notifier?.notify({ parts: ["channels"], sessionIds: [], channels: [channel] });
    }
    return answer;
  }

  follow(listener: (change: StoreChange) => void): StoreFollower {
    return this.#options.notifier?.follow(listener) ?? NO_FOLLOWER;
  }

  create(sessionId: string, options: LogOptions): EventLog {
    this.#requireWritable();
    if (this.#logs.has(sessionId) || this.#claims.has(sessionId)) {
      throw new ToolError("duplicate", `Session ${JSON.stringify(sessionId)} is already open.`, { operatorHint: "Choose another id." });
    }
    const lost = options.parent === undefined ? undefined : this.#lostSessions.get(options.parent.sessionId);
    if (lost !== undefined) throw lost;
    const log = this.#createLog(sessionId, {
      options: checkLogOptions(options),
      length: options.parent?.length ?? 0,
      epoch: FIRST_EPOCH,
      seen: { wasLeftOpen: false },
    });
    log.queueCreation();
    this.#lostSessions.delete(sessionId);
    this.#logs.set(sessionId, log);
    return log;
  }

  async claim(
    sessionId: string,
    { takeOver = false, outer: outerLog, unverified = false }: NonNullable<Parameters<Store["claim"]>[1]> = {},
  ): Promise<EventLog> {
    this.#requireWritable();
    const outer = outerLog === undefined ? undefined : this.#findOuter(outerLog);
    const open = this.#logs.get(sessionId);
    if (this.#claims.has(sessionId) || (open !== undefined && !takeOver)) throw this.#busyError(sessionId);
    open?.abandon(new ToolError("conflict", `Session ${JSON.stringify(sessionId)} was claimed again; this log can no longer write to it.`));
    this.#claims.add(sessionId);
    try {
      await this.open();
      const request = { sessionId, takeOver, ...omitUndefined({ outer }) };
      let answer = await this.#database.request("claim", { ...request, verified: unverified ? NONE_TO_VERIFY : 0 });
      while (!answer.claimed) answer = await this.#database.request("claim", { ...request, verified: answer.verified });
      if (this.#isClosed) throw this.#closedError();
      const log = this.#createLog(sessionId, { ...answer, seen: answer });
      this.#lostSessions.delete(sessionId);
      this.#logs.set(sessionId, log);
      return log;
    } finally {
      this.#claims.delete(sessionId);
    }
  }

  /** @throws ToolError `conflict` if the log was lost or closed */
  #findOuter({ sessionId, failure }: EventLog): ClaimRequest["outer"] {
    if (failure !== undefined) throw failure;
    const open = this.#logs.get(sessionId);
    if (open === undefined) throw outerLostError(sessionId);
    return { sessionId, epoch: open.epoch };
  }

  async read(sessionId: string, options: ReadOptions = {}): Promise<EventPage> {
    const { from, limit } = checkReadOptions(options);
    await this.open();
    return readStoredPage(await this.#database.request("read", { sessionId, from, limit }), from);
  }

  async list(options: ListOptions = {}): Promise<readonly StoredSession[]> {
    const checked = checkListOptions(options);
    await this.open();
    return this.#database.request("list", checked);
  }

  async announce(process: ProcessDescription): Promise<void> {
    const checked = checkProcessDescription(process);
    this.#requireWritable();
    await this.open();
    await this.#database.request("announce", checked);
  }

  async processes(): Promise<readonly StoredProcess[]> {
    await this.open();
    return this.#database.request("processes");
  }

  async remove(sessionId: string): Promise<boolean> {
    this.#requireWritable();
    if (this.#claims.has(sessionId)) throw this.#busyError(sessionId);
    const open = this.#logs.get(sessionId);
    await open?.flush();
    await this.open();
    const existed = await this.#database.request("remove", sessionId);
    open?.abandon(new ToolError("conflict", `Session ${JSON.stringify(sessionId)} was removed; nothing can be added to its log.`));
    return existed;
  }

  async writable(): Promise<void> {
    try {
      await this.#buffer.whenWritten();
    } catch (thrown: unknown) {
      const error = ToolError.fromUnknown(thrown, "store_failed");
      if (error.code === "store_failed") throw error; // with any other code a log was refused, so the store itself could be written
    }
    await this.access.forgetRequests(0); // a write that changes no row
  }

  /** Closes in any case. Rejects with the first error of a write; events that could not be written are lost. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#isClosed = true;
    try {
      await this.#buffer.flush();
    } finally {
      await this.queue?.close();
      for (const log of this.#logs.values()) log.forceClose(this.#closedError());
      const wasOpen = await this.#opening?.then(
        () => true,
        () => false,
      );
      await this.#options.notifier?.close();
      if (wasOpen === true) await this.#database.close();
    }
  }

  /** Coalesces concurrent look-ups of cancel requests, and skips the first one for a session whose claim found none. */
  #batchCancelRequests(jobs: JobStore): JobStore {
    const cancelRequests = new Batcher(() => jobs.cancelRequests());
    return {
      ...jobs,
      requestCancel: async (request) => {
        const isNoted = await jobs.requestCancel(request);
        this.#options.notifier?.notify({ parts: ["jobs"], sessionIds: [] });
        return isNoted;
      },
      cancelRequests: async ({ sessionId } = {}) => {
        await this.open();
        const log = sessionId === undefined ? undefined : this.#logs.get(sessionId);
        return log?.claimFoundNone("cancel requests") === true ? [] : cancelRequests.add([]);
      },
    };
  }

  #createLog(
    sessionId: string,
    { options, length, epoch, seen }: Pick<DatabaseLogOptions, "options" | "length" | "epoch" | "seen">,
  ): DatabaseLog {
    const log: DatabaseLog = new DatabaseLog({
      sessionId,
      options,
      length,
      epoch,
      seen,
      buffer: this.#buffer,
      database: this.#database,
      onClose: () => {
        if (log.failure !== undefined) this.#lostSessions.set(sessionId, log.failure);
        if (this.#logs.get(sessionId) === log) this.#logs.delete(sessionId);
      },
      onCloseFailed: () => this.#scheduleClose(log),
    });
    return log;
  }

  /** Closes a log again later, unless it is used meanwhile. Its caller may be gone, and while this process lives no other could claim the session. */
  #scheduleClose(log: DatabaseLog): void {
    const { length } = log;
    const { clock = systemPorts.clock } = this.#options;
    const closeAgain = (): void => {
      if (!this.#isClosed && log.failure === undefined && log.length === length) log.close().catch(() => {}); // a failure schedules the next attempt
    };
    clock.timer(closeAgain, CLOSE_AGAIN_MS, { background: true });
  }

  #requireWritable(): void {
    if (this.#isClosed) throw this.#closedError();
    if (!this.#options.readOnly) return;
    throw new ToolError("store_failed", `${this.#options.place} was opened for reading only.`, { retryable: false });
  }

  #closedError(): ToolError {
    return new ToolError("store_failed", `${this.#options.place} is closed.`, { retryable: false });
  }

  #busyError(sessionId: string): ToolError {
    return new ToolError("resource_busy", `Session ${JSON.stringify(sessionId)} is open in this process, ${process.pid}.`, {
      operatorHint: "Close it there, or claim it with takeOver: the session that is open there can then no longer write.",
    });
  }
}

function createCache(database: LogDatabase): CacheStore {
  return {
    get: (key, now) => database.request("cacheGet", { key, now }),
    versions: (resources) => database.request("cacheVersions", resources),
    put: (entry) => database.request("cachePut", entry),
    invalidate: (resources) => database.request("cacheInvalidate", resources),
  };
}
