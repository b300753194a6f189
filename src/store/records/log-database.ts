/** The operations that a store asks of the database behind it. Everything here is plain data, so that the database may live in another thread. */
import type { CheckedListOptions } from "./store-options.ts";
import type { BranchPoint } from "../../core/event.ts";
import type { ErrorInfo } from "../../core/error.ts";
import type { ProcessDescription, StoredProcess } from "../../core/process-store.ts";
import type { CacheRecord, LogDamage, LogOptions, StoredSession } from "../../core/store.ts";
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

/** The events to write of one session, with others in one transaction. */
export interface LogWrite {
  readonly sessionId: string;
  /** Set for the first write of a new log. */
  readonly create?: LogOptions;
  /** That of the claim which the log was opened with. */
  readonly epoch: number;
  /** Position of the first event. */
  readonly from: number;
  readonly events: readonly EventRow[];
  /** The changes that the events make to the rows of jobs, in order; undefined where there are none. */
  readonly jobs?: readonly JobChange[] | undefined;
  /** The claim is given up with these events, or without any. One that is not held any more is ignored. */
  readonly release?: boolean;
  /** With `release`: the next claim finds that the session was left open. */
  readonly leavesOpen?: boolean;
}

/** A session whose part of a group was left out, because its log can never be written again. */
export interface LogRefusal {
  readonly sessionId: string;
  readonly error: ErrorInfo;
}

export interface ReadRequest {
  readonly sessionId: string;
  readonly from: number;
  readonly limit: number;
}

/** Verified events of a log, from the position that was asked for. */
export interface StoredPage {
  readonly bodies: readonly string[];
  readonly next: number | undefined;
  readonly damage: LogDamage | undefined;
}

export interface ClaimRequest {
  readonly sessionId: string;
  readonly takeOver: boolean;
  /** How many of its events earlier answers said to be sound. */
  readonly verified: number;
}

/** Facts about a session that its claim found. */
export interface ClaimSight {
  /** As in `EventLog`. */
  readonly wasLeftOpen: boolean;
  /** No question of the session was open, and no job of it was to be cancelled. Left out where that was not looked up. */
  readonly isUnasked?: boolean;
  /** The whole log, where it was read with the claim. */
  readonly page?: StoredPage;
}

/** Long logs are verified in several requests, so that other sessions are written in between. */
export type ClaimAnswer =
  | { readonly claimed: false; readonly verified: number }
  | ({ readonly claimed: true; readonly length: number; readonly options: LogOptions; readonly epoch: number } & ClaimSight);

/** Of the creation of a session, which is its first claim. */
export const FIRST_EPOCH = 1;

/** The requests to a database, each with one argument. */
export interface LogRequests {
  /**
   * Writes a group, and resolves when all of it is durable. Where it rejects, each session's part is written whole or not at all.
   *
   * Events that a session already has, from a commit whose answer was lost, are not written again. A session that was claimed by
   * another owner, or is there already, is left out and named.
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
  ask<Method extends keyof LogRequests>(method: Method, ...argument: Parameters<LogRequests[Method]>): Promise<LogAnswer<Method>>;
  /** Gives up every claim and closes. */
  close(): Promise<void>;
}

/** Where the first events of a log come from, as text for messages. */
export function spellBranchPoint({ sessionId, length }: BranchPoint): string {
  return `event ${length} of session ${JSON.stringify(sessionId)}`;
}
