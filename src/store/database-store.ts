/** A store over a database: the sessions that are open here, the one buffer all of them write through, and queries. */
import { ToolError } from "../core/error.ts";
import type { AccessStore } from "../core/access-store.ts";
import { guardAccess } from "./access-operations.ts";
import type { ApprovalStore } from "../core/approval-store.ts";
import type { JobStore } from "../core/job-store.ts";
import type { SessionQueue } from "../core/session-queue.ts";
import type { StoreFeed } from "../core/store-feed.ts";
import type { ArtifactStore } from "../core/artifact.ts";
import type { LeaseStore } from "../core/lease-store.ts";
import type { WebhookStore } from "../core/webhook-store.ts";
import type { CacheStore, EventLog, EventPage, ListOptions, LogOptions, ReadOptions, Store, StoredSession } from "../core/store.ts";
import { guardParts } from "./store-operations.ts";
import { DatabaseLog, type DatabaseLogParts } from "./database-log.ts";
import { readStoredPage } from "./event-text.ts";
import { guardCache } from "./guarded-cache.ts";
import { FIRST_EPOCH, type LogDatabase, type LogRefusal, type LogWrite } from "./log-database.ts";
import {
  checkCancelRequest,
  checkFeedOptions,
  checkJobList,
  checkJobPrune,
  checkListOptions,
  checkLogOptions,
  checkReadOptions,
  checkUnattended,
} from "./store-options.ts";
import { WriteBuffer } from "./write-buffer.ts";

export interface DatabaseStoreOptions {
  readonly kind: string;
  readonly outlivesProcess: boolean;
  /** Where it is, for messages: `The store /a/b.db`. */
  readonly place: string;
  readonly readOnly: boolean;
  readonly maxBufferedBytes: number;
  /** Closed with the store. */
  readonly queue?: SessionQueue;
}

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
  readonly webhooks: WebhookStore;
  readonly #options: DatabaseStoreOptions;
  readonly #database: LogDatabase;
  readonly #buffer: WriteBuffer;
  readonly #logs = new Map<string, DatabaseLog>();
  /** Sessions that are being claimed. */
  readonly #claims = new Set<string>();
  /** Sessions that were lost here: what was recorded of them since is in no store. */
  readonly #lost = new Map<string, ToolError>();
  #isClosed = false;
  #opening: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(database: LogDatabase, options: DatabaseStoreOptions) {
    this.kind = options.kind;
    this.outlivesProcess = options.outlivesProcess;
    this.queue = options.queue;
    this.#options = options;
    this.#database = database;
    this.#buffer = new WriteBuffer({ commit: (writes) => this.#commit(writes), maxBytes: options.maxBufferedBytes });
    this.cache = guardCache(cacheOf(database), () => this.open());
    this.jobs = this.#jobStore();
    this.access = guardAccess({
      run: (operation) => database.access(operation),
      open: () => this.open(),
      requireWritable: () => this.#requireWritable(),
    });
    this.feed = this.#storeFeed();
    const { approvals, webhooks, artifacts, leases } = guardParts({
      run: (operation) => database.operate(operation),
      open: () => this.open(),
      requireWritable: () => this.#requireWritable(),
    });
    this.approvals = approvals;
    this.webhooks = webhooks;
    this.artifacts = artifacts;
    this.leases = leases;
  }

  /** Other methods open the file as well; call this to learn early of a file that cannot be used. */
  open(): Promise<void> {
    if (this.#isClosed) return Promise.reject(this.#closedError());
    return this.#whenOpen();
  }

  #whenOpen(): Promise<void> {
    this.#opening ??= this.#database.open().catch((error: unknown) => {
      this.#opening = undefined; // what was wrong may be put right
      throw error;
    });
    return this.#opening;
  }

  async #commit(writes: readonly LogWrite[]): Promise<readonly LogRefusal[]> {
    await this.#whenOpen();
    return this.#database.commit(writes);
  }

  create(sessionId: string, options: LogOptions): EventLog {
    this.#requireWritable();
    if (this.#logs.has(sessionId) || this.#claims.has(sessionId)) {
      throw new ToolError("duplicate", `Session ${JSON.stringify(sessionId)} is open already.`, { operatorHint: "Choose another id." });
    }
    const lost = options.parent === undefined ? undefined : this.#lost.get(options.parent.sessionId);
    if (lost !== undefined) throw lost;
    const log = this.#log(sessionId, {
      options: checkLogOptions(options),
      length: options.parent?.length ?? 0,
      epoch: FIRST_EPOCH,
    });
    log.begin();
    this.#logs.set(sessionId, log);
    return log;
  }

  async claim(sessionId: string, { takeOver = false }: { readonly takeOver?: boolean } = {}): Promise<EventLog> {
    this.#requireWritable();
    const open = this.#logs.get(sessionId);
    if (this.#claims.has(sessionId) || (open !== undefined && !takeOver)) throw this.#busy(sessionId);
    open?.lose(new ToolError("conflict", `Session ${JSON.stringify(sessionId)} was claimed again; this log of it can write no more.`));
    this.#claims.add(sessionId);
    try {
      await this.open();
      let answer = await this.#database.claim({ sessionId, takeOver, verified: 0 });
      while (!answer.claimed) answer = await this.#database.claim({ sessionId, takeOver, verified: answer.verified });
      if (this.#isClosed) throw this.#closedError();
      const log = this.#log(sessionId, answer);
      this.#lost.delete(sessionId);
      this.#logs.set(sessionId, log);
      return log;
    } finally {
      this.#claims.delete(sessionId);
    }
  }

  async read(sessionId: string, options: ReadOptions = {}): Promise<EventPage> {
    const { from, limit } = checkReadOptions(options);
    await this.open();
    return readStoredPage(await this.#database.read({ sessionId, from, limit }), from);
  }

  async list(options: ListOptions = {}): Promise<readonly StoredSession[]> {
    const checked = checkListOptions(options);
    await this.open();
    return this.#database.list(checked);
  }

  async announce(address: string): Promise<void> {
    await this.open();
    await this.#database.announce(address);
  }

  async remove(sessionId: string): Promise<boolean> {
    this.#requireWritable();
    if (this.#claims.has(sessionId)) throw this.#busy(sessionId);
    const open = this.#logs.get(sessionId);
    await open?.settle();
    await this.open();
    const wasThere = await this.#database.remove(sessionId);
    open?.lose(new ToolError("store_failed", `Session ${JSON.stringify(sessionId)} was removed; nothing can be added to its log.`));
    return wasThere;
  }

  /** Closes in any case. Rejects with the first thing that could not be written, which is then lost. */
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
      for (const log of this.#logs.values()) log.shut(this.#closedError());
      const wasOpen = await this.#opening?.then(
        () => true,
        () => false,
      );
      if (wasOpen === true) await this.#database.close();
    }
  }

  #jobStore(): JobStore {
    const database = this.#database;
    return {
      list: async (options = {}) => {
        const checked = checkJobList(options);
        await this.open();
        return database.jobList(checked);
      },
      requestCancel: async (request) => {
        const checked = checkCancelRequest(request);
        this.#requireWritable();
        await this.open();
        return database.jobRequestCancel(checked);
      },
      cancelRequests: async () => {
        await this.open();
        return database.jobCancelRequests(undefined);
      },
      unattended: async (options = {}) => {
        const checked = checkUnattended(options);
        await this.open();
        return database.jobUnattended(checked);
      },
      prune: async (options) => {
        const checked = checkJobPrune(options);
        this.#requireWritable();
        await this.open();
        return database.jobPrune(checked);
      },
    };
  }

  #storeFeed(): StoreFeed {
    const database = this.#database;
    return {
      latest: async () => {
        await this.open();
        return database.feedLatest(undefined);
      },
      read: async (options) => {
        const checked = checkFeedOptions(options);
        await this.open();
        return database.feedRead(checked);
      },
    };
  }

  #log(sessionId: string, { options, length, epoch }: Pick<DatabaseLogParts, "options" | "length" | "epoch">): DatabaseLog {
    const log: DatabaseLog = new DatabaseLog({
      sessionId,
      options,
      length,
      epoch,
      buffer: this.#buffer,
      database: this.#database,
      onClose: () => {
        if (log.failure !== undefined) this.#lost.set(sessionId, log.failure);
        if (this.#logs.get(sessionId) === log) this.#logs.delete(sessionId);
      },
    });
    return log;
  }

  #requireWritable(): void {
    if (this.#isClosed) throw this.#closedError();
    if (!this.#options.readOnly) return;
    throw new ToolError("store_failed", `${this.#options.place} was opened for reading only.`, { retryable: false });
  }

  #closedError(): ToolError {
    return new ToolError("store_failed", `${this.#options.place} is closed.`, { retryable: false });
  }

  #busy(sessionId: string): ToolError {
    return new ToolError("resource_busy", `Session ${JSON.stringify(sessionId)} is open in this process, ${process.pid}.`, {
      operatorHint: "Close it there, or claim it with takeOver: what is open there can then write no more.",
    });
  }
}

function cacheOf(database: LogDatabase): CacheStore {
  return {
    get: (key, now) => database.cacheGet({ key, now }),
    versions: (resources) => database.cacheVersions(resources),
    put: (entry) => database.cachePut(entry),
    invalidate: (resources) => database.cacheInvalidate(resources),
  };
}
