/** Counts the requests, bytes, calls and streams of each principal, and refuses those beyond its limits. */
import { plural } from "../../../core/base/wording.ts";
import { ToolError } from "../../../core/error.ts";
import type { Clock } from "../../../core/ports.ts";
import type { ServerSettings } from "../server-settings.ts";

/** The kinds of work that are limited at a time. */
export type Counted = "requests" | "calls" | "streams";

interface Share {
  readonly requests: number;
  readonly calls: number;
  readonly streams: number;
  readonly ofRequests: Budget;
  readonly ofBytes: Budget;
}

type Counts = { -readonly [Name in keyof Share]: Share[Name] };

const MINUTE_MS = 60_000;
/** An amount to spend in a minute, which grows again with time. */
class Budget {
  readonly #most: number;
  #left: number;
  #at: number;

  constructor(most: number, now: number) {
    this.#most = most;
    this.#left = most;
    this.#at = now;
  }

  /** Milliseconds until so much is left; 0 when it is. */
  waitFor(amount: number, now: number): number {
    this.#left = Math.min(this.#most, this.#left + ((now - this.#at) * this.#most) / MINUTE_MS);
    this.#at = now;
    return this.#left >= amount ? 0 : ((amount - this.#left) * MINUTE_MS) / this.#most;
  }

  /** Also more than is left: what has begun is not cut off, the next waits for longer. */
  spend(amount: number): void {
    this.#left -= amount;
  }
}

/** Principals whose counts are kept although they have nothing under way. */
const MAX_IDLE = 10_000;

export class Limits {
  readonly #settings: ServerSettings;
  readonly #clock: Clock;
  /** The one that was seen longest ago first. */
  readonly #shares = new Map<string, Counts>();
  /** The last of them: a request asks for its own several times. */
  #latest: { readonly principalId: string; readonly share: Counts } | undefined;

  constructor(settings: ServerSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** Whether `take` would take one now. */
  mayTake(principalId: string): boolean {
    const { ofRequests, ofBytes } = this.#shareOf(principalId);
    const now = this.#clock.now();
    return ofBytes.waitFor(1, now) === 0 && ofRequests.waitFor(1, now) === 0;
  }

  /** Takes one of the requests that a principal may send in a minute. @throws ToolError `rate_limited` with the wait that helps */
  take(principalId: string): void {
    const { ofRequests, ofBytes } = this.#shareOf(principalId);
    const { maxRequestsPerMinute, maxBytesPerMinute } = this.#settings;
    const now = this.#clock.now();
    const waitForBytes = ofBytes.waitFor(1, now);
    if (waitForBytes > 0) throw tooMany(`${maxBytesPerMinute} bytes of requests and answers in a minute`, waitForBytes);
    const waitForRequest = ofRequests.waitFor(1, now);
    if (waitForRequest > 0) throw tooMany(`${maxRequestsPerMinute} requests in a minute`, waitForRequest);
    ofRequests.spend(1);
  }

  /** Counts bytes of a request or an answer. A principal that has spent more than it may sends no other request until its minute has them again. */
  spendBytes(principalId: string, bytes: number): void {
    this.#shareOf(principalId).ofBytes.spend(bytes);
  }

  /**
   * Counts work that begins; the returned function ends it.
   *
   * @throws ToolError `rate_limited` when it would be too much now, `too_large` when it always would be
   */
  begin(principalId: string, what: Counted, count: number = 1): () => void {
    const share = this.#shareOf(principalId);
    const most = this.#most(what);
    if (count > most) throw new ToolError("too_large", `The request has ${count} ${what}; one principal may have ${most} at a time.`);
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
    if (this.#latest?.principalId === principalId) return this.#latest.share;
    const known = this.#shares.get(principalId);
    const share = known ?? this.#newShare();
    this.#shares.delete(principalId);
    this.#forgetIdle();
    this.#shares.set(principalId, share);
    this.#latest = { principalId, share };
    return share;
  }

  #newShare(): Counts {
    const { maxRequestsPerMinute, maxBytesPerMinute } = this.#settings;
    const now = this.#clock.now();
    const [ofRequests, ofBytes] = [new Budget(maxRequestsPerMinute, now), new Budget(maxBytesPerMinute, now)];
    return { requests: 0, calls: 0, streams: 0, ofRequests, ofBytes };
  }

  #forgetIdle(): void {
    for (const [id, { requests, calls, streams }] of this.#shares) {
      if (this.#shares.size < MAX_IDLE) return;
      if (requests + calls + streams === 0) this.#shares.delete(id);
    }
  }
}

const RETRY_MS = 1_000;

function tooMany(what: string, retryAfterMs: number): ToolError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000)); // as the header Retry-After says it
  return new ToolError("rate_limited", `One principal may have ${what}.`, {
    hint: `Send fewer, or send this again in ${plural(seconds, "second")}.`,
    retryAfterMs: Math.ceil(retryAfterMs),
  });
}
