/** Keys and refused requests in memory. */
import {
  MAX_REFUSALS,
  type AccessStore,
  type KeyQuery,
  type RefusalQuery,
  type RefusedRequest,
  type RevokeKeyRequest,
  type StoredKey,
} from "../core/access-store.ts";
import { DAY_MS, DEFAULT_ACCESS_LIMIT, takenKey } from "./access-rows.ts";

export class MemoryAccess implements AccessStore {
  /** By id, in the order they were made. */
  readonly #keys = new Map<string, StoredKey>();
  readonly #refusals: RefusedRequest[] = [];

  async addKey(key: StoredKey): Promise<void> {
    if (this.#keys.has(key.id)) throw takenKey(key.id);
    for (const { id, sessionId, expiresAt } of this.#keys.values())
      if (sessionId !== undefined && expiresAt !== undefined && expiresAt < key.createdAt - DAY_MS) this.#keys.delete(id);
    this.#keys.set(key.id, Object.freeze({ ...key }));
  }

  async key(id: string): Promise<StoredKey | undefined> {
    return this.#keys.get(id);
  }

  async keys({ sessionKeys = false, limit = DEFAULT_ACCESS_LIMIT }: KeyQuery = {}): Promise<readonly StoredKey[]> {
    const found = [...this.#keys.values()].filter(({ sessionId }) => sessionKeys || sessionId === undefined);
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
}
