/** The seam for persistent sessions: event logs, the claims on them, and the persistent cache. */
import type { ToolError } from "../error.ts";
import type { AccessStore } from "./access-store.ts";
import type { ApprovalStore } from "./approval-store.ts";
import type { ArtifactStore } from "../artifact.ts";
import type { ChannelStore } from "./channel-store.ts";
import type { BranchPoint, SessionEvent } from "../event.ts";
import type { JobStore } from "./job-store.ts";
import type { LeaseStore } from "./lease-store.ts";
import type { ProcessDescription, StoredProcess } from "./process-store.ts";
import type { StoreChange, StoreFollower } from "./store-changes.ts";
import type { SessionQueue } from "./session-queue.ts";
import type { StoreFeed } from "./store-feed.ts";
import type { WebhookStore } from "./webhook-store.ts";

/**
 * Keeps the event logs of sessions.
 *
 * Writes go synchronously into a buffer; buffered writes are committed together, in the order written, and `EventLog.whenDurable` waits for the
 * commit. Every store passes `storeContract` of `haft/testing`.
 */
export interface Store {
  /** The kind of store, such as `memory` or `sqlite`. */
  readonly kind: string;
  /** Whether durable data survives the process. If false, calls do not wait for durability. */
  readonly outlivesProcess: boolean;
  /**
   * Makes the store usable; idempotent. Other methods open the store themselves, and `create` and `append` need not wait for it: call `open` to learn
   * early that a store cannot be used.
   *
   * @throws ToolError `store_failed`, `corrupt_record` for a damaged or newer file
   */
  open(): Promise<void>;
  /**
   * Begins the log of a new session, claimed by this store object. If the id is taken, `whenDurable` rejects with `duplicate` when the log is first
   * made durable, and nothing of the new log is kept.
   *
   * @throws ToolError `duplicate` at once if this store object itself has the session
   */
  create(sessionId: string, options: LogOptions): EventLog;
  /**
   * Claims an existing log and opens it for reading and writing. The earlier owner can no longer write.
   *
   * @param options.outer a log that this store has open, such as that of the session with the call that began this session: nothing is claimed once
   * another process has claimed that log. This is checked together with the claim, so that a process that was suspended cannot take a session back
   * from its new owner.
   * @param options.unverified the log is claimed only to be removed: a store that verifies logs while it claims them may leave that out
   * @throws ToolError `not_found`; `resource_busy` if a living process has claimed the log, unless `takeOver`; `conflict` if `outer` is not open here
   * any more; `corrupt_record` if the log is damaged: `read` still reads it
   */
  claim(
    sessionId: string,
    options?: { readonly takeOver?: boolean; readonly outer?: EventLog | undefined; readonly unverified?: boolean },
  ): Promise<EventLog>;
  /** Reads the durable events of a log without claiming it. @throws ToolError `not_found` */
  read(sessionId: string, options?: ReadOptions): Promise<EventPage>;
  /** Returns sessions by the time of their last event, newest first. */
  list(options?: ListOptions): Promise<readonly StoredSession[]>;
  /**
   * Deletes a session's log and claim. Resolves to whether the session existed. An open log of this store object is lost.
   *
   * @throws ToolError `resource_busy` while another process has claimed the session; `conflict` while another session branches off it
   */
  remove(sessionId: string): Promise<boolean>;
  /** Results that outlive the process. */
  readonly cache: CacheStore;
  /** The API keys of servers that use the store, and the requests that those servers refused. */
  readonly access: AccessStore;
  /** The background jobs of its sessions. */
  readonly jobs: JobStore;
  /** Assigns sessions with unended jobs to processes that run them. Left out by a store for one machine. */
  readonly queue?: SessionQueue | undefined;
  /** Approval questions, their answers, and the rules that answer later questions. */
  readonly approvals: ApprovalStore;
  /** The order in which events of all sessions became durable. */
  readonly feed: StoreFeed;
  /** Files that events refer to, addressed by their content. */
  readonly artifacts: ArtifactStore;
  /** The leases of calls to shared toolsets. */
  readonly leases: LeaseStore;
  /** Messages on channels. Left out by a store that persists nothing: channels are then kept in memory. */
  readonly channels?: ChannelStore | undefined;
  /** Webhooks waiting to be delivered. */
  readonly webhooks: WebhookStore;
  /**
   * Adds to the description of this process that other processes can read, and lists the process in `processes` until it closes. The sessions that it
   * has open are listed with its address as `openedAt`. Fields announced before and left out now are kept.
   *
   * @throws ToolError `invalid_argument`
   */
  announce(process: ProcessDescription): Promise<void>;
  /**
   * Returns the processes that use the store, the longest running first: those that announced themselves or have a session open, and those that ended
   * without closing in the last day.
   */
  processes(): Promise<readonly StoredProcess[]>;
  /**
   * Calls the listener when another process may have written data that this one waits for. This is only a hint: it may come late, without need or not
   * at all, so a listener reads the data itself and also polls from time to time.
   */
  follow(listener: (change: StoreChange) => void): StoreFollower;
  /**
   * Resolves when the store accepts writes and everything appended so far is durable. If left out, a write that changes nothing is made instead.
   *
   * @throws ToolError `store_failed` if the store does not accept writes, for example because the disk is full, as a rejection
   */
  writable?(): Promise<void>;
  /** Writes the buffer, releases every claim and closes the store. Idempotent. */
  close(): Promise<void>;
}

/** Options for creating a session's log. */
export interface LogOptions {
  /** Wall-clock milliseconds since the epoch. */
  readonly at: number;
  /** With `async`, no call waits until its intent is durable, so a call without a recorded intent may have been dispatched. */
  readonly durability: "sync" | "async";
  /**
   * The parent whose events the log begins with. They are shared, not copied: the log's `length` starts at `parent.length`, and reading from position
   * 1 returns them first. `whenDurable` rejects with `not_found` if the store does not have them.
   */
  readonly parent?: BranchPoint;
}

/** One session's log, claimed for writing. */
export interface EventLog {
  readonly sessionId: string;
  readonly options: LogOptions;
  /** Number of events, durable or not, including those of the parent. */
  readonly length: number;
  /** Whether the last process that had the session open died without closing it: some of its calls may have no result. */
  readonly wasLeftOpen: boolean;
  /** Why the log is lost; undefined while it is not. Once set, nothing more is written, and `append` and `whenDurable` fail with it. */
  readonly failure: ToolError | undefined;
  /**
   * Appends events, synchronously, to the buffer. Events must be frozen JSON. The events of one call become durable together or not at all.
   *
   * @throws ToolError and keeps none of the events: `store_failed` if the log is closed or too much is buffered, `not_json` and `too_large` for
   * events that could not be read back, or the error that lost the log (see `whenDurable`)
   */
  append(events: readonly SessionEvent[]): void;
  /**
   * Resolves when everything appended so far is durable. Returns undefined if it already is, or if this store does not wait for it.
   *
   * Rejects with ToolError: `store_failed` if the data cannot be written now (full disk, I/O): it stays buffered, in order, and the next write or
   * wait tries again; `conflict` if another process has claimed the log, `duplicate` if the session was created twice, `corrupt_record` if the stored
   * log is damaged: in these cases the log and its buffer are lost.
   */
  whenDurable(): Promise<void> | undefined;
  /**
   * Asks the store whether this object still owns the log, and makes what was appended durable. Rejects like `whenDurable`, with `conflict` if
   * another process has claimed or removed the session. Left out by a store for one process, whose `failure` is always current.
   */
  confirm?(): Promise<void>;
  /** Reads events from a position on, including buffered ones. Rejects with `conflict` if another process has removed the stored events. */
  read(options?: ReadOptions): Promise<EventPage>;
  /**
   * From now on, `close` leaves the log as a crash of this process would: the next claim, by any process, finds that it was left open. Left out by a
   * store that ends with its process.
   */
  leaveOpen?(): void;
  /** Writes the buffer and releases the claim. Idempotent. Rejects like `whenDurable`. */
  close(): Promise<void>;
}

/** The range of events to read from a log. */
export interface ReadOptions {
  /** Position of the first event; positions start at 1. @default 1 */
  readonly from?: number;
  /** Maximum number of events in a page. Integer ≥ 1. @default 1_000 */
  readonly limit?: number;
}

/** A page of events from a log. */
export interface EventPage {
  /** In order, each frozen JSON whose checksum was verified. */
  readonly events: readonly SessionEvent[];
  /** The position to continue reading from; undefined at the end of the log. */
  readonly next: number | undefined;
  /** Set if the next event is damaged: nothing after it can be read. */
  readonly damage?: LogDamage;
}

/** Where and how a log is damaged. */
export interface LogDamage {
  /** Position of the first event that cannot be trusted. */
  readonly position: number;
  readonly reason: string;
  /** Set if the event is not damaged, but of a type that this version of Haft does not know. */
  readonly isNewer?: boolean;
}

/** A store's record of a session, available without reading its log. */
export interface StoredSession {
  readonly sessionId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Number of events in the log, including those of the parent. */
  readonly length: number;
  readonly parent?: BranchPoint;
  /** Set if this record, including the id, does not match its checksum. */
  readonly damage?: string;
  /** Describes the process that has the session open now; undefined if none has. */
  readonly openedBy?: string;
  /** The id of that process in `processes`. */
  readonly openedIn?: string;
  /** The address of another process that has the session open, if that process announced one. */
  readonly openedAt?: string;
  /** Set if the last process that had the session open died without closing it: some of its calls may have no result. */
  readonly isLeftOpen?: true;
}

/** Which sessions a store lists. */
export interface ListOptions {
  /** Only this session. */
  readonly sessionId?: string;
  /** Only these sessions, as far as they exist; at most 500 ids. */
  readonly sessionIds?: readonly string[];
  /** Only sessions that branch off this one. */
  readonly parentId?: string;
  /** Maximum number of sessions. Integer ≥ 1. @default 100 */
  readonly limit?: number;
  /** How many sessions to skip. @default 0 */
  readonly offset?: number;
}

/**
 * Cached results and the generations of the resources they were read from, shared by all processes that use the store.
 *
 * If a process that had invalidated entries is found to have ended without closing, all entries become invalid: it may have written unreported data.
 */
export interface CacheStore {
  /**
   * Returns the body stored under a key if it has not expired and the versions of its resources are unchanged; else undefined. An entry that has an
   * end and was stored more than a minute after `now` has expired too: the clock was set back.
   */
  get(key: string, now: number): Promise<string | undefined>;
  /** Returns the current version of each resource, to be passed to `put` after the read. */
  versions(resources: readonly string[]): Promise<readonly number[]>;
  /** Stores a body, unless the version of one of its resources has changed since. */
  put(entry: CacheRecord): Promise<void>;
  /** Invalidates every entry that read one of these resources, or a resource inside or around one. */
  invalidate(resources: readonly string[]): Promise<void>;
}

/** A cached result, as a store keeps it. */
export interface CacheRecord {
  readonly key: string;
  readonly body: string;
  readonly resources: readonly string[];
  readonly versions: readonly number[];
  readonly storedAt: number;
  /** Wall-clock milliseconds since the epoch; undefined if the entry never expires. */
  readonly expiresAt: number | undefined;
}
