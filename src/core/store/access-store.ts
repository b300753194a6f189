/** The seam for API keys, refused requests, calls outside any session, and first answers to keyed requests, shared by all processes of a store. */
import type { JsonObject } from "../base/json.ts";
import type { ResultStatus } from "../result.ts";

/**
 * Stores API keys, refused requests, calls that are in no session's log, and requests with an `Idempotency-Key`.
 *
 * A key is stored as a hash of its secret, never as the secret. Every store passes `accessStoreContract` of `haft/testing`.
 */
export interface AccessStore {
  /**
   * Stores a new key, and deletes session keys that expired more than a day before it was created. Adding the same key again changes nothing.
   *
   * @throws ToolError `duplicate` if the id is taken, as a rejection
   */
  addKey(key: StoredKey): Promise<void>;
  /** Returns a key, even if it has expired or was revoked; undefined if the id does not exist. */
  key(id: string): Promise<StoredKey | undefined>;
  /** Returns keys, newest first. */
  keys(query?: KeyQuery): Promise<readonly StoredKey[]>;
  /** Revokes a key for good. Resolves to whether it existed and was not revoked; the time of the first revocation is kept. */
  revokeKey(request: RevokeKeyRequest): Promise<boolean>;
  /** Stores refused requests, in order; beyond 10,000 the oldest are deleted. */
  addRefusals(refusals: readonly RefusedRequest[]): Promise<void>;
  /** Returns refused requests, newest first. */
  refusals(query?: RefusalQuery): Promise<readonly RefusedRequest[]>;
  /** Stores calls, in order. Beyond `keep`, those stored first are deleted; a store in memory keeps at most 10,000. */
  addCalls(added: { readonly calls: readonly AuditedCall[]; readonly keep: number }): Promise<void>;
  /** Returns a page of calls, those that began last first. */
  calls(query?: AuditedCallQuery): Promise<AuditedCallPage>;
  /**
   * Records that a holder begins a keyed request, atomically: of several holders, in any number of processes, one succeeds. Resolves to undefined if
   * the holder now holds the request: because it did already, or the key has no record, or the record is older than a day, or the record has the same
   * fingerprint and no answer and either no hold or the hold given as `after`. Otherwise resolves to the record. Records younger than a day are never
   * dropped, however many there are.
   *
   * @throws ToolError `unavailable` if no more records fit, as a rejection
   */
  beginRequest(request: NewKeyedRequest): Promise<KeyedRequest | undefined>;
  /** Counts a heartbeat of the holder, which shows others that it is still working. Resolves to whether it still holds the request. */
  holdRequest(request: { readonly key: string; readonly holder: string }): Promise<boolean>;
  /** Releases a request without an answer, so that it can be begun again at once. */
  releaseRequest(request: { readonly key: string; readonly holder: string }): Promise<void>;
  /** Stores the answer to a begun request, unless it already has one, to which it then resolves. Does nothing for a key without a record. */
  answerRequest(request: { readonly key: string; readonly answer: string }): Promise<string | undefined>;
  /** Deletes requests begun before a time. */
  forgetRequests(before: number): Promise<void>;
}

/** A request with an `Idempotency-Key`. Plain JSON. */
interface RequestRecord {
  /** Unique for principal, route and the client's key. */
  readonly key: string;
  /** Digest of the content: another digest means another request. */
  readonly fingerprint: string;
  readonly at: number;
}

/** A request with an `Idempotency-Key`, at its beginning. */
export interface NewKeyedRequest extends RequestRecord {
  /** Unique for this attempt. */
  readonly holder: string;
  /** A hold without heartbeats for so long that its process must have ended: it is taken over if it has not changed. */
  readonly after?: RequestHold;
}

/** A request with an `Idempotency-Key` that was begun. */
export interface KeyedRequest extends RequestRecord {
  /** The first answer. Left out until there is one. */
  readonly answer?: string;
  /** The attempt that is running, or whose process ended. Left out if there is an answer, or no attempt is running. */
  readonly hold?: RequestHold;
}

/** The hold of an attempt on its request. `beats` increases while the attempt is running. */
export interface RequestHold {
  readonly holder: string;
  readonly beats: number;
}

/** How long a keyed request is kept, in milliseconds. */
export const KEYED_REQUEST_RETENTION_MS = 86_400_000;

/** Maximum number of refused requests kept. */
export const MAX_REFUSALS = 10_000;

/** A server's API key, as a store keeps it. Plain JSON. */
export interface StoredKey {
  /** The public part, which identifies the key in lists and events. */
  readonly id: string;
  /** The name given by the person who created it. */
  readonly name: string;
  /** Random, in hex, so that equal secrets have different hashes. */
  readonly salt: string;
  /** SHA-256 of salt and secret, in hex. */
  readonly hash: string;
  readonly scopes: readonly string[];
  /** Patterns for qualified names: the tools that the key may see and call, within the rules of the server. @default all of those */
  readonly allow?: readonly string[];
  /** Patterns of tools that the key may not see; overrides `allow`. */
  readonly deny?: readonly string[];
  /** Set for a session key: the session that it is for. */
  readonly sessionId?: string;
  /** The id of the principal that created the key. */
  readonly createdBy?: string;
  /** Set for a session key that a principal created for itself: the key loses every right that this principal loses. */
  readonly maker?: KeyMaker;
  /** Wall-clock milliseconds since the epoch, like all times here. */
  readonly createdAt: number;
  /** When the key expires. @default never */
  readonly expiresAt?: number;
  /** Set once the key was revoked. */
  readonly revokedAt?: number;
}

/** The creator of a session key, as far as rules need it. Plain JSON. */
export interface KeyMaker {
  readonly name: string;
  /** Claims of the principal's token that rules of the server use. */
  readonly claims?: JsonObject;
  /** Patterns of the principal's own key. */
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
}

/** Which keys to list. */
export interface KeyQuery {
  /** Whether session keys are included. @default false */
  readonly sessionKeys?: boolean;
  /** Only keys of this session. */
  readonly sessionId?: string;
  /** Maximum number of keys. Integer ≥ 1. @default 1_000 */
  readonly limit?: number;
}

/** Which key to revoke, and when. */
export interface RevokeKeyRequest {
  readonly id: string;
  readonly at: number;
}

/** A request that a server refused before doing anything. Plain JSON; without credentials, and with no more of the body than tool names. */
export interface RefusedRequest {
  readonly at: number;
  readonly status: number;
  /** The reason, as text. */
  readonly reason: string;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** The id of the principal, if it was identified. */
  readonly principal?: string;
  /** The address of the client, as the server sees it. */
  readonly from?: string;
  /** The tools to be called, each once, at most 20: qualified if the sender can see it, else as sent. Left out if refused before they were known. */
  readonly toolNames?: readonly string[];
  /** How many earlier refused requests were not stored, because there were too many at a time. */
  readonly missed?: number;
}

/** Which refused requests to list. */
export interface RefusalQuery {
  /** Only those at or after this time. @default all */
  readonly since?: number;
  readonly principal?: string;
  /** Maximum number of requests. Integer ≥ 1. @default 1_000 */
  readonly limit?: number;
}

/** A call that is in no session's log, as the audit keeps it. Plain JSON, without input or answer. */
export interface AuditedCall {
  /** When the call began. */
  readonly at: number;
  /** The tool's name; as sent, if there is no such tool. */
  readonly toolName: string;
  /** The interface through which the call came. */
  readonly via: "api" | "mcp";
  /** `open`: the call had not ended when its server stopped. */
  readonly outcome: Exclude<ResultStatus, "pending"> | "open";
  readonly errorCode?: string;
  readonly durationMs?: number;
  /** Left out if the call was refused before it had an id. */
  readonly callId?: string;
  /** The session that the server created for the call, and removes. */
  readonly sessionId?: string;
  /** The call whose handler made this one, if it is in the same session. */
  readonly parentCallId?: string;
  /** The id of the principal for whom the call was made. */
  readonly principal?: string;
  /** The author of the call's approval. */
  readonly approvedBy?: string;
  /** The trace that the call belongs to: 32 hex digits. */
  readonly traceId?: string;
  /** Set if the call was made in a simulation. */
  readonly simulated?: true;
  /** How many earlier calls were not stored, because the store did not keep up. */
  readonly missed?: number;
}

/** Which audited calls to list. */
export interface AuditedCallQuery {
  /** Only calls that began at or after this time. @default all */
  readonly since?: number;
  /** Only calls that began before this time. @default all */
  readonly until?: number;
  readonly principal?: string;
  /** Only calls after this place: `next` of the previous page. @default from the newest on */
  readonly after?: AuditedCallPlace;
  /** Maximum number of calls. Integer ≥ 1. @default 1_000 */
  readonly limit?: number;
}

/** The position of a call in the list of all audited calls. */
export interface AuditedCallPlace {
  readonly at: number;
  readonly number: number;
}

/** A page of audited calls. */
export interface AuditedCallPage {
  readonly calls: readonly AuditedCall[];
  /** `after` for the next page; left out on the last. */
  readonly next?: AuditedCallPlace;
}
