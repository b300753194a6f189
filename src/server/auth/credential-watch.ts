/** Ends the open streams of a principal when its credentials end: when its key is revoked or its token expires. */
import { describeThrown } from "../../core/error.ts";
import type { Clock, Log } from "../../core/ports.ts";
import type { Authenticator, Principal } from "./principal.ts";

/** How often revocations by other processes are looked for, in milliseconds. */
const CHECK_MS = 1_000;

interface WatchedPrincipal {
  readonly principal: Principal;
  readonly end: () => void;
}

export interface CredentialWatchOptions {
  readonly authenticator: Authenticator;
  readonly clock: Clock;
  readonly log: Log;
}

export class CredentialWatch {
  readonly #options: CredentialWatchOptions;
  readonly #watched = new Set<WatchedPrincipal>();
  #cancelTimer: (() => void) | undefined;
  #isLookingUp = false;

  constructor(options: CredentialWatchOptions) {
    this.#options = options;
  }

  /** Calls `end` once when the credentials have ended. Returns a function that stops watching. */
  watch(principal: Principal, end: () => void): () => void {
    if (principal.expiresAt === undefined && this.#options.authenticator.isValid === undefined) return () => {};
    const watched: WatchedPrincipal = { principal, end };
    this.#watched.add(watched);
    this.#scheduleCheck();
    return () => {
      this.#watched.delete(watched);
      if (this.#watched.size > 0) return;
      this.#cancelTimer?.();
      this.#cancelTimer = undefined;
    };
  }

  #scheduleCheck(): void {
    if (this.#cancelTimer !== undefined || this.#watched.size === 0) return;
    this.#cancelTimer = this.#options.clock.timer(() => this.#check(), CHECK_MS, { background: true });
  }

  /** Ends what has expired even while a look-up takes long, such as one of a store that does not answer. */
  #check(): void {
    this.#cancelTimer = undefined;
    for (const watched of this.#watched) if (this.#hasExpired(watched.principal)) this.#end(watched);
    if (!this.#isLookingUp) void this.#lookUpAll();
    this.#scheduleCheck();
  }

  /** Looks up all watched credentials. Equal credentials are looked up once, however many streams they have. */
  async #lookUpAll(): Promise<void> {
    this.#isLookingUp = true;
    const results = new Map<string, boolean>();
    for (const watched of this.#watched) {
      const { principal } = watched;
      const name = `${principal.id} ${principal.expiresAt ?? ""}`;
      const isValid = results.get(name) ?? (await this.#isValid(principal));
      results.set(name, isValid);
      if (!isValid) this.#end(watched);
    }
    this.#isLookingUp = false;
  }

  #end(watched: WatchedPrincipal): void {
    if (!this.#watched.delete(watched)) return;
    try {
      watched.end();
    } catch (thrown: unknown) {
      this.#options.log.warn(`A stream of ${watched.principal.id} could not be ended with its credentials: ${describeThrown(thrown)}`);
    }
  }

  #hasExpired({ expiresAt = Infinity }: Principal): boolean {
    return expiresAt <= this.#options.clock.wallTime();
  }

  async #isValid(principal: Principal): Promise<boolean> {
    const { authenticator, log } = this.#options;
    if (this.#hasExpired(principal)) return false;
    try {
      return (await authenticator.isValid?.(principal)) ?? true;
    } catch (thrown: unknown) {
      log.warn(`It is not known whether the credentials of ${principal.id} are still valid: ${describeThrown(thrown)}`);
      return true; // open streams stay open; new requests are checked on their own
    }
  }
}
