/** The real clock, randomness, ids and log. Only here does the runtime access them. */
import { randomFillSync } from "node:crypto";
import { escapeControls } from "../base/escape-invisible.ts";
import { IS_CLOUDFLARE_WORKER } from "./node-version.ts";
import { areTimersFake, monotonicNow, onNextTurn, setLazyExpiry, setLazyTimer, MAX_TIMER_MS } from "./lazy-timer.ts";
import type { Clock, Ids, Log, Ports } from "../ports.ts";

/** Node's own, also while a test has replaced them: a replaced one keeps no process alive, and does not clear Node's. */
const nodeSetTimeout = setTimeout;
const nodeSetInterval = setInterval;
const nodeClearInterval = clearInterval;
const nodePerformance = performance;

/**
 * Keeps the event loop alive while a caller waits for something that does not do so itself. Node's own timer is set only in the next iteration of the
 * event loop, so a hold that is released at once costs almost nothing. What begins under the fake timers of a test may never end, and holds nothing.
 */
class KeepAlive {
  #holders = 0;
  #fakeHolders = 0;
  #isArmingScheduled = false;
  #handle: NodeJS.Timeout | undefined;

  hold(): void {
    if (areTimersFake()) this.#fakeHolders++;
    else this.#hold();
  }

  #hold(): void {
    if (this.#holders++ > 0 || this.#isArmingScheduled) return;
    this.#isArmingScheduled = true;
    onNextTurn(() => this.#arm());
  }

  release(): void {
    if (this.#fakeHolders > 0 && (this.#holders === 0 || areTimersFake())) this.#fakeHolders--;
    else this.#release();
  }

  #release(): void {
    if (--this.#holders > 0) return;
    nodeClearInterval(this.#handle);
    this.#handle = undefined;
  }

  #arm(): void {
    this.#isArmingScheduled = false;
    if (this.#holders > 0) this.#handle ??= nodeSetInterval(() => {}, MAX_TIMER_MS);
  }
}

const keepAlive = new KeepAlive();

/** How long a reading of the processor time is reused, in milliseconds: every call asks for it when it begins. */
const FRESH_MS = 5;
const usage = usageReader();
let readAt = -Infinity;
let processorMs = 0;

/**
 * Reads the processor time. Node has `threadCpuUsage` since 22.19 and 23.9; `cpuUsage` counts all threads, so at least as much. Workers have neither.
 */
function usageReader(): () => { readonly user: number; readonly system: number } {
  if (IS_CLOUDFLARE_WORKER) return () => ({ user: 0, system: 0 });
  return typeof process.threadCpuUsage === "function" ? () => process.threadCpuUsage() : () => process.cpuUsage();
}

function processorTime(now: number): number {
  // A clock with its own `now()` that uses the system's other methods may be far ahead.
  if (Math.abs(now - readAt) >= FRESH_MS) {
    const { user, system } = usage();
    [readAt, processorMs] = [now, (user + system) / 1_000];
  }
  return processorMs;
}

/** Rounds a duration in milliseconds to microseconds: the difference of two times has more decimals than the clock's precision. */
export function roundMs(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

const systemClock: Clock = {
  hold: () => keepAlive.hold(),
  release: () => keepAlive.release(),
  now: () => (setTimeout === nodeSetTimeout ? nodePerformance.now() : monotonicNow()), // every call reads it several times
  wallTime: () => Date.now(),
  processorTime,
  expiry: setLazyExpiry,
  timer: (fire, delayMs, options) => setLazyTimer(fire, monotonicNow() + delayMs, options?.background === true),
};

/**
 * 128 random bits and a counter: unguessable from outside, and cheap enough for every call. All ids of the process share the bits, except those of
 * sessions, which may be given to others: each has new bits, so it reveals nothing about other sessions.
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
/** Random bits are fetched in bulk, which takes no longer than for one session. None is used twice. */
const POOL = Buffer.allocUnsafeSlow(128 * RANDOM_BYTES);
let used = POOL.length;
/** Created for the first id: Cloudflare Workers allow no randomness while a module is loaded. */
let processId: string | undefined;
/** The last two digits of the counter, which are cheaper to look up than to compute. */
const LOW: readonly string[] = Array.from({ length: 36 ** 2 }, (_, index) => index.toString(36).padStart(2, "0"));
/** The beginning of each prefix's ids, until the other digits change; ids share this string in memory. */
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

/** Drops debug messages and writes each warning to standard error as one line. */
const systemLog: Log = {
  debug() {},
  warn: (message) => process.stderr.write(`haft: ${escapeControls(message)}\n`),
};

export const systemPorts: Ports = {
  clock: systemClock,
  random: { next: () => Math.random() },
  ids: systemIds,
  log: systemLog,
};
