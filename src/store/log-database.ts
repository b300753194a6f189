/** What a store asks of the database behind it. Everything here is plain data, so that the database may live in another thread. */
import type { BranchPoint } from "../core/event.ts";
import type { ErrorInfo } from "../core/error.ts";
import type { CacheRecord, ListOptions, LogDamage, LogOptions, StoredSession } from "../core/store.ts";
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

/** What is to be written of one session, with others in one transaction. */
export interface LogWrite {
  readonly sessionId: string;
  /** Set for the first write of a new log. */
  readonly create?: LogOptions;
  /** Position of the first event. */
  readonly from: number;
  readonly events: readonly EventRow[];
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

/** Long logs are verified in several requests, so that other sessions are written in between. */
export type ClaimAnswer =
  | { readonly claimed: false; readonly verified: number }
  | { readonly claimed: true; readonly length: number; readonly options: LogOptions };

export interface LogDatabase {
  open(): Promise<void>;
  /**
   * Writes all of a group or nothing, and resolves when it is durable.
   *
   * What a session already has of it, from a commit whose answer was lost, is not written again. A session that was claimed by
   * another owner, or is there already, is left out and named.
   */
  commit(writes: readonly LogWrite[]): Promise<readonly LogRefusal[]>;
  claim(request: ClaimRequest): Promise<ClaimAnswer>;
  /** Gives up claims; those that are not held are passed over. */
  release(sessionIds: readonly string[]): Promise<void>;
  read(request: ReadRequest): Promise<StoredPage>;
  list(options: Required<ListOptions>): Promise<readonly StoredSession[]>;
  remove(sessionId: string): Promise<boolean>;
  cacheGet(request: { readonly key: string; readonly now: number }): Promise<string | undefined>;
  cacheVersions(resources: readonly string[]): Promise<readonly number[]>;
  cachePut(entry: CacheRecord): Promise<void>;
  cacheInvalidate(resources: readonly string[]): Promise<void>;
  /** Gives up every claim and closes. */
  close(): Promise<void>;
}

/** Where the first events of a log come from, as text for messages. */
export function spellBranchPoint({ sessionId, length }: BranchPoint): string {
  return `event ${length} of session ${JSON.stringify(sessionId)}`;
}
