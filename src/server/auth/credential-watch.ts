/** Ends what a principal has open when its credentials end: a key that is revoked, a token that expires. */
import { describeThrown } from "../../core/error.ts";
import type { Clock, Log } from "../../core/ports.ts";
import type { Authenticator, Principal } from "./principal.ts";

/** How soon a key that another process has revoked is found out. */
const LOOK_MS = 1_000;

interface Watched {
  readonly principal: Principal;
  readonly end: () => void;
}

export interface CredentialWatchParts {
  readonly authenticator: Authenticator;
  readonly clock: Clock;
  readonly log: Log;
}

export class CredentialWatch {
  readonly #parts: CredentialWatchParts;
  readonly #watched = new Set<Watched>();
  #cancelTimer: (() => void) | undefined;
  #isLooking = false;

  constructor(parts: CredentialWatchParts) {
    this.#parts = parts;
  }

  /** Calls `end` once when the credentials have ended. The returned function stops that. */
  watch(principal: Principal, end: () => void): () => void {
    if (principal.expiresAt === undefined && this.#parts.authenticator.isValid === undefined) return () => {};
    const watched: Watched = { principal, end };
    this.#watched.add(watched);
    this.#plan();
    return () => {
      this.#watched.delete(watched);
      if (this.#watched.size > 0) return;
      this.#cancelTimer?.();
      this.#cancelTimer = undefined;
    };
  }

  #plan(): void {
    if (this.#isLooking || this.#cancelTimer !== undefined || this.#watched.size === 0) return;
    this.#cancelTimer = this.#parts.clock.timer(() => void this.#look(), LOOK_MS, { background: true });
  }

  /** The same credentials are looked up once, however many streams they have. */
  async #look(): Promise<void> {
    this.#cancelTimer = undefined;
    this.#isLooking = true;
    const looked = new Map<string, boolean>();
    for (const watched of this.#watched) {
      const { principal, end } = watched;
      const name = `${principal.id} ${principal.expiresAt ?? ""}`;
      const holds = looked.get(name) ?? (await this.#holds(principal));
      looked.set(name, holds);
      if (!holds && this.#watched.delete(watched)) end();
    }
    this.#isLooking = false;
    this.#plan();
  }

  async #holds(principal: Principal): Promise<boolean> {
    const { authenticator, clock, log } = this.#parts;
    const { expiresAt = Infinity } = principal;
    if (expiresAt <= clock.wallTime()) return false;
    try {
      return (await authenticator.isValid?.(principal)) ?? true;
    } catch (thrown: unknown) {
      log.warn(`Whether ${principal.id} still holds is not known: ${describeThrown(thrown)}`);
      return true; // no request is let in meanwhile; what is open stays
    }
  }
}
