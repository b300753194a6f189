/** Revokes the keys of a session that was removed. */
import type { AccessStore } from "../core/store/access-store.ts";

/** Revokes every API key that is for the session: a later session with its id is a different one. Keys revoked before keep their time. */
export async function revokeSessionKeys(access: AccessStore, sessionId: string, at: number): Promise<void> {
  const keys = await access.keys({ sessionId, limit: Number.MAX_SAFE_INTEGER });
  for (const { id, revokedAt } of keys) if (revokedAt === undefined) await access.revokeKey({ id, at });
}
