/** Sessions in memory: nothing outlives the process, and no write has to be awaited. */
import { ToolError } from "../core/error.ts";
import type { SessionEvent } from "../core/event.ts";
import type { AccessStore } from "../core/store/access-store.ts";
import type { ApprovalStore } from "../core/store/approval-store.ts";
import type { ArtifactStore } from "../core/artifact.ts";
import type { JobStore } from "../core/store/job-store.ts";
import { checkProcessDescription, type ProcessDescription, type StoredProcess } from "../core/store/process-store.ts";
import type { StoreFeed } from "../core/store/store-feed.ts";
import type { CacheStore, EventLog, EventPage, ListOptions, LogOptions, ReadOptions, Store, StoredSession } from "../core/store/store.ts";
import { NO_FOLLOWER, type StoreFollower } from "../core/store/store-changes.ts";
import { MemoryAccess } from "./memory/memory-access.ts";
import type { WebhookStore } from "../core/store/webhook-store.ts";
import { guardParts, runOperation, type StoreParts } from "./records/store-operations.ts";
import { guardCache } from "./records/guarded-cache.ts";
import { formatBranchPoint } from "./records/log-database.ts";
import { outerLostError } from "./records/outer-lost-error.ts";
import { deriveJobChanges } from "./records/job-changes.ts";
import { MemoryArtifacts } from "./memory/memory-artifacts.ts";
import { MemoryApprovals } from "./memory/memory-approvals.ts";
import { systemPorts } from "../core/system/system-ports.ts";
import { MemoryChannels } from "./memory/memory-channels.ts";
import { MemoryCache } from "./memory/memory-cache.ts";
import { MemoryFeed } from "./memory/memory-feed.ts";
import type { ChannelStore } from "../core/store/channel-store.ts";
import type { LeaseStore } from "../core/store/lease-store.ts";
import { MemoryLeases } from "./memory/memory-leases.ts";
import { MemoryProcess } from "./memory/memory-process.ts";
import { MemoryWebhooks } from "./memory/memory-webhooks.ts";
import { createApprovalMessage, createJobMessage } from "./records/webhook-messages.ts";
import { MemoryJobs } from "./memory/memory-jobs.ts";
import { checkListOptions, checkLogOptions, checkReadOptions } from "./records/store-options.ts";

const MAX_CACHE_BYTES = 64 * 1024 * 1024;

/**
 * Keeps sessions while the program holds the store. Events are stored as they are: frozen JSON.
 *
 * `whenDurable` never has to wait. Several runtimes of one process may share the store until one of them is closed, which closes the store too.
 */
export function memoryStore(): Store {
  return new MemoryStore();
}

class MemorySession {
  readonly sessionId: string;
  readonly options: LogOptions;
  /** The session whose events the log begins with. */
  readonly parent: MemorySession | undefined;
  readonly ownEvents: SessionEvent[] = [];
  log: MemoryLog | undefined;
  branches = 0;
  updatedAt: number;

  constructor(sessionId: string, options: LogOptions, parent: MemorySession | undefined) {
    this.sessionId = sessionId;
    this.options = options;
    this.parent = parent;
    this.updatedAt = options.at;
  }

  /** Number of events shared with the parent. */
  get sharedLength(): number {
    return this.options.parent?.length ?? 0;
  }

  get length(): number {
    return this.sharedLength + this.ownEvents.length;
  }

  readPage({ from, limit }: Required<ReadOptions>): EventPage {
    const next = from + limit;
    return { events: Object.freeze(eventsBetween(this, from, next)), next: next > this.length ? undefined : next };
  }
}

/** Returns the events from one position on, up to but not including another. */
function eventsBetween(session: MemorySession, from: number, end: number): readonly SessionEvent[] {
  const parts: (readonly SessionEvent[])[] = [];
  let before = end;
  for (let stored: MemorySession | undefined = session; stored !== undefined && before > from; stored = stored.parent) {
    parts.unshift(stored.ownEvents.slice(Math.max(0, from - 1 - stored.sharedLength), Math.max(0, before - 1 - stored.sharedLength)));
    before = Math.min(before, stored.sharedLength + 1);
  }
  return parts.flat();
}

class MemoryStore implements Store {
  readonly kind = "memory";
  readonly outlivesProcess = false;
  readonly cache: CacheStore = guardCache(new MemoryCache(MAX_CACHE_BYTES), () => this.open());
  readonly #sessions = new Map<string, MemorySession>();
  readonly #access = new MemoryAccess();
  readonly #jobs = new MemoryJobs((sessionId) => this.#sessions.get(sessionId)?.log !== undefined);
  readonly #feed = new MemoryFeed();
  readonly #webhooks = new MemoryWebhooks();
  readonly #approvals = new MemoryApprovals((question) => this.#webhooks.enqueue(createApprovalMessage(question)));
  readonly #artifacts = new MemoryArtifacts();
  readonly #leases = new MemoryLeases();
  readonly #channels = new MemoryChannels(systemPorts.clock);
  readonly #process = new MemoryProcess();
  readonly #parts: StoreParts = guardParts({
    run: (operation) =>
      runOperation(
        {
          jobs: this.#jobs,
          feed: this.#feed,
          access: this.#access,
          approvals: this.#approvals,
          webhooks: this.#webhooks,
          artifacts: this.#artifacts,
          leases: this.#leases,
          channels: this.#channels,
        },
        operation,
      ),
    open: () => this.open(),
    requireWritable: () => this.#requireOpen(),
  });
  readonly jobs: JobStore = this.#parts.jobs;
  readonly feed: StoreFeed = this.#parts.feed;
  readonly access: AccessStore = this.#parts.access;
  readonly approvals: ApprovalStore = this.#parts.approvals;
  readonly webhooks: WebhookStore = this.#parts.webhooks;
  readonly artifacts: ArtifactStore = this.#parts.artifacts;
  readonly leases: LeaseStore = this.#parts.leases;
  readonly channels: ChannelStore = this.#parts.channels;
  #isClosed = false;

  async open(): Promise<void> {
    this.#requireOpen();
  }

  create(sessionId: string, options: LogOptions): EventLog {
    this.#requireOpen();
    if (this.#sessions.has(sessionId)) {
      throw new ToolError("duplicate", `A session ${JSON.stringify(sessionId)} already exists; nothing was written to it.`, {
        operatorHint: `Continue it with runtime.resume(${JSON.stringify(sessionId)}), or choose another id.`,
      });
    }
    const stored = new MemorySession(sessionId, checkLogOptions(options), this.#parentOf(sessionId, options));
    this.#sessions.set(sessionId, stored);
    if (stored.parent !== undefined) stored.parent.branches++;
    return (stored.log = new MemoryLog(stored, { jobs: this.#jobs, webhooks: this.#webhooks, feed: this.#feed }));
  }

  #parentOf(sessionId: string, { parent }: LogOptions): MemorySession | undefined {
    if (parent === undefined) return undefined;
    const stored = this.#sessions.get(parent.sessionId);
    if (stored !== undefined && stored.length >= parent.length) return stored;
    const from = formatBranchPoint(parent);
    throw new ToolError(
      "not_found",
      `Session ${JSON.stringify(sessionId)} was not created: the store does not have ${from}, where it branches off.`,
    );
  }

  async claim(sessionId: string, { takeOver = false, outer }: NonNullable<Parameters<Store["claim"]>[1]> = {}): Promise<EventLog> {
    this.#requireOpen();
    if (outer?.failure !== undefined) throw outer.failure;
    if (outer !== undefined && this.#sessions.get(outer.sessionId)?.log === undefined) throw outerLostError(outer.sessionId);
    const stored = this.#find(sessionId);
    if (stored.log !== undefined && !takeOver) {
      throw new ToolError("resource_busy", `Session ${JSON.stringify(sessionId)} is open in this process, ${process.pid}.`, {
        operatorHint: "Close it there, or claim it with takeOver: the session that is open there can then no longer write.",
      });
    }
    stored.log?.abandon(
      new ToolError("conflict", `Session ${JSON.stringify(sessionId)} was claimed again; this log can no longer write to it.`),
    );
    return (stored.log = new MemoryLog(stored, { jobs: this.#jobs, webhooks: this.#webhooks, feed: this.#feed }));
  }

  async read(sessionId: string, options: ReadOptions = {}): Promise<EventPage> {
    this.#requireOpen();
    return this.#find(sessionId).readPage(checkReadOptions(options));
  }

  async list(options: ListOptions = {}): Promise<readonly StoredSession[]> {
    this.#requireOpen();
    const { limit, offset, sessionId, sessionIds, parentId } = checkListOptions(options);
    const ids = sessionId === undefined ? sessionIds : [sessionId].filter((id) => sessionIds?.includes(id) !== false);
    const named =
      ids === undefined
        ? [...this.#sessions.values()]
        : [...new Set(ids)].map((id) => this.#sessions.get(id)).filter((stored) => stored !== undefined);
    const children = parentId === undefined ? named : named.filter((stored) => stored.options.parent?.sessionId === parentId);
    const sessions = children.sort((one, other) => other.updatedAt - one.updatedAt);
    return sessions.slice(offset, offset + limit).map(({ sessionId, options, updatedAt, length, log }) => ({
      sessionId,
      createdAt: options.at,
      updatedAt,
      length,
      ...(options.parent === undefined ? {} : { parent: options.parent }),
      ...(log === undefined ? {} : { openedBy: `this process, ${process.pid}`, openedIn: this.#process.id }),
    }));
  }

  async remove(sessionId: string): Promise<boolean> {
    this.#requireOpen();
    const stored = this.#sessions.get(sessionId);
    if (stored === undefined) return false;
    if (stored.branches > 0) {
      throw new ToolError(
        "conflict",
        `Session ${JSON.stringify(sessionId)} cannot be removed: other sessions branch off it and share its events.`,
        {
          hint: "Remove the branches first.",
        },
      );
    }
    stored.log?.abandon(new ToolError("conflict", `Session ${JSON.stringify(sessionId)} was removed; nothing can be added to its log.`));
    if (stored.parent !== undefined) stored.parent.branches--;
    this.#jobs.removeSession(sessionId);
    this.#approvals.removeSession(sessionId);
    this.#feed.removeSession(sessionId);
    return this.#sessions.delete(sessionId);
  }

  async announce(description: ProcessDescription): Promise<void> {
    this.#requireOpen();
    this.#process.announce(checkProcessDescription(description));
  }

  async processes(): Promise<readonly StoredProcess[]> {
    this.#requireOpen();
    const open = [...this.#sessions.values()].filter(({ log }) => log !== undefined);
    return this.#process.list(open.toSorted((one, other) => other.updatedAt - one.updatedAt).map(({ sessionId }) => sessionId));
  }

  /** No notifications: runtimes that share the store are notified of everything directly. */
  follow(): StoreFollower {
    return NO_FOLLOWER;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { log } of this.#sessions.values()) await log?.close();
    this.#sessions.clear();
  }

  #find(sessionId: string): MemorySession {
    const stored = this.#sessions.get(sessionId);
    if (stored === undefined) throw new ToolError("not_found", `The store has no session ${JSON.stringify(sessionId)}.`);
    return stored;
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new ToolError("store_failed", "The store in memory is closed.", { retryable: false });
  }
}

/** The parts of the store that are written together with the events of a log. */
interface LogServices {
  readonly jobs: MemoryJobs;
  readonly webhooks: MemoryWebhooks;
  readonly feed: MemoryFeed;
}

class MemoryLog implements EventLog {
  readonly sessionId: string;
  readonly options: LogOptions;
  readonly wasLeftOpen = false; // the log ends with its process
  readonly #session: MemorySession;
  readonly #services: LogServices;
  #failure: ToolError | undefined;
  #isClosed = false;

  constructor(stored: MemorySession, services: LogServices) {
    this.#services = services;
    this.sessionId = stored.sessionId;
    this.options = stored.options;
    this.#session = stored;
  }

  get length(): number {
    return this.#session.length;
  }

  get failure(): ToolError | undefined {
    return this.#failure;
  }

  append(events: readonly SessionEvent[]): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#isClosed)
      throw new ToolError("store_failed", `Session ${JSON.stringify(this.sessionId)} was closed; nothing can be added to its log.`);
    for (const event of events) {
      this.#session.ownEvents.push(event);
      this.#services.feed.add(this.sessionId, this.#session.length);
    }
    for (const change of deriveJobChanges(this.sessionId, events)) {
      this.#services.jobs.apply(this.sessionId, change);
      if (change.type === "end") this.#services.webhooks.enqueue(createJobMessage(this.sessionId, change));
    }
    const last = events.at(-1);
    if (last !== undefined && last.at > this.#session.updatedAt) this.#session.updatedAt = last.at;
  }

  whenDurable(): Promise<void> | undefined {
    return this.#failure === undefined ? undefined : Promise.reject(this.#failure);
  }

  async read(options: ReadOptions = {}): Promise<EventPage> {
    return this.#session.readPage(checkReadOptions(options));
  }

  async close(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    this.#isClosed = true;
    if (this.#session.log === this) this.#session.log = undefined;
  }

  /** Ends the log, because the session was claimed again or removed. */
  abandon(error: ToolError): void {
    this.#failure ??= error;
    if (this.#session.log === this) this.#session.log = undefined;
  }
}
