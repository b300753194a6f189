/** The requests of a store to the database behind it. All arguments are plain data, so that the database may be in another thread. */
import type { CheckedListOptions } from "./store-options.ts";
import type { BranchPoint } from "../../core/event.ts";
import type { ErrorInfo } from "../../core/error.ts";
import type { ProcessDescription, StoredProcess } from "../../core/store/process-store.ts";
import type { CacheRecord, LogDamage, LogOptions, StoredSession } from "../../core/store/store.ts";
import type { StoreOperation } from "./store-operations.ts";
import type { JobChange } from "./job-changes.ts";
import type { JsonPieces } from "./json-pieces.ts";

/** An event as it is written. */
export interface EventRow {
  /** Whole milliseconds since the epoch. */
  readonly at: number;
  readonly type: string;
  readonly callId: string | undefined;
  /** The event as JSON text, whole or in pieces. */
  readonly body: string | JsonPieces;
}

/** The events of one session in a write; several sessions are written in one transaction. */
export interface LogWrite {
  readonly sessionId: string;
  /** Set for the first write of a new log. */
  readonly create?: LogOptions;
  /** The epoch of the claim with which the log was opened. */
  readonly epoch: number;
  /** The position of the first event. */
  readonly from: number;
  readonly events: readonly EventRow[];
  /** The changes that the events make to the rows of jobs, in order; undefined if there are none. */
  readonly jobs?: readonly JobChange[] | undefined;
  /** Whether to release the claim after the events, if any. Ignored if the claim is not held any more. */
  readonly release?: boolean;
  /** With `release`: whether the next claim will find the session left open. */
  readonly leavesOpen?: boolean;
}

/** A session that was left out of a group, because its log can never be written again. */
export interface LogRefusal {
  readonly sessionId: string;
  readonly error: ErrorInfo;
}

export interface ReadRequest {
  readonly sessionId: string;
  readonly from: number;
  readonly limit: number;
}

/** Verified events of a log, from the requested position. */
export interface StoredPage {
  readonly bodies: readonly string[];
  readonly next: number | undefined;
  readonly damage: LogDamage | undefined;
}

export interface ClaimRequest {
  readonly sessionId: string;
  readonly takeOver: boolean;
  /** Another log that this owner has claimed, with the epoch of that claim; nothing is claimed if the epoch has changed. */
  readonly outer?: { readonly sessionId: string; readonly epoch: number };
  /** Number of events that earlier answers reported as sound; `NONE_TO_VERIFY` if none has to be verified. */
  readonly verified: number;
}

/** More events than any log has. */
export const NONE_TO_VERIFY: number = Number.MAX_SAFE_INTEGER;

/** Facts about a session, found by its claim. */
export interface ClaimFacts {
  /** As in `EventLog`. */
  readonly wasLeftOpen: boolean;
  /** True if the session had no open question, and no job with a cancel request. Undefined if that was not looked up. */
  readonly isUnasked?: boolean;
  /** The whole log, if it was read with the claim. */
  readonly page?: StoredPage;
}

/** Long logs are verified in several requests, so that other sessions can be written in between. */
export type ClaimAnswer =
  | { readonly claimed: false; readonly verified: number }
  | ({ readonly claimed: true; readonly length: number; readonly options: LogOptions; readonly epoch: number } & ClaimFacts);

/** The epoch of a new session: its creation is its first claim. */
export const FIRST_EPOCH = 1;

/** The requests to a database, each with one argument. */
export interface LogRequests {
  /**
   * Writes a group, and resolves when all of it is durable. If it rejects, each session's part is written completely or not at all.
   *
   * Events that a session already has, from a commit whose answer was lost, are not written again. A session that another owner has claimed, or a new
   * session that already exists, is left out and returned.
   */
  commit(writes: readonly LogWrite[]): Promise<readonly LogRefusal[]>;
  claim(request: ClaimRequest): Promise<ClaimAnswer>;
  read(request: ReadRequest): Promise<StoredPage>;
  list(options: CheckedListOptions): Promise<readonly StoredSession[]>;
  remove(sessionId: string): Promise<boolean>;
  operate(operation: StoreOperation): Promise<unknown>;
  cacheGet(request: { readonly key: string; readonly now: number }): Promise<string | undefined>;
  cacheVersions(resources: readonly string[]): Promise<readonly number[]>;
  cachePut(entry: CacheRecord): Promise<void>;
  cacheInvalidate(resources: readonly string[]): Promise<void>;
  announce(description: ProcessDescription): Promise<void>;
  processes(): Promise<readonly StoredProcess[]>;
}

export type LogAnswer<Method extends keyof LogRequests> = Awaited<ReturnType<LogRequests[Method]>>;

/** A database behind a store, in this thread or in another. */
export interface LogDatabase {
  open(): Promise<void>;
  request<Method extends keyof LogRequests>(method: Method, ...argument: Parameters<LogRequests[Method]>): Promise<LogAnswer<Method>>;
  /** Releases every claim and closes. */
  close(): Promise<void>;
}

/** Describes where the first events of a log come from, for messages. */
export function formatBranchPoint({ sessionId, length }: BranchPoint): string {
  return `event ${length} of session ${JSON.stringify(sessionId)}`;
}
