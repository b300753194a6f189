/** The seam behind which a server keeps its keys, the requests it refused, the calls that no session has and the first answers to keyed requests, for all processes of a store. */
import type { JsonObject } from "./base/json.ts";
import type { ResultStatus } from "./result.ts";

/**
 * Keeps keys at rest, refused requests, calls that no session has, and requests with an `Idempotency-Key`.
 *
 * A key of the server is kept as a hash of its secret, never as the secret. Every store passes `accessStoreContract` of `haft/testing`.
 */
export interface AccessStore {
  /**
   * Keeps a new key, and forgets session keys that expired a day before it was made. The same key again changes nothing.
   *
   * @throws ToolError `duplicate` for an id that is taken. By rejecting
   */
  addKey(key: StoredKey): Promise<void>;
  /** Undefined where there is none of this id. One that has expired or was revoked is given as well. */
  key(id: string): Promise<StoredKey | undefined>;
  /** The newest first. */
  keys(query?: KeyQuery): Promise<readonly StoredKey[]>;
  /** Ends a key for good. Resolves to whether it was there and not revoked; the first time stays. */
  revokeKey(request: RevokeKeyRequest): Promise<boolean>;
  /** Keeps refused requests, in order; the oldest go where there are more than 10,000. */
  addRefusals(refusals: readonly RefusedRequest[]): Promise<void>;
  /** The newest first. */
  refusals(query?: RefusalQuery): Promise<readonly RefusedRequest[]>;
  /** Keeps calls, in order; the first that were kept go where there are more than `keep`, and a store in memory keeps 10,000 at most. */
  addCalls(added: { readonly calls: readonly AuditedCall[]; readonly keep: number }): Promise<void>;
  /** A page of them, those that began last first. */
  calls(query?: AuditedCallQuery): Promise<AuditedCallPage>;
  /**
   * Records that a holder begins a keyed request, in one step: of several, in any number of processes, one does. Resolves to undefined when it is the holder now: it was already, or its key
   * has no record, one that is older than a day, or one with the same fingerprint and no answer that no attempt holds, or that is held as `after` says. Else it
   * resolves to the record. Nothing drops a younger record, however many there are.
   *
   * @throws ToolError `unavailable` when no more can be kept. By rejecting
   */
  beginRequest(request: NewKeyedRequest): Promise<KeyedRequest | undefined>;
  /** Counts a beat of the holder, by which others see that it is at work. Resolves to whether it still holds the request. */
  holdRequest(request: { readonly key: string; readonly holder: string }): Promise<boolean>;
  /** Ends the hold of a request that is left without an answer: it can be begun again at once. */
  releaseRequest(request: { readonly key: string; readonly holder: string }): Promise<void>;
  /** Keeps the answer to a request that was begun, unless it has one: then resolves to that. Else, and for a key that has no record, to undefined. */
  answerRequest(request: { readonly key: string; readonly answer: string }): Promise<string | undefined>;
  /** Forgets requests that were begun before a time. */
  forgetRequests(before: number): Promise<void>;
}

/** A request with an `Idempotency-Key`. Plain JSON. */
interface RequestRecord {
  /** Unique for principal, route and the client's key. */
  readonly key: string;
  /** A digest of the content: a request with another one is another request. */
  readonly fingerprint: string;
  readonly at: number;
}

/** A request with an `Idempotency-Key`, as it begins. */
export interface NewKeyedRequest extends RequestRecord {
  /** Unique for this attempt. */
  readonly holder: string;
  /** A hold that has not beaten for so long that its process must have ended: it is taken over if it is still the same. */
  readonly after?: RequestHold;
}

/** A request with an `Idempotency-Key` that was begun. */
export interface KeyedRequest extends RequestRecord {
  /** The first answer. Left out while there is none. */
  readonly answer?: string;
  /** The attempt that is under way, or whose process ended. Left out when there is an answer, or no attempt is under way. */
  readonly hold?: RequestHold;
}

/** The hold of an attempt on its request. While it is at work its beats grow. */
export interface RequestHold {
  readonly holder: string;
  readonly beats: number;
}

/** For so long is a keyed request recorded. */
export const KEYED_REQUEST_KEPT_MS = 86_400_000;

/** So many refused requests are kept. */
export const MAX_REFUSALS = 10_000;

/** A key of a server as a store has it. Plain JSON. */
export interface StoredKey {
  /** Its public part, which names it in lists and events. */
  readonly id: string;
  /** As the person called it who made it. */
  readonly name: string;
  /** Random, in hex: equal secrets have different hashes. */
  readonly salt: string;
  /** SHA-256 over salt and secret, in hex. */
  readonly hash: string;
  readonly scopes: readonly string[];
  /** Patterns over qualified names: the tools that it may see and call, where the rules of the server allow them. @default all of those */
  readonly allow?: readonly string[];
  /** Patterns of tools that it may not see; wins over `allow`. */
  readonly deny?: readonly string[];
  /** Set for a session key: the session that it is for. */
  readonly sessionId?: string;
  /** The id of the principal that made it. */
  readonly createdBy?: string;
  /** Set for a session key that a principal made for itself: it has no right that this principal has lost. */
  readonly maker?: KeyMaker;
  /** Wall-clock milliseconds since the epoch, as all times here. */
  readonly createdAt: number;
  /** From this time on it counts for nothing. @default never */
  readonly expiresAt?: number;
  /** Set once it was revoked. */
  readonly revokedAt?: number;
}

/** The principal that made a session key, as far as rules look at it. Plain JSON. */
export interface KeyMaker {
  readonly name: string;
  /** Claims of its token that rules of the server look at. */
  readonly claims?: JsonObject;
  /** Patterns of its own key. */
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
}

/** Which keys are listed. */
export interface KeyQuery {
  /** Session keys as well. @default false */
  readonly sessionKeys?: boolean;
  /** The keys of this session only. */
  readonly sessionId?: string;
  /** Most keys. Integer ≥ 1. @default 1_000 */
  readonly limit?: number;
}

/** Which key is revoked, and when. */
export interface RevokeKeyRequest {
  readonly id: string;
  readonly at: number;
}

/** A request that a server refused before it did anything. Plain JSON; it has no credentials, and of the body no more than the names of tools. */
export interface RefusedRequest {
  readonly at: number;
  readonly status: number;
  /** The reason in words. */
  readonly reason: string;
  readonly method: string;
  /** Without query. */
  readonly path: string;
  /** The id of the principal, where one was found. */
  readonly principal?: string;
  /** The address of the client, as the server sees it. */
  readonly from?: string;
  /** The tools that it was to call, each once, at most 20: qualified where its sender sees the tool, else as it named them. Left out where it was refused before they were known. */
  readonly toolNames?: readonly string[];
  /** How many before it were refused and not kept, because there were too many at a time. */
  readonly missed?: number;
}

/** Which refused requests are listed. */
export interface RefusalQuery {
  /** Those at or after this time. @default all */
  readonly since?: number;
  readonly principal?: string;
  /** Most of them. Integer ≥ 1. @default 1_000 */
  readonly limit?: number;
}

/** A call that no session has in its log, as the audit keeps it. Plain JSON; it has neither input nor answer. */
export interface AuditedCall {
  /** When it began. */
  readonly at: number;
  /** As the request named it where there is no such tool. */
  readonly toolName: string;
  /** The interface that it came in by. */
  readonly via: "api" | "mcp";
  /** `open`: it had not ended when its server stopped. */
  readonly outcome: Exclude<ResultStatus, "pending"> | "open";
  readonly errorCode?: string;
  readonly durationMs?: number;
  /** Left out where it was refused before it had one. */
  readonly callId?: string;
  /** The session that the server made for it, which it removes. */
  readonly sessionId?: string;
  /** The call whose handler made it, where that is of the same session. */
  readonly parentCallId?: string;
  /** The id of the principal that it was made for. */
  readonly principal?: string;
  /** The author of its approval. */
  readonly approvedBy?: string;
  /** The trace that it belongs to: 32 hex digits. */
  readonly traceId?: string;
  /** It was made in a simulation. */
  readonly simulated?: true;
  /** How many before it were not kept, because the store did not keep up. */
  readonly missed?: number;
}

/** Which of these calls are listed. */
export interface AuditedCallQuery {
  /** Those that began at or after this time. @default all */
  readonly since?: number;
  /** Those that began before this time. @default all */
  readonly until?: number;
  readonly principal?: string;
  /** Those behind this place: `next` of the page before. @default from the newest on */
  readonly after?: AuditedCallPlace;
  /** Most of them. Integer ≥ 1. @default 1_000 */
  readonly limit?: number;
}

/** The place of a call in the list of all. */
export interface AuditedCallPlace {
  readonly at: number;
  readonly number: number;
}

/** Some of these calls. */
export interface AuditedCallPage {
  readonly calls: readonly AuditedCall[];
  /** `after` of the next page; left out behind the last. */
  readonly next?: AuditedCallPlace;
}
