/** Logins in progress: at most one for each user and server, each bound to one browser. */
import { ToolError } from "../../../core/error.ts";
import type { Clock } from "../../../core/ports.ts";
import { newSecret } from "../../../net/secret.ts";
import type { LoginKey } from "./login-store.ts";
import type { LoginRequest } from "./user-provider.ts";

export interface PendingLogin extends LoginKey {
  readonly id: string;
  readonly request: LoginRequest;
  readonly expiresAt: number;
  readonly done: PromiseWithResolvers<void>;
  /** The cookie of the browser that continued the login; undefined until one does. */
  browser: string | undefined;
  /** Whether its code is being exchanged, which happens only once. */
  isEnding: boolean;
}

const MAX_PENDING = 10_000;

export class PendingLogins {
  readonly #clock: Clock;
  readonly #loginMs: number;
  /** The logins by user and server, the oldest first. */
  readonly #pending = new Map<string, PendingLogin>();

  constructor({ clock, loginMs }: { readonly clock: Clock; readonly loginMs: number }) {
    this.#clock = clock;
    this.#loginMs = loginMs;
  }

  get(key: LoginKey): PendingLogin | undefined {
    const pending = this.#pending.get(nameOf(key));
    if (pending === undefined || pending.expiresAt > this.#clock.now()) return pending;
    this.forget(key);
    return undefined;
  }

  find(is: (pending: PendingLogin) => boolean): PendingLogin | undefined {
    for (const each of this.#pending.values()) if (is(each)) return this.get(each);
    return undefined;
  }

  /** Adds a login, in place of an earlier one of the user. */
  hold({ server, user }: LoginKey, request: LoginRequest): PendingLogin {
    const [oldest] = this.#pending.values();
    if (this.#pending.size >= MAX_PENDING && oldest !== undefined) this.forget(oldest);
    const done = Promise.withResolvers<void>();
    done.promise.catch(() => undefined); // there may be no waiting call
    const expiresAt = this.#clock.now() + this.#loginMs;
    const pending: PendingLogin = { server, user, id: newSecret(), request, expiresAt, done, browser: undefined, isEnding: false };
    this.forget(pending);
    this.#pending.set(nameOf(pending), pending);
    return pending;
  }

  /** Removes a login that has ended. The caller settles its `done`. */
  take(pending: PendingLogin): void {
    if (this.#pending.get(nameOf(pending)) === pending) this.#pending.delete(nameOf(pending));
  }

  /** Removes a login in progress and rejects its `done`. */
  forget(key: LoginKey): void {
    const pending = this.#pending.get(nameOf(key));
    this.#pending.delete(nameOf(key));
    pending?.done.reject(new ToolError("cancelled", "The login was not completed in time."));
  }
}

export function nameOf({ server, user }: LoginKey): string {
  return JSON.stringify([server, user]);
}

export function cookieOf({ id }: PendingLogin): string {
  return `haft-login-${id.slice(0, 12)}`;
}

export function cookieIn(header: string, name: string): string | undefined {
  for (const part of header.split(";")) {
    const [key, value] = part.trim().split("=", 2);
    if (key === name) return value;
  }
  return undefined;
}
