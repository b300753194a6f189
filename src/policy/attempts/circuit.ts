/** Stops calls to a failing dependency, and probes it with a few calls before closing again. */
import { quoteValue } from "../../core/base/wording.ts";
import { ToolError } from "../../core/error.ts";
import type { ErrorCode } from "../../core/error-codes.ts";
import type { Clock } from "../../core/ports.ts";

/** When calls of a failing toolset are refused for a while. */
export interface CircuitSettings {
  /** Failures within the window that open the circuit. Integer ≥ 1. @default 5 */
  readonly failures?: number;
  /** How far back failures count, in milliseconds; counted in tenths of the window, so up to a tenth less. @default 60_000 */
  readonly windowMs?: number;
  /** How long an open circuit refuses calls before it lets a probe through, in milliseconds. @default 30_000 */
  readonly openMs?: number;
  /** How many calls at a time probe a half-open circuit; as many must succeed to close it. Integer ≥ 1. @default 1 */
  readonly probes?: number;
  /** Minimum share of failures in the window, from 0 to 1; ignored after 20 or more failures in a row over half a second. @default 0.5 */
  readonly minimumRate?: number;
}

export type CircuitState = "open" | "half-open" | "closed";
export type CircuitOutcome = "success" | "failure" | "ignored";

const BUCKETS = 10;
/** This many failures in a row, over at least this long, open a circuit even if many calls of the window succeeded before. */
const MIN_STREAK = 20;
const MIN_STREAK_MS = 500;
const MAX_CAUSES = 5;

/**
 * A circuit breaker for one dependency.
 *
 * Failures are counted in a rolling window, so successes in between do not hide them. But a busy dependency that was healthy until it went
 * down would stay below `minimumRate` for half a window; therefore 20 failures in a row (`failures` if that is more) over at least half a
 * second open the circuit too. Every admitted call must be recorded once; a probe that is not recorded within `openMs` is replaced by another.
 * While open, the outcomes of earlier calls are ignored; while half-open, they count like those of probes.
 */
export class Circuit {
  readonly #clock: Clock;
  readonly #onChange: ((state: CircuitState) => void) | undefined;
  readonly #threshold: number;
  readonly #minimumRate: number;
  readonly #openMs: number;
  readonly #probes: number;
  readonly #bucketMs: number;
  /** Counts per tenth of the window; the totals below are their sums. */
  readonly #failureBuckets = Array.from({ length: BUCKETS }, () => 0);
  readonly #successBuckets = Array.from({ length: BUCKETS }, () => 0);
  #failures = 0;
  #successes = 0;
  /** Number of failures since the latest success, and the time of the first of them. */
  #streak = 0;
  #streakAt = 0;
  #bucket = 0;
  #bucketEndsAt: number;
  #state: CircuitState = "closed";
  /** When an open circuit admits a probe, or a half-open one replaces the probes that are still running. */
  #nextProbeAt = 0;
  #probesLeft = 0;
  #probesToPass = 0;
  /** The latest failures, oldest first. */
  readonly #causes: string[] = [];

  /** @throws ToolError `invalid_argument` */
  constructor(settings: CircuitSettings, clock: Clock, onChange?: (state: CircuitState) => void) {
    this.#clock = clock;
    this.#onChange = onChange;
    const { failures, probes, openMs, windowMs, minimumRate } = resolveCircuitSettings(settings);
    this.#threshold = failures;
    this.#probes = probes;
    this.#openMs = openMs;
    this.#bucketMs = windowMs / BUCKETS;
    this.#minimumRate = minimumRate;
    this.#bucketEndsAt = clock.now() + this.#bucketMs;
  }

  /** The state as of the last call. An open circuit turns half-open only when a call asks to be admitted after `openMs`. */
  get state(): CircuitState {
    return this.#state;
  }

  /** Admits a call or not: 0 = admitted; otherwise the milliseconds to wait before asking again, at least 1. */
  admit(): number {
    return this.#state === "closed" ? 0 : this.#admitProbe();
  }

  /** The failures that opened the circuit, at most five, latest last. */
  get causes(): readonly string[] {
    return [...this.#causes];
  }

  /** Notes the message of a failure that is about to be recorded. */
  addCause(cause: string): void {
    if (this.#state === "open") return;
    this.#causes.push(cause);
    if (this.#causes.length > Math.min(this.#threshold, MAX_CAUSES)) this.#causes.shift();
  }

  /**
   * Records how an admitted call ended.
   *
   * @param now for a success, may be the time its attempt began: it still counts in the current bucket of the window
   */
  record(outcome: CircuitOutcome, now: number = this.#clock.now()): void {
    if (this.#state === "closed") {
      if (outcome !== "ignored") this.#count(outcome, now);
    } else if (this.#state === "half-open") {
      this.#recordProbe(outcome);
    }
  }

  #count(outcome: "success" | "failure", now: number): void {
    if (now >= this.#bucketEndsAt) this.#roll(now);
    if (outcome === "success") {
      this.#successBuckets[this.#bucket] = (this.#successBuckets[this.#bucket] ?? 0) + 1;
      this.#successes++;
      this.#streak = 0;
      return;
    }
    this.#failureBuckets[this.#bucket] = (this.#failureBuckets[this.#bucket] ?? 0) + 1;
    this.#failures++;
    if (this.#streak++ === 0) this.#streakAt = now;
    const rate = this.#failures / (this.#failures + this.#successes);
    if (this.#failures < this.#threshold) return;
    const isDown = this.#streak >= Math.max(MIN_STREAK, this.#threshold) && now - this.#streakAt >= MIN_STREAK_MS;
    if (isDown || rate >= this.#minimumRate) this.#open(now);
  }

  /** Moves to the bucket of `now` and drops the buckets that left the window. */
  #roll(now: number): void {
    const steps = Math.floor((now - this.#bucketEndsAt) / this.#bucketMs) + 1;
    this.#bucketEndsAt += steps * this.#bucketMs;
    for (let step = Math.min(steps, BUCKETS); step > 0; step--) {
      this.#bucket = (this.#bucket + 1) % BUCKETS;
      this.#failures -= this.#failureBuckets[this.#bucket] ?? 0;
      this.#successes -= this.#successBuckets[this.#bucket] ?? 0;
      this.#failureBuckets[this.#bucket] = 0;
      this.#successBuckets[this.#bucket] = 0;
    }
  }

  #admitProbe(): number {
    const now = this.#clock.now();
    if (now >= this.#nextProbeAt) {
      if (this.#state === "open") {
        this.#probesToPass = this.#probes;
        this.#setState("half-open");
      }
      this.#probesLeft = this.#probesToPass;
    }
    if (this.#state === "open" || this.#probesLeft === 0) return Math.max(1, Math.ceil(this.#nextProbeAt - now));
    this.#probesLeft--;
    this.#nextProbeAt = now + this.#openMs;
    return 0;
  }

  #recordProbe(outcome: CircuitOutcome): void {
    if (outcome === "failure") {
      this.#open(this.#clock.now());
    } else if (outcome === "ignored") {
      this.#probesLeft = Math.min(this.#probesLeft + 1, this.#probesToPass);
    } else if (--this.#probesToPass === 0) {
      this.#reset();
      this.#setState("closed");
    }
  }

  #open(now: number): void {
    this.#nextProbeAt = now + this.#openMs;
    this.#setState("open");
  }

  #reset(): void {
    this.#failureBuckets.fill(0);
    this.#successBuckets.fill(0);
    this.#failures = 0;
    this.#successes = 0;
    this.#streak = 0;
    this.#causes.length = 0;
  }

  #setState(state: CircuitState): void {
    this.#state = state;
    this.#onChange?.(state);
  }
}

/** Error codes that show an unhealthy dependency, no matter where the error was thrown. */
const UNHEALTHY_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["timeout", "network_error", "rate_limited", "unavailable"]);

/**
 * Returns what the end of a call says about the health of its tool's dependency.
 *
 * Timeouts, failed connections, rate limits and errors of a broken server are failures. Any other error, including an exception of unknown
 * kind, may be about this one call and is ignored.
 *
 * @param serverFailed whether the error is the response of a broken server, such as HTTP 500
 */
export function toCircuitOutcome(error: ToolError | undefined, serverFailed: boolean): CircuitOutcome {
  if (error === undefined) return "success";
  return serverFailed || UNHEALTHY_CODES.has(error.code) ? "failure" : "ignored";
}

/** Returns the settings with their defaults. @throws ToolError `invalid_argument` */
export function resolveCircuitSettings(settings: CircuitSettings): Required<CircuitSettings> {
  const { failures = 5, probes = 1, openMs = 30_000, windowMs = 60_000, minimumRate = 0.5 } = settings;
  return {
    failures: checkSetting("failures", failures, Number.isInteger, "an integer of at least 1", 1),
    probes: checkSetting("probes", probes, Number.isInteger, "an integer of at least 1", 1),
    openMs: checkSetting("openMs", openMs, Number.isFinite, "at least 1 ms", 1),
    windowMs: checkSetting("windowMs", windowMs, Number.isFinite, "at least 10 ms", BUCKETS),
    minimumRate: checkSetting("minimumRate", minimumRate, (rate) => Number.isFinite(rate) && rate <= 1, "a share from 0 to 1", 0),
  };
}

function checkSetting(name: string, value: number, fits: (value: number) => boolean, wanted: string, minimum: number): number {
  if (value >= minimum && fits(value)) return value;
  throw new ToolError("invalid_argument", `A circuit's ${name} must be ${wanted}, not ${quoteValue(value)}.`);
}
