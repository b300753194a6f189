/** The real clock, randomness, ids and log. The only place where the runtime reaches for them. */
import { randomFillSync } from "node:crypto";
import { IS_CLOUDFLARE_WORKER } from "./node-version.ts";
import { lateExpiry, lateTimer, MAX_TIMER_MS } from "./late-timer.ts";
import type { Clock, Ids, Log, Ports } from "./ports.ts";

/**
 * Keeps the event loop alive while anything is waited for, whatever that waits for itself. Node's own timer is set only when the event
 * loop comes round, so a hold that is released at once costs next to nothing.
 */
class KeepAlive {
  #holders = 0;
  #armingIsDue = false;
  #handle: NodeJS.Timeout | undefined;

  hold(): void {
    if (this.#holders++ > 0 || this.#armingIsDue) return;
    this.#armingIsDue = true;
    setImmediate(() => this.#arm());
  }

  release(): void {
    if (--this.#holders > 0) return;
    clearInterval(this.#handle);
    this.#handle = undefined;
  }

  #arm(): void {
    this.#armingIsDue = false;
    if (this.#holders > 0) this.#handle ??= setInterval(() => {}, MAX_TIMER_MS);
  }
}

const keepAlive = new KeepAlive();

/** A reading of the processor time is used for so long: it is asked for at the beginning of each call. */
const FRESH_MS = 5;
const usage = usageReader();
let readAt = -Infinity;
let processorMs = 0;

/** Node has `threadCpuUsage` since 22.19 and 23.9; `cpuUsage` counts all threads, which is at least as much. Cloudflare Workers tell neither. */
function usageReader(): () => { readonly user: number; readonly system: number } {
  if (IS_CLOUDFLARE_WORKER) return () => ({ user: 0, system: 0 });
  return typeof process.threadCpuUsage === "function" ? () => process.threadCpuUsage() : () => process.cpuUsage();
}

function processorTime(now: number): number {
  // A clock that has its own `now()` and the rest of the system's may be far ahead of the others.
  if (Math.abs(now - readAt) >= FRESH_MS) {
    const { user, system } = usage();
    [readAt, processorMs] = [now, (user + system) / 1_000];
  }
  return processorMs;
}

/** A length of time to microseconds, in milliseconds: the difference of two times has more decimals than a clock can tell. */
export function roundMs(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

const systemClock: Clock = {
  hold: () => keepAlive.hold(),
  release: () => keepAlive.release(),
  now: () => performance.now(),
  wallTime: () => Date.now(),
  processorTime,
  expiry: lateExpiry,
  timer: (fire, delayMs, options) => lateTimer(fire, performance.now() + delayMs, options?.background === true),
};

/**
 * 128 random bits and a counter: unguessable from outside, and cheap enough for every call. The bits are the process's own, but for
 * a session, whose id may be given to others: they are new, and reveal nothing of other sessions.
 */
const systemIds: Ids = {
  next(prefix) {
    if (low === LOW.length) {
      low = 0;
      high = (++times).toString(36);
      stems.clear();
    }
    const stem = prefix === "session" ? `session_${randomPart()}${high}` : (stems.get(prefix) ?? newStem(prefix));
    return stem + LOW[low++];
  },
};
const RANDOM_BYTES = 16;
/** Random bits are asked for in bulk: that takes no longer than asking for those of one session. None is used twice. */
const POOL = Buffer.allocUnsafeSlow(128 * RANDOM_BYTES);
let used = POOL.length;
/** Made for the first id: Cloudflare Workers allow nothing random while a module is loaded. */
let processId: string | undefined;
/** The last two digits of the counter, which are cheaper to look up than to work out. */
const LOW: readonly string[] = Array.from({ length: 36 ** 2 }, (_, index) => index.toString(36).padStart(2, "0"));
/** The beginning of each prefix's ids, until the other digits change; the ids share it in memory. */
const stems = new Map<string, string>();
let low = 0;
let times = 0;
let high = "";

function newStem(prefix: string): string {
  processId ??= randomPart();
  const stem = `${prefix}_${processId}${high}`;
  stems.set(prefix, stem);
  return stem;
}

function randomPart(): string {
  if (used === POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  const part = POOL.toString("base64url", used, used + RANDOM_BYTES);
  POOL.fill(0, used, (used += RANDOM_BYTES));
  return `${part}_`;
}

/** Debug lines go nowhere; warnings go to standard error. */
const systemLog: Log = {
  debug() {},
  warn: (message) => process.stderr.write(`haft: ${message}\n`),
};

export const systemPorts: Ports = {
  clock: systemClock,
  random: { next: () => Math.random() },
  ids: systemIds,
  log: systemLog,
};
