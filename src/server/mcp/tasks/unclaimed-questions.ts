/** Questions of tasks that the server's worker continues before a client has asked for them: they wait for that client. */
import type { Ask } from "../../../core/approvals/ask.ts";
import type { SessionHolder } from "../../worker/session-holder.ts";
import { TASK_SESSION_PREFIX } from "./task-id.ts";

export class UnclaimedQuestions {
  /** By the session of a task that the worker has: sends its questions to a client. */
  readonly #claims = new Map<string, (ask: Ask) => void>();

  /** Opens sessions for a worker in the same way; the questions of tasks wait until they are claimed, or their calls end. */
  keepFor(sessions: SessionHolder): SessionHolder {
    return {
      closesSessions: sessions.closesSessions,
      use: async (id, work, options) => {
        if (!id.startsWith(TASK_SESSION_PREFIX)) return sessions.use(id, work, options);
        const claimed = Promise.withResolvers<Ask>();
        this.#claims.set(id, claimed.resolve);
        try {
          await sessions.use(id, work, { ...options, ask: async (request) => (await claimed.promise)(request) });
        } finally {
          this.#claims.delete(id);
        }
      },
    };
  }

  /** Whether the worker has the session, or is opening it. */
  has(sessionId: string): boolean {
    return this.#claims.has(sessionId);
  }

  /** Sends the questions of the session to a client: those that wait, and later ones. The first claim counts. */
  claim(sessionId: string, ask: Ask): void {
    this.#claims.get(sessionId)?.(ask);
  }
}
