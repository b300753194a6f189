/** Limits the requests, bytes, calls and streams of each principal. */
import { plural } from "../../../core/base/wording.ts";
import { ToolError } from "../../../core/error.ts";
import type { Clock } from "../../../core/ports.ts";
import type { ServerSettings } from "../server-settings.ts";

/** Kinds of work whose concurrency is limited. */
export type LimitedWork = "requests" | "calls" | "streams";

interface Usage {
  readonly requests: number;
  readonly calls: number;
  readonly streams: number;
  readonly requestBudget: TokenBucket;
  readonly byteBudget: TokenBucket;
}

type MutableUsage = { -readonly [Name in keyof Usage]: Usage[Name] };

const MINUTE_MS = 60_000;
/** A token bucket: an amount per minute, refilled continuously. */
class TokenBucket {
  readonly #capacity: number;
  #available: number;
  #refilledAt: number;

  constructor(most: number, now: number) {
    this.#capacity = most;
    this.#available = most;
    this.#refilledAt = now;
  }

  /** Milliseconds until at least 1 is available; 0 if it is. */
  msUntilAvailable(now: number): number {
    this.#available = Math.min(this.#capacity, this.#available + ((now - this.#refilledAt) * this.#capacity) / MINUTE_MS);
    this.#refilledAt = now;
    return this.#available >= 1 ? 0 : ((1 - this.#available) * MINUTE_MS) / this.#capacity;
  }

  /** Spends an amount, also more than is available: work that has begun is not cut off; the next request waits longer. */
  spend(amount: number): void {
    this.#available -= amount;
  }
}

/** Maximum number of idle principals whose counts are kept. */
const MAX_IDLE = 10_000;

export class Limits {
  readonly #settings: ServerSettings;
  readonly #clock: Clock;
  /** Counts by principal, least recently used first. */
  readonly #usages = new Map<string, MutableUsage>();
  /** The latest principal, cached because one request looks up its counts several times. */
  #latest: { readonly principalId: string; readonly usage: MutableUsage } | undefined;

  constructor(settings: ServerSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** Whether `countRequest` would succeed now. */
  allowsRequest(principalId: string): boolean {
    const { requestBudget, byteBudget } = this.#usageOf(principalId);
    const now = this.#clock.now();
    return byteBudget.msUntilAvailable(now) === 0 && requestBudget.msUntilAvailable(now) === 0;
  }

  /** Counts a request against the principal's requests per minute. @throws ToolError `rate_limited` with the time to wait */
  countRequest(principalId: string): void {
    const { requestBudget, byteBudget } = this.#usageOf(principalId);
    const { maxRequestsPerMinute, maxBytesPerMinute } = this.#settings;
    const now = this.#clock.now();
    const bytesWaitMs = byteBudget.msUntilAvailable(now);
    if (bytesWaitMs > 0) throw rateLimitedError(`${maxBytesPerMinute} bytes of requests and answers in a minute`, bytesWaitMs);
    const requestWaitMs = requestBudget.msUntilAvailable(now);
    if (requestWaitMs > 0) throw rateLimitedError(`${maxRequestsPerMinute} requests in a minute`, requestWaitMs);
    requestBudget.spend(1);
  }

  /** Counts bytes of a request or a response. A principal that is over its limit can send no request until enough time has passed. */
  spendBytes(principalId: string, bytes: number): void {
    this.#usageOf(principalId).byteBudget.spend(bytes);
  }

  /**
   * Counts work as begun; the returned function ends it.
   *
   * @throws ToolError `rate_limited` if it exceeds the limit now, `too_large` if it always would
   */
  startWork(principalId: string, what: LimitedWork, count: number = 1): () => void {
    const share = this.#usageOf(principalId);
    const most = this.#maxOf(what);
    if (count > most)
      throw new ToolError("too_large", `The request has ${count} ${what}; one principal may have at most ${most} at a time.`);
    if (share[what] + count > most) throw rateLimitedError(`${most} ${what} at a time`, RETRY_MS);
    share[what] += count;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      share[what] -= count;
    };
  }

  /** The amount in progress, over all principals. */
  total(what: LimitedWork): number {
    let sum = 0;
    for (const share of this.#usages.values()) sum += share[what];
    return sum;
  }

  #maxOf(what: LimitedWork): number {
    const { maxConcurrentRequests, maxConcurrentCalls, maxStreams } = this.#settings;
    return { requests: maxConcurrentRequests, calls: maxConcurrentCalls, streams: maxStreams }[what];
  }

  #usageOf(principalId: string): MutableUsage {
    if (this.#latest?.principalId === principalId) return this.#latest.usage;
    const known = this.#usages.get(principalId);
    const usage = known ?? this.#createUsage();
    this.#usages.delete(principalId);
    this.#forgetIdle();
    this.#usages.set(principalId, usage);
    this.#latest = { principalId, usage };
    return usage;
  }

  #createUsage(): MutableUsage {
    const { maxRequestsPerMinute, maxBytesPerMinute } = this.#settings;
    const now = this.#clock.now();
    const [requestBudget, byteBudget] = [new TokenBucket(maxRequestsPerMinute, now), new TokenBucket(maxBytesPerMinute, now)];
    return { requests: 0, calls: 0, streams: 0, requestBudget, byteBudget };
  }

  #forgetIdle(): void {
    for (const [id, { requests, calls, streams }] of this.#usages) {
      if (this.#usages.size < MAX_IDLE) return;
      if (requests + calls + streams === 0) this.#usages.delete(id);
    }
  }
}

const RETRY_MS = 1_000;

function rateLimitedError(what: string, retryAfterMs: number): ToolError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000)); // as in the header Retry-After
  return new ToolError("rate_limited", `One principal is limited to ${what}.`, {
    hint: `Send fewer, or send this again in ${plural(seconds, "second")}.`,
    retryAfterMs: Math.ceil(retryAfterMs),
  });
}
