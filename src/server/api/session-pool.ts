/** The sessions that requests work in: taken up from the store when they are asked for, and let go when they are idle. */
import { KEYED_REQUEST_KEPT_MS } from "../../core/access-store.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import type { Clock, Log } from "../../core/ports.ts";
import type { Store, StoredSession } from "../../core/store.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";
import { forgetSessions } from "../forget-sessions.ts";
import type { Principal } from "../auth/principal.ts";
import type { ServerSettings } from "./server-settings.ts";

export interface SessionPoolOptions {
  readonly runtime: Runtime;
  readonly store: Store | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: Pick<ServerSettings, "maxOpenSessions" | "sessionIdleMs">;
}

interface Held {
  readonly session: RuntimeSession;
  uses: number;
  usedAt: number;
}

/** Ids of sessions that the server makes for requests outside any session: they are not listed. */
export const OWN_SESSION_PREFIX = "haft-request-";

/** So long are they kept, which is as long as the answers to the requests. */
const OWN_KEPT_MS = KEYED_REQUEST_KEPT_MS;
const HOUR_MS = 60 * 60 * 1_000;

export class SessionPool {
  readonly #options: SessionPoolOptions;
  /** Those that the server took up or began, the one that was used longest ago first. */
  readonly #held = new Map<string, Held>();
  readonly #resuming = new Map<string, Promise<RuntimeSession>>();
  /** Sessions that are being closed: each can be taken up again when it is. */
  readonly #closing = new Map<string, Promise<void>>();
  #sweep: (() => void) | undefined;
  #closed = false;
  #forgotAt: number | undefined;

  constructor(options: SessionPoolOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#held.size;
  }

  /** Does the work in a session, which stays open meanwhile. @throws ToolError `not_found`, `resource_busy`. By rejecting */
  async use<T>(id: string, work: (session: RuntimeSession) => Promise<T> | T, options: { readonly create?: boolean } = {}): Promise<T> {
    const session = await this.#open(id, options.create ?? false);
    const held = this.#held.get(id);
    if (held === undefined) return work(session); // the program's own: it closes it
    held.uses++;
    try {
      return await work(session);
    } finally {
      held.uses--;
      if (this.#held.get(id) === held) this.#touch(id, held);
    }
  }

  /** Holds a session that a request has begun. */
  hold(session: RuntimeSession): void {
    this.#touch(session.id, { session, uses: 0, usedAt: 0 });
    if (this.#held.size > this.#options.settings.maxOpenSessions)
      this.#closeIdle(0, this.#held.size - this.#options.settings.maxOpenSessions);
  }

  /** Closes one that the server holds, or the program. */
  close(session: RuntimeSession): Promise<void> {
    const { id } = session;
    this.#held.delete(id);
    const closing = session.close().finally(() => this.#closing.delete(id));
    this.#closing.set(id, closing);
    return closing;
  }

  /** The store's record of a session; undefined where it has none. */
  async stored(id: string): Promise<StoredSession | undefined> {
    const [found] = (await this.#options.store?.list({ sessionId: id })) ?? [];
    return found;
  }

  /** @throws ToolError `not_found` for a session that is neither open nor stored. By rejecting */
  async checkThere(id: string): Promise<void> {
    if (this.#options.runtime.sessions.get(id) === undefined && (await this.stored(id)) === undefined) throw noSession(id);
  }

  /** Closes what the server holds. */
  async end(): Promise<void> {
    this.#closed = true;
    this.#sweep?.();
    await Promise.allSettled([...this.#held.values()].map(({ session }) => session.close()));
    this.#held.clear();
  }

  async #open(id: string, create: boolean): Promise<RuntimeSession> {
    const { runtime, store } = this.#options;
    const open = runtime.sessions.get(id);
    if (open !== undefined && !(open.lost && this.#held.has(id))) return open;
    if (this.#closed) throw new ToolError("unavailable", "The server is stopping.", { retryable: true });
    if (store === undefined) {
      if (!create) throw noSession(id);
      const session = runtime.session(id);
      this.hold(session);
      return session;
    }
    const resuming = this.#resuming.get(id) ?? this.#resume(id, create);
    this.#resuming.set(id, resuming);
    try {
      return await resuming;
    } finally {
      this.#resuming.delete(id);
    }
  }

  async #resume(id: string, create: boolean): Promise<RuntimeSession> {
    const lost = this.#held.get(id)?.session;
    if (lost !== undefined) await this.close(lost).catch(() => {}); // it cannot write what it has: another process has the session, or had it since
    await this.#closing.get(id)?.catch(() => {}); // the caller of close gets the error
    try {
      const session = await this.#options.runtime.resume(id, { create });
      this.hold(session);
      return session;
    } catch (thrown: unknown) {
      const error = ToolError.fromUnknown(thrown);
      throw error.code === "not_found" ? noSession(id) : error;
    }
  }

  #touch(id: string, held: Held): void {
    held.usedAt = this.#options.clock.now();
    if (held.session.closed) this.#held.delete(id);
    else {
      this.#held.delete(id);
      this.#held.set(id, held);
    }
    const { sessionIdleMs } = this.#options.settings;
    if (this.#closed || this.#sweep !== undefined) return;
    this.#sweep = this.#options.clock.timer(
      () => {
        this.#sweep = undefined;
        this.#closeIdle(sessionIdleMs, this.#held.size);
        void this.#forgetOwn().catch((thrown: unknown) =>
          this.#options.log.warn(`Old requests were not forgotten: ${describeThrown(thrown)}`),
        );
        const [next] = this.#held;
        if (next !== undefined) this.#touch(...next);
      },
      sessionIdleMs,
      { background: true },
    );
  }

  /** Once an hour: the sessions of requests whose answers are not kept any more. */
  async #forgetOwn(): Promise<void> {
    const { clock, runtime } = this.#options;
    const now = clock.now();
    if (this.#forgotAt !== undefined && now - this.#forgotAt < HOUR_MS) return;
    this.#forgotAt = now;
    await forgetSessions(runtime, {
      prefix: OWN_SESSION_PREFIX,
      before: clock.wallTime() - OWN_KEPT_MS,
      stopped: () => this.#closed,
    });
  }

  /** Those that the store has whole, and of which nothing is a branch: a branch is one only while it and its parent are open. */
  #closeIdle(idleMs: number, most: number): void {
    const now = this.#options.clock.now();
    const parents = new Set(this.#options.runtime.sessions.list().map(({ parent }) => parent?.id));
    let left = most;
    for (const [id, { session, uses, usedAt }] of this.#held) {
      if (left <= 0) return;
      if (uses > 0 || now - usedAt < idleMs || session.parent !== undefined || parents.has(id)) continue;
      if (session.jobs.length > 0 || (this.#options.store === undefined && !isOver(id, now - usedAt))) continue;
      left--;
      void this.close(session).catch((thrown: unknown) =>
        this.#options.log.warn(`An idle session did not end well: ${describeThrown(thrown)}`),
      );
    }
  }
}

/** Without a store a session ends when it is closed. That of a request is of use only while its key is known. */
function isOver(id: string, idleMs: number): boolean {
  return id.startsWith(OWN_SESSION_PREFIX) && idleMs > OWN_KEPT_MS;
}

/** A session that a session key may not see is not there for it. @throws ToolError `not_found` */
export function checkSeen({ sessionId }: Principal, id: string): void {
  if (sessionId !== undefined && sessionId !== id) throw noSession(id);
}

/** A session key works in its session only. @throws ToolError `permission_denied` */
export function refuseSessionKey({ sessionId }: Principal): void {
  if (sessionId === undefined) return;
  throw new ToolError("permission_denied", "This key belongs to a session, and works in that alone.", {
    hint: `Use the routes under /v1/sessions/${encodeURIComponent(sessionId)}.`,
  });
}

export function noSession(id: string): ToolError {
  return new ToolError("not_found", `There is no session ${JSON.stringify(id.slice(0, 200))}.`, {
    hint: "GET /v1/sessions lists them; POST /v1/sessions begins one.",
  });
}
