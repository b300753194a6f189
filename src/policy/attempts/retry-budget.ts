/** Limits retries to a small share of the requests, so that retries do not keep an overloaded service down. */
import { quoteValue } from "../../core/base/wording.ts";
import { ToolError } from "../../core/error.ts";
import type { Clock } from "../../core/ports.ts";

export interface RetryBudgetOptions {
  readonly clock: Clock;
  /** Maximum number of retries per request. @default 0.1 */
  readonly ratio?: number;
  /** Number of retries that are always allowed, so that a single call can use its attempts even if there were few requests. @default 10 */
  readonly reserve?: number;
  /** Half-life of the counts, in milliseconds. @default 30_000 */
  readonly windowMs?: number;
}

/** The counts are decayed at most this many times per window. */
const STEPS_PER_WINDOW = 64;

/**
 * The retry budget that all calls of one dependency share.
 *
 * Requests and retries are two counts that decay at the same rate; a retry is granted while the retries stay within `ratio` of the requests,
 * or within `reserve`. So a dependency that always fails gets at most `1 + ratio` attempts per request once there are more than `reserve /
 * ratio` requests. O(1) in time and memory.
 */
export class RetryBudget {
  readonly #clock: Clock;
  readonly #ratio: number;
  readonly #reserve: number;
  readonly #windowMs: number;
  readonly #stepMs: number;
  /** First attempts of calls: the caller adds one for each. They are dated by the last decay, so they seem older than they are, never younger. */
  requests = 0;
  #retries = 0;
  #decayedAt: number;

  /** @throws ToolError `invalid_argument` */
  constructor(options: RetryBudgetOptions) {
    this.#clock = options.clock;
    this.#ratio = checkOption("ratio", options.ratio ?? 0.1, 0);
    this.#reserve = checkOption("reserve", options.reserve ?? 10, 0);
    this.#windowMs = checkOption("windowMs", options.windowMs ?? 30_000, 1);
    this.#stepMs = this.#windowMs / STEPS_PER_WINDOW;
    this.#decayedAt = options.clock.now();
  }

  /** Takes one retry out of the budget; false if none is left. */
  tryRetry(): boolean {
    this.#decay();
    if (this.#retries + 1 > this.#maxRetries()) return false;
    this.#retries++;
    return true;
  }

  /**
   * Counts a retry that is made in any case: a nested call that is tried again. Counts at most twice what is allowed, so that one call with
   * many nested calls uses up the retries of others for no longer than `windowMs`.
   */
  countRetry(): void {
    this.#decay();
    this.#retries = Math.max(this.#retries, Math.min(this.#retries + 1, 2 * (this.#maxRetries() - 1)));
  }

  #maxRetries(): number {
    return Math.max(this.#reserve, this.requests * this.#ratio);
  }

  #decay(): void {
    const now = this.#clock.now();
    const elapsedMs = now - this.#decayedAt;
    if (elapsedMs < this.#stepMs) return;
    const weight = 0.5 ** (elapsedMs / this.#windowMs);
    this.requests *= weight;
    this.#retries *= weight;
    this.#decayedAt = now;
  }
}

function checkOption(name: string, value: number, minimum: number): number {
  if (Number.isFinite(value) && value >= minimum) return value;
  throw new ToolError("invalid_argument", `A retry budget's ${name} must be a number of at least ${minimum}, not ${quoteValue(value)}.`);
}
