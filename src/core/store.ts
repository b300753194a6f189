/** The seam behind which sessions outlive their process: event logs, the claims on them, and the persistent cache. */
import type { ToolError } from "./error.ts";
import type { AccessStore } from "./access-store.ts";
import type { ApprovalStore } from "./approval-store.ts";
import type { ArtifactStore } from "./artifact.ts";
import type { ChannelStore } from "./channel-store.ts";
import type { BranchPoint, SessionEvent } from "./event.ts";
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
 * Writing is synchronous into a buffer; what is buffered is committed together, in the order written, and
 * `EventLog.whenDurable` waits for that. Every store passes `storeContract` of `haft/testing`.
 */
export interface Store {
  /** `memory`, `sqlite`. */
  readonly kind: string;
  /** True when what is durable survives the process. Calls do not wait for a store that keeps nothing. */
  readonly outlivesProcess: boolean;
  /**
   * Makes the store usable; idempotent. Other methods do this as well, and `create` and `append` need not wait for it: call it to
   * learn early of a store that cannot be used.
   *
   * @throws ToolError `store_failed`, `corrupt_record` for a damaged or newer file
   */
  open(): Promise<void>;
  /**
   * Begins the log of a new session, claimed by this store object. An id that is taken shows when the log is first made
   * durable: `whenDurable` rejects with `duplicate`, and nothing of the new log is kept.
   *
   * @throws ToolError `duplicate` at once when this object itself has the session
   */
  create(sessionId: string, options: LogOptions): EventLog;
  /**
   * Claims an existing log and opens it for reading and writing. The earlier owner can write no more.
   *
   * @throws ToolError `not_found`; `resource_busy` when it is claimed by a living process, unless `takeOver`; `corrupt_record` when its
   * log is damaged: it can still be read
   */
  claim(sessionId: string, options?: { readonly takeOver?: boolean }): Promise<EventLog>;
  /** Reads a log without claiming it, up to what is durable. @throws ToolError `not_found` */
  read(sessionId: string, options?: ReadOptions): Promise<EventPage>;
  /** Sessions by the time of their last event, the newest first. */
  list(options?: ListOptions): Promise<readonly StoredSession[]>;
  /**
   * Forgets a session's log and claim. Resolves to whether there was one. A log of this object is lost with it.
   *
   * @throws ToolError `resource_busy` while it is claimed elsewhere; `conflict` while another session branches off it
   */
  remove(sessionId: string): Promise<boolean>;
  /** Results that outlive the process. */
  readonly cache: CacheStore;
  /** The keys of servers over its sessions, and the requests that they refused. */
  readonly access: AccessStore;
  /** The background jobs of its sessions. */
  readonly jobs: JobStore;
  /** Brings sessions with unended jobs to processes that run them. Left out by a store of one machine. */
  readonly queue?: SessionQueue | undefined;
  /** The questions that wait for a yes, what was answered, and the rules that answer later ones. */
  readonly approvals: ApprovalStore;
  /** The order in which the events of all sessions became durable. */
  readonly feed: StoreFeed;
  /** Files that events refer to, by their content. */
  readonly artifacts: ArtifactStore;
  /** The leases of calls of shared toolsets. */
  readonly leases: LeaseStore;
  /** Messages on channels. Left out by a store that keeps nothing: channels are in memory then. */
  readonly channels?: ChannelStore | undefined;
  /** Webhooks that wait to be delivered. */
  readonly webhooks: WebhookStore;
  /**
   * Adds to the description of this process that others read, and lists it among `processes` until it closes. The sessions that it has open are listed
   * with the address as `openedAt`. What was announced before and is left out stays.
   *
   * @throws ToolError `invalid_argument`
   */
  announce(process: ProcessDescription): Promise<void>;
  /**
   * The processes that use the store, the longest running first: those that announced themselves or have a session open, and those of the last
   * day that ended without closing.
   */
  processes(): Promise<readonly StoredProcess[]>;
  /**
   * Calls a listener when another process may have written something that is waited for. A hint: it may come late, for nothing or not at all,
   * so a listener reads what it follows, and looks for it from time to time as well.
   */
  follow(listener: (change: StoreChange) => void): StoreFollower;
  /**
   * Resolves when the store takes writes and all that was appended so far is durable. A store may leave it out: it is then asked for a write that changes
   * nothing.
   *
   * @throws ToolError `store_failed` where it does not, as with a disk that is full; by rejecting
   */
  writable?(): Promise<void>;
  /** Writes what is buffered, gives up every claim and closes. Idempotent. */
  close(): Promise<void>;
}

/** How the log of a session is made. */
export interface LogOptions {
  /** Wall-clock milliseconds since the epoch. */
  readonly at: number;
  /** `async`: no call waits for its intent, so a call without one may have been dispatched. */
  readonly durability: "sync" | "async";
  /**
   * The log begins with so many events of its parent, which are shared, not copied: its `length` starts there, and reading it from
   * position 1 gives them first. `whenDurable` rejects with `not_found` when the store does not have them.
   */
  readonly parent?: BranchPoint;
}

/** One session's log, claimed for writing. */
export interface EventLog {
  readonly sessionId: string;
  readonly options: LogOptions;
  /** How many events there are, durable or not, those of its parent included. */
  readonly length: number;
  /** Whether the process that had the session open before it was claimed was gone and had not closed it: calls of it may have no result. */
  readonly wasLeftOpen: boolean;
  /** Why the log is lost, from when that is known on: nothing more of it is written, and `append` and `whenDurable` fail with it. */
  readonly failure: ToolError | undefined;
  /**
   * Adds events at the end; synchronous, into the buffer. They are frozen JSON. The events of one call become durable together or not at all.
   *
   * @throws ToolError and keeps none of them: `store_failed` when the log is closed or too much waits to be written, `not_json` and
   * `too_large` for what could not be read back, or what lost the log (see `whenDurable`)
   */
  append(events: readonly SessionEvent[]): void;
  /**
   * Resolves when everything appended so far is durable; undefined when it is already, or never will be waited for.
   *
   * Rejects with ToolError: `store_failed` when it cannot be written now (full disk, I/O): it stays buffered, in order,
   * and is tried again with the next write or wait; `conflict` once another process has claimed the log, `duplicate`
   * when it was created twice, `corrupt_record` when what is stored of it is damaged: then what is buffered is lost and so is the log.
   */
  whenDurable(): Promise<void> | undefined;
  /**
   * Asks the store whether the log is still this object's. What was appended is made durable with it. Rejects as `whenDurable`, with
   * `conflict` once another process has claimed or removed the session. Left out by a store of one process, where `failure` says it at once.
   */
  confirm?(): Promise<void>;
  /** Events from a position on, what is only buffered included. Rejects with `conflict` where another process has removed what the store had of it. */
  read(options?: ReadOptions): Promise<EventPage>;
  /**
   * From now on, `close` leaves the log as the end of this process would: the next claim of it, by whatever process, finds that it was left open.
   * Left out by a store that ends with its process.
   */
  leaveOpen?(): void;
  /** Writes what is buffered and gives up the claim. Idempotent. Rejects as `whenDurable` does. */
  close(): Promise<void>;
}

/** Which events of a log are read. */
export interface ReadOptions {
  /** Position of the first event; they count from 1. @default 1 */
  readonly from?: number;
  /** Most events of a page. Integer ≥ 1. @default 1_000 */
  readonly limit?: number;
}

/** Some events of a log, in order. */
export interface EventPage {
  /** In order, each frozen JSON whose checksum was verified. */
  readonly events: readonly SessionEvent[];
  /** Where to read on; undefined at the end of the log. */
  readonly next: number | undefined;
  /** Set when the next event is damaged: nothing beyond it can be read. */
  readonly damage?: LogDamage;
}

/** A damage in a log, and its place. */
export interface LogDamage {
  /** Position of the first event that cannot be trusted. */
  readonly position: number;
  readonly reason: string;
  /** Nothing is damaged: the event is of a type that this version of Haft does not know. */
  readonly isNewer?: boolean;
}

/** A store's record of a session, known without reading its log. */
export interface StoredSession {
  readonly sessionId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** How many events its log has, those of its parent included. */
  readonly length: number;
  readonly parent?: BranchPoint;
  /** Set when what is said here of the session, its id included, does not have the checksum it should have. */
  readonly damage?: string;
  /** The process that has it open now, as text; undefined when none has. */
  readonly openedBy?: string;
  /** The id of that process among `processes`. */
  readonly openedIn?: string;
  /** Where another process that has it open is reached, where that one announced an address. */
  readonly openedAt?: string;
  /** Set where the process that had it open last is gone and did not close it: calls of it may have no result. */
  readonly isLeftOpen?: true;
}

/** Which sessions of a store are listed. */
export interface ListOptions {
  /** This session only. */
  readonly sessionId?: string;
  /** Those of these sessions that there are, at most 500. */
  readonly sessionIds?: readonly string[];
  /** Those that branch off this session only. */
  readonly parentId?: string;
  /** Most sessions. Integer ≥ 1. @default 100 */
  readonly limit?: number;
  /** How many to pass over. @default 0 */
  readonly offset?: number;
}

/**
 * Cached results and the generations of the resources they were read from, shared by all that use the store.
 *
 * Where processes share it, everything that was kept becomes invalid once one of them that invalidated something is found to have ended without
 * closing: it may have written more than it said.
 */
export interface CacheStore {
  /** The body kept under a key, when it has not expired and the versions of its resources are what they were; else undefined. */
  get(key: string, now: number): Promise<string | undefined>;
  /** The version of each resource now, to be handed to `put` after the read. */
  versions(resources: readonly string[]): Promise<readonly number[]>;
  /** Keeps a body. Nothing is kept when a resource's version has moved on since. */
  put(entry: CacheRecord): Promise<void>;
  /** Makes every entry that read one of these resources, something inside it or something around it, invalid. */
  invalidate(resources: readonly string[]): Promise<void>;
}

/** One result of a cache as a store keeps it. */
export interface CacheRecord {
  readonly key: string;
  readonly body: string;
  readonly resources: readonly string[];
  readonly versions: readonly number[];
  readonly storedAt: number;
  /** Wall-clock milliseconds since the epoch; undefined = never. */
  readonly expiresAt: number | undefined;
}
