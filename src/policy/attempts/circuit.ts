/** Stops calling what keeps failing, and tries it out with a few calls before trusting it again. */
import { ToolError } from "../../core/error.ts";
import type { ErrorCode } from "../../core/error-codes.ts";
import type { Clock } from "../../core/ports.ts";

/** When calls of a toolset that keeps failing are refused for a while. */
export interface CircuitSettings {
  /** Failures within the window that open the circuit. Integer ≥ 1. @default 5 */
  readonly failures?: number;
  /** How far back failures count, in milliseconds; kept in tenths, so up to a tenth less. @default 60_000 */
  readonly windowMs?: number;
  /** How long an open circuit refuses calls before it lets a probe through, in milliseconds. @default 30_000 */
  readonly openMs?: number;
  /** How many calls at a time try out a half-open circuit; as many must succeed to close it. Integer ≥ 1. @default 1 */
  readonly probes?: number;
  /** Open only when at least this share of the calls in the window failed, from 0 to 1; or all for half a second, 20 at least. @default 0.5 */
  readonly minimumRate?: number;
}

export type CircuitState = "open" | "half-open" | "closed";
export type CircuitOutcome = "success" | "failure" | "ignored";

const BUCKETS = 10;
/** So many failures in a row, over this time at least, open a circuit however many calls of its window succeeded before. */
const STREAK = 20;
const STREAK_MS = 500;
const MAX_CAUSES = 5;

/**
 * Guards one dependency.
 *
 * Failures are counted in a rolling window, so successes in between do not hide them. What was busy and well until it went down would count as well
 * for half a window: 20 failures in a row, or `failures` of them where that is more, open the circuit as well, once they go on for half a second. Every call that was
 * admitted must be recorded once; a probe that is not recorded within `openMs` is given up for another.
 * While open, what earlier calls report is ignored; while half-open it counts like a probe's.
 */
export class Circuit {
  readonly #clock: Clock;
  readonly #onChange: ((state: CircuitState) => void) | undefined;
  readonly #threshold: number;
  readonly #minimumRate: number;
  readonly #openMs: number;
  readonly #probes: number;
  readonly #bucketMs: number;
  /** Per tenth of the window; the totals below are their sums. */
  readonly #failureBuckets = Array.from({ length: BUCKETS }, () => 0);
  readonly #successBuckets = Array.from({ length: BUCKETS }, () => 0);
  #failures = 0;
  #successes = 0;
  /** Failures since the latest success, and when the first of them was. */
  #streak = 0;
  #streakAt = 0;
  #bucket = 0;
  #bucketEndsAt: number;
  #state: CircuitState = "closed";
  /** When an open circuit lets a probe through, or a half-open one gives up the probes that are out. */
  #nextProbeAt = 0;
  #probesLeft = 0;
  #probesToPass = 0;
  /** The latest failures, oldest first. */
  readonly #causes: string[] = [];

  /** @throws ToolError `invalid_argument` */
  constructor(settings: CircuitSettings, clock: Clock, onChange?: (state: CircuitState) => void) {
    this.#clock = clock;
    this.#onChange = onChange;
    const { failures, probes, openMs, windowMs, minimumRate } = circuitSettings(settings);
    this.#threshold = failures;
    this.#probes = probes;
    this.#openMs = openMs;
    this.#bucketMs = windowMs / BUCKETS;
    this.#minimumRate = minimumRate;
    this.#bucketEndsAt = clock.now() + this.#bucketMs;
  }

  /** The state as of the last call; an open circuit turns half-open when the next call asks after its time. */
  get state(): CircuitState {
    return this.#state;
  }

  /** Asks to call: 0 = go; otherwise the milliseconds until it is worth asking again, at least 1. */
  admit(): number {
    return this.#state === "closed" ? 0 : this.#admitProbe();
  }

  /** The failures that opened the circuit, at most five, the latest last. */
  get causes(): readonly string[] {
    return [...this.#causes];
  }

  /** Names a failure that is about to be recorded. */
  noteCause(cause: string): void {
    if (this.#state === "open") return;
    this.#causes.push(cause);
    if (this.#causes.length > Math.min(this.#threshold, MAX_CAUSES)) this.#causes.shift();
  }

  /**
   * Tells how an admitted call ended.
   *
   * @param now of a success, the time that its attempt began will do: it counts as long as the failures recorded before it
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
    const isDown = this.#streak >= Math.max(STREAK, this.#threshold) && now - this.#streakAt >= STREAK_MS;
    if (isDown || rate >= this.#minimumRate) this.#open(now);
  }

  /** Moves to the bucket of `now`, forgetting those that left the window. */
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
        this.#enter("half-open");
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
      this.#forgetAll();
      this.#enter("closed");
    }
  }

  #open(now: number): void {
    this.#nextProbeAt = now + this.#openMs;
    this.#enter("open");
  }

  #forgetAll(): void {
    this.#failureBuckets.fill(0);
    this.#successBuckets.fill(0);
    this.#failures = 0;
    this.#successes = 0;
    this.#streak = 0;
    this.#causes.length = 0;
  }

  #enter(state: CircuitState): void {
    this.#state = state;
    this.#onChange?.(state);
  }
}

/** Codes that say that a dependency is unhealthy, wherever they were thrown. */
const UNWELL: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["timeout", "network_error", "rate_limited", "unavailable"]);

/**
 * The evidence of a call's end about the health of what its tool depends on.
 *
 * Timeouts, failed connections, rate limits and answers of a server that is broken are failures. Any other error, also an exception
 * that says nothing of its kind, may be about this one call, and says nothing about the next.
 *
 * @param serverFailed the error is the answer of a server that is broken, such as HTTP 500
 */
export function circuitOutcome(error: ToolError | undefined, serverFailed: boolean): CircuitOutcome {
  if (error === undefined) return "success";
  return serverFailed || UNWELL.has(error.code) ? "failure" : "ignored";
}

/** The settings with their defaults. @throws ToolError `invalid_argument` */
export function circuitSettings(settings: CircuitSettings): Required<CircuitSettings> {
  const { failures = 5, probes = 1, openMs = 30_000, windowMs = 60_000, minimumRate = 0.5 } = settings;
  return {
    failures: checked("failures", failures, Number.isInteger, "an integer of at least 1", 1),
    probes: checked("probes", probes, Number.isInteger, "an integer of at least 1", 1),
    openMs: checked("openMs", openMs, Number.isFinite, "at least 1 ms", 1),
    windowMs: checked("windowMs", windowMs, Number.isFinite, "at least 10 ms", BUCKETS),
    minimumRate: checked("minimumRate", minimumRate, (rate) => Number.isFinite(rate) && rate <= 1, "a share from 0 to 1", 0),
  };
}

function checked(name: string, value: number, fits: (value: number) => boolean, wanted: string, minimum: number): number {
  if (value >= minimum && fits(value)) return value;
  throw new ToolError("invalid_argument", `A circuit's ${name} is ${wanted}, not ${String(value)}.`);
}
