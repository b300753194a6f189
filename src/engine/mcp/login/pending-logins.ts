/** Logins in progress: at most one for each user and server, each bound to one browser. */
import { ToolError } from "../../../core/error.ts";
import type { Clock } from "../../../core/ports.ts";
import { createSecret } from "../../../net/secret.ts";
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
    const pending = this.#pending.get(loginKeyText(key));
    if (pending === undefined || pending.expiresAt > this.#clock.now()) return pending;
    this.cancel(key);
    return undefined;
  }

  find(is: (pending: PendingLogin) => boolean): PendingLogin | undefined {
    for (const each of this.#pending.values()) if (is(each)) return this.get(each);
    return undefined;
  }

  /** Adds a login, in place of an earlier one of the user. */
  add({ server, user }: LoginKey, request: LoginRequest): PendingLogin {
    const [oldest] = this.#pending.values();
    if (this.#pending.size >= MAX_PENDING && oldest !== undefined) this.cancel(oldest);
    const done = Promise.withResolvers<void>();
    done.promise.catch(() => undefined); // there may be no waiting call
    const expiresAt = this.#clock.now() + this.#loginMs;
    const pending: PendingLogin = { server, user, id: createSecret(), request, expiresAt, done, browser: undefined, isEnding: false };
    this.cancel(pending);
    this.#pending.set(loginKeyText(pending), pending);
    return pending;
  }

  /** Removes a login that has ended. The caller settles its `done`. */
  remove(pending: PendingLogin): void {
    if (this.#pending.get(loginKeyText(pending)) === pending) this.#pending.delete(loginKeyText(pending));
  }

  /** Removes a login in progress and rejects its `done`. */
  cancel(key: LoginKey): void {
    const pending = this.#pending.get(loginKeyText(key));
    this.#pending.delete(loginKeyText(key));
    pending?.done.reject(new ToolError("cancelled", "The login was not completed in time."));
  }
}

export function loginKeyText({ server, user }: LoginKey): string {
  return JSON.stringify([server, user]);
}

export function cookieNameOf({ id }: PendingLogin): string {
  return `haft-login-${id.slice(0, 12)}`;
}

export function readCookie(header: string, name: string): string | undefined {
  for (const part of header.split(";")) {
    const [key, value] = part.trim().split("=", 2);
    if (key === name) return value;
  }
  return undefined;
}
