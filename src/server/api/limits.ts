/** Counts the requests, calls and streams of each principal, and refuses those beyond its limits. */
import { ToolError } from "../../core/error.ts";
import type { Clock } from "../../core/ports.ts";
import type { ServerSettings } from "./server-settings.ts";

/** The kinds of work that are limited at a time. */
export type Counted = "requests" | "calls" | "streams";

interface Share {
  readonly requests: number;
  readonly calls: number;
  readonly streams: number;
  /** Requests that may be sent at once; grows again with time. */
  tokens: number;
  tokensAt: number;
}

type Counts = { -readonly [Name in keyof Share]: Share[Name] };

const MINUTE_MS = 60_000;
/** Principals whose counts are kept although they have nothing under way. */
const MAX_IDLE = 10_000;

export class Limits {
  readonly #settings: ServerSettings;
  readonly #clock: Clock;
  /** The one that was seen longest ago first. */
  readonly #shares = new Map<string, Counts>();

  constructor(settings: ServerSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** Takes one of the requests that a principal may send in a minute. @throws ToolError `rate_limited` with the wait that helps */
  take(principalId: string): void {
    const share = this.#shareOf(principalId);
    const { maxRequestsPerMinute: most } = this.#settings;
    const now = this.#clock.now();
    share.tokens = Math.min(most, share.tokens + ((now - share.tokensAt) * most) / MINUTE_MS);
    share.tokensAt = now;
    if (share.tokens >= 1) share.tokens -= 1;
    else throw tooMany(`${most} requests in a minute`, ((1 - share.tokens) * MINUTE_MS) / most);
  }

  /** Counts work that begins; the returned function ends it. @throws ToolError `rate_limited` when it would be too much */
  begin(principalId: string, what: Counted, count: number = 1): () => void {
    const share = this.#shareOf(principalId);
    const most = this.#most(what);
    if (share[what] + count > most) throw tooMany(`${most} ${what} at a time`, RETRY_MS);
    share[what] += count;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      share[what] -= count;
    };
  }

  /** How much of it there is, over all principals. */
  total(what: Counted): number {
    let sum = 0;
    for (const share of this.#shares.values()) sum += share[what];
    return sum;
  }

  #most(what: Counted): number {
    const { maxConcurrentRequests, maxConcurrentCalls, maxStreams } = this.#settings;
    return { requests: maxConcurrentRequests, calls: maxConcurrentCalls, streams: maxStreams }[what];
  }

  #shareOf(principalId: string): Counts {
    const known = this.#shares.get(principalId);
    const share = known ?? { requests: 0, calls: 0, streams: 0, tokens: this.#settings.maxRequestsPerMinute, tokensAt: this.#clock.now() };
    this.#shares.delete(principalId);
    this.#shares.set(principalId, share);
    if (known === undefined && this.#shares.size > MAX_IDLE) this.#forgetIdle();
    return share;
  }

  #forgetIdle(): void {
    for (const [id, { requests, calls, streams }] of this.#shares) {
      if (this.#shares.size <= MAX_IDLE) return;
      if (requests + calls + streams === 0) this.#shares.delete(id);
    }
  }
}

const RETRY_MS = 1_000;

function tooMany(what: string, retryAfterMs: number): ToolError {
  return new ToolError("rate_limited", `One principal may have ${what}.`, {
    hint: "Send fewer, or wait as long as Retry-After says.",
    retryAfterMs: Math.ceil(retryAfterMs),
  });
}
