/** Handlers of the routes for the keys of one session. */
import type { Runtime } from "../../../runtime/runtime.ts";
import type { RuntimeSession } from "../../../runtime/runtime-session.ts";
import { noSession, refuseSessionKey } from "../sessions/session-ids.ts";
import type { ApiServices, Handlers } from "../services.ts";
import { noContent } from "./responses.ts";

export const sessionKeyHandlers = {
  async createSessionKey({ runtime, principal, params: { sessionId }, body }, services) {
    refuseSessionKey(principal);
    const { access, sessions } = services;
    await sessions.checkExists(sessionId);
    const before = await look(sessionId, runtime, services);
    const { key, stored } = await access.delegate({ ...body, sessionId }, principal);
    const { id, scopes, expiresAt = 0 } = stored;
    if (!isSame(before, await look(sessionId, runtime, services))) {
      // its removal may have revoked the keys before this one was stored; a later session with its id is a different one
      await access.revokeSessionKey({ id, sessionId }, principal);
      throw noSession(sessionId);
    }
    return { id, key, sessionId, scopes, expiresAt };
  },

  async revokeSessionKey({ principal, params: { sessionId, keyId } }, { access }) {
    refuseSessionKey(principal);
    await access.revokeSessionKey({ id: keyId, sessionId }, principal);
    return noContent();
  },
} satisfies Partial<Handlers>;

/** A session, as it is open here and as the store has it. */
interface SeenSession {
  readonly open: RuntimeSession | undefined;
  readonly createdAt: number | undefined;
}

async function look(id: string, runtime: Pick<Runtime, "sessions">, { sessions }: ApiServices): Promise<SeenSession> {
  return { open: runtime.sessions.get(id), createdAt: (await sessions.findStored(id))?.createdAt };
}

function isSame(before: SeenSession, after: SeenSession): boolean {
  if (before.createdAt !== undefined) return before.createdAt === after.createdAt;
  return before.open !== undefined && before.open === after.open;
}
