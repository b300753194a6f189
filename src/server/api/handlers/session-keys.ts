/** Handlers of the routes for the keys of one session. */
import { refuseSessionKey } from "../sessions/session-ids.ts";
import type { Handlers } from "../services.ts";
import { noContent } from "./responses.ts";

export const sessionKeyHandlers = {
  async createSessionKey({ principal, params: { sessionId }, body }, { access, sessions }) {
    refuseSessionKey(principal);
    await sessions.checkExists(sessionId);
    const { key, stored } = await access.delegate({ ...body, sessionId }, principal);
    const { id, scopes, expiresAt = 0 } = stored;
    return { id, key, sessionId, scopes, expiresAt };
  },

  async revokeSessionKey({ principal, params: { sessionId, keyId } }, { access }) {
    refuseSessionKey(principal);
    await access.revokeSessionKey({ id: keyId, sessionId }, principal);
    return noContent();
  },
} satisfies Partial<Handlers>;
