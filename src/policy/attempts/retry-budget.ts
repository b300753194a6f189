/** Keeps retries a small share of the requests, so that they never become the load that keeps a service down. */
import { ToolError } from "../../core/error.ts";
import type { Clock } from "../../core/ports.ts";

export interface RetryBudgetOptions {
  readonly clock: Clock;
  /** Most retries per request. @default 0.1 */
  readonly ratio?: number;
  /** Retries that are allowed however few requests there were, so that a single call can use its attempts. @default 10 */
  readonly reserve?: number;
  /** In this time half of what was counted is forgotten. @default 30_000 */
  readonly windowMs?: number;
}

/** Counts this fresh are not worth a new weight. */
const STEPS_PER_WINDOW = 64;

/**
 * The retries that all calls of one dependency share.
 *
 * Requests and retries are two counts that fade at the same pace; a retry is granted while the retries stay
 * within `ratio` of the requests, or within `reserve`. So a dependency that always fails sees at most
 * `1 + ratio` attempts a request once there are more than `reserve / ratio` requests. O(1) in time and memory.
 */
export class RetryBudget {
  readonly #clock: Clock;
  readonly #ratio: number;
  readonly #reserve: number;
  readonly #windowMs: number;
  readonly #stepMs: number;
  /** First attempts of calls: add one for each. Their age is that of the last fading, which makes them older than they are, never younger. */
  requests = 0;
  #retries = 0;
  #weighedAt: number;

  /** @throws ToolError `invalid_argument` */
  constructor(options: RetryBudgetOptions) {
    this.#clock = options.clock;
    this.#ratio = checked("ratio", options.ratio ?? 0.1, 0);
    this.#reserve = checked("reserve", options.reserve ?? 10, 0);
    this.#windowMs = checked("windowMs", options.windowMs ?? 30_000, 1);
    this.#stepMs = this.#windowMs / STEPS_PER_WINDOW;
    this.#weighedAt = options.clock.now();
  }

  /** Takes one retry out of the budget; false when there is none left. */
  tryRetry(): boolean {
    this.#fade();
    if (this.#retries + 1 > this.#most()) return false;
    this.#retries++;
    return true;
  }

  /**
   * Counts a retry that is made anyway: a call within another that is tried again. Beyond twice of what is allowed none is counted, so that
   * one call with many inside takes the retries of others for no longer than `windowMs`.
   */
  noteRetry(): void {
    this.#fade();
    this.#retries = Math.max(this.#retries, Math.min(this.#retries + 1, 2 * (this.#most() - 1)));
  }

  #most(): number {
    return Math.max(this.#reserve, this.requests * this.#ratio);
  }

  #fade(): void {
    const now = this.#clock.now();
    const elapsedMs = now - this.#weighedAt;
    if (elapsedMs < this.#stepMs) return;
    const weight = 0.5 ** (elapsedMs / this.#windowMs);
    this.requests *= weight;
    this.#retries *= weight;
    this.#weighedAt = now;
  }
}

function checked(name: string, value: number, minimum: number): number {
  if (Number.isFinite(value) && value >= minimum) return value;
  throw new ToolError("invalid_argument", `A retry budget's ${name} is a number of at least ${minimum}, not ${String(value)}.`);
}
