/** Keys, refused requests, audited calls and keyed requests in memory. */
import { isDeepStrictEqual } from "node:util";
import {
  KEYED_REQUEST_RETENTION_MS,
  MAX_REFUSALS,
  type AccessStore,
  type AuditedCall,
  type AuditedCallPage,
  type AuditedCallPlace,
  type AuditedCallQuery,
  type KeyQuery,
  type KeyedRequest,
  type NewKeyedRequest,
  type RefusalQuery,
  type RefusedRequest,
  type RevokeKeyRequest,
  type StoredKey,
} from "../../core/store/access-store.ts";
import { ToolError } from "../../core/error.ts";
import { DAY_MS, DEFAULT_ACCESS_LIMIT, toCallPage, duplicateKeyError } from "../sql/access-rows.ts";

/** Maximum size of keyed requests with their answers, in bytes; beyond it, new ones are refused. */
const MAX_REQUEST_BYTES = 64 * 1024 * 1024;
/** Approximate size of a record without its answer, in bytes. */
const RECORD_BYTES = 500;
/** Maximum number of audited calls, even if `keep` is greater. */
const MAX_CALLS = 10_000;

/** A call with its number; numbers increase. */
interface NumberedCall extends AuditedCallPlace {
  readonly call: AuditedCall;
}

export class MemoryAccess implements AccessStore {
  /** By id, in the order they were added. */
  readonly #keys = new Map<string, StoredKey>();
  readonly #refusals: RefusedRequest[] = [];
  #calls: NumberedCall[] = [];
  #lastCall = 0;
  readonly #maxRequestBytes: number;
  /** By key, in the order they were begun. */
  readonly #requests = new Map<string, KeyedRequest>();
  #requestBytes = 0;

  constructor({ maxRequestBytes = MAX_REQUEST_BYTES }: { readonly maxRequestBytes?: number } = {}) {
    this.#maxRequestBytes = maxRequestBytes;
  }

  async addKey(key: StoredKey): Promise<void> {
    const taken = this.#keys.get(key.id);
    if (taken !== undefined && isDeepStrictEqual({ ...taken, revokedAt: undefined }, { ...key, revokedAt: undefined })) return;
    if (taken !== undefined) throw duplicateKeyError(key.id);
    for (const { id, sessionId, expiresAt } of this.#keys.values())
      if (sessionId !== undefined && expiresAt !== undefined && expiresAt < key.createdAt - DAY_MS) this.#keys.delete(id);
    this.#keys.set(key.id, Object.freeze({ ...key }));
  }

  async key(id: string): Promise<StoredKey | undefined> {
    return this.#keys.get(id);
  }

  async keys({ sessionKeys = false, sessionId: of, limit = DEFAULT_ACCESS_LIMIT }: KeyQuery = {}): Promise<readonly StoredKey[]> {
    const found = [...this.#keys.values()].filter(({ sessionId }) =>
      of === undefined ? sessionKeys || sessionId === undefined : sessionId === of,
    );
    return found.sort((one, other) => other.createdAt - one.createdAt || (one.id < other.id ? -1 : 1)).slice(0, limit);
  }

  async revokeKey({ id, at }: RevokeKeyRequest): Promise<boolean> {
    const key = this.#keys.get(id);
    if (key === undefined || key.revokedAt !== undefined) return false;
    this.#keys.set(id, Object.freeze({ ...key, revokedAt: at }));
    return true;
  }

  async addRefusals(refusals: readonly RefusedRequest[]): Promise<void> {
    for (const refusal of refusals) this.#refusals.push(Object.freeze({ ...refusal }));
    if (this.#refusals.length > MAX_REFUSALS) this.#refusals.splice(0, this.#refusals.length - MAX_REFUSALS);
  }

  async refusals({ since = -Infinity, principal, limit = DEFAULT_ACCESS_LIMIT }: RefusalQuery = {}): Promise<readonly RefusedRequest[]> {
    const found = this.#refusals.filter((one) => one.at >= since && (principal === undefined || one.principal === principal));
    return found.toReversed().slice(0, limit);
  }

  async addCalls({ calls, keep }: Parameters<AccessStore["addCalls"]>[0]): Promise<void> {
    for (const call of calls) this.#calls.push({ at: call.at, number: ++this.#lastCall, call: Object.freeze({ ...call }) });
    this.#calls = this.#calls.slice(-Math.min(keep, MAX_CALLS));
  }

  async calls(query: AuditedCallQuery = {}): Promise<AuditedCallPage> {
    const { since = -Infinity, until = Infinity, principal, after, limit = DEFAULT_ACCESS_LIMIT } = query;
    const isWanted = ({ at, number, call }: NumberedCall): boolean =>
      at >= since &&
      at < until &&
      (principal === undefined || call.principal === principal) &&
      (after === undefined || at < after.at || (at === after.at && number < after.number));
    const found = this.#calls.filter(isWanted).sort((one, other) => other.at - one.at || other.number - one.number);
    return toCallPage(found, limit);
  }

  async beginRequest(request: NewKeyedRequest): Promise<KeyedRequest | undefined> {
    const { key, fingerprint, at, holder } = request;
    await this.forgetRequests(at - KEYED_REQUEST_RETENTION_MS);
    const known = this.#requests.get(key);
    if (known?.hold?.holder === holder && known.fingerprint === fingerprint) return undefined;
    if (known !== undefined && !canBegin(request, known)) return known;
    const record = { key, fingerprint, at, hold: { holder, beats: 0 } };
    if (known !== undefined) {
      this.#drop(known);
      this.#add(record);
      return undefined;
    }
    const [oldest] = this.#requests.values();
    if (oldest !== undefined && this.#requestBytes + RECORD_BYTES > this.#maxRequestBytes)
      throw new ToolError("unavailable", "The server cannot keep any more requests with an Idempotency-Key.", {
        retryable: true,
        outcome: "not_started",
        retryAfterMs: oldest.at + KEYED_REQUEST_RETENTION_MS - at,
        operatorHint: "A store that outlives the process keeps them on disk.",
      });
    this.#add(record);
    return undefined;
  }

  async holdRequest({ key, holder }: { readonly key: string; readonly holder: string }): Promise<boolean> {
    const held = this.#requests.get(key);
    if (held?.hold?.holder !== holder) return false;
    this.#requests.set(key, Object.freeze({ ...held, hold: { holder, beats: held.hold.beats + 1 } }));
    return true;
  }

  async releaseRequest({ key, holder }: { readonly key: string; readonly holder: string }): Promise<void> {
    const record = this.#requests.get(key);
    if (record?.hold?.holder !== holder) return;
    const { hold: _hold, ...released } = record;
    this.#requests.set(key, Object.freeze(released));
  }

  async answerRequest({ key, answer }: { readonly key: string; readonly answer: string }): Promise<string | undefined> {
    const record = this.#requests.get(key);
    if (record === undefined || record.answer !== undefined) return record?.answer;
    this.#requestBytes -= bytesOf(record);
    const { hold: _hold, ...over } = record;
    this.#requests.set(key, Object.freeze({ ...over, answer }));
    this.#requestBytes += bytesOf({ ...over, answer });
    return undefined;
  }

  async forgetRequests(before: number): Promise<void> {
    for (const request of this.#requests.values()) {
      if (request.at >= before) return;
      this.#drop(request);
    }
  }

  #drop(request: KeyedRequest): void {
    this.#requests.delete(request.key);
    this.#requestBytes -= bytesOf(request);
  }

  #add(request: KeyedRequest): void {
    this.#requests.set(request.key, Object.freeze(request));
    this.#requestBytes += bytesOf(request);
  }
}

/** Whether an attempt may begin a request that already has a record. */
function canBegin({ fingerprint, after }: NewKeyedRequest, known: KeyedRequest): boolean {
  if (known.answer !== undefined || known.fingerprint !== fingerprint) return false;
  const { hold } = known;
  return hold === undefined || (hold.holder === after?.holder && hold.beats === after.beats);
}

function bytesOf({ answer = "" }: KeyedRequest): number {
  return RECORD_BYTES + Buffer.byteLength(answer);
}
