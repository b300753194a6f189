/** The real clock, randomness, ids and log. The only place where the runtime reaches for them. */
import { randomFillSync } from "node:crypto";
import type { Clock, Ids, Log, Ports } from "./ports.ts";

/** Longest delay a Node timer takes; a longer one would fire at once. */
const MAX_TIMER_MS = 2_147_483_647;
/** So many timers that were cancelled before they were armed may pile up before they are swept out. */
const MAX_STALE = 1_024;

/**
 * A timer that costs next to nothing when it is cancelled at once, as the deadline of a quick call is: Node's own
 * is set only when the event loop comes round.
 */
class LateArmedTimer {
  readonly #fire: () => void;
  readonly #background: boolean;
  #at: number;
  #handle: NodeJS.Timeout | undefined;
  over = false;

  constructor(fire: () => void, at: number, background: boolean) {
    this.#fire = fire;
    this.#at = at;
    this.#background = background;
  }

  arm(): void {
    if (this.over) return;
    const stepMs = Math.min(Math.max(0, Math.ceil(this.#at - performance.now())), MAX_TIMER_MS);
    this.#handle = setTimeout(() => this.#wake(), stepMs);
    if (this.#background) this.#handle.unref();
  }

  /** Node's timers may come a little early, and the longest ones are waited for in parts. */
  #wake(): void {
    if (performance.now() < this.#at) this.arm();
    else this.#end();
  }

  #end(): void {
    this.over = true;
    this.#fire();
  }

  cancel(): void {
    this.over = true;
    if (this.#handle !== undefined) clearTimeout(this.#handle);
    else if (unarmed.at(-1) === this) unarmed.pop();
    else if (++stale > MAX_STALE && stale * 2 > unarmed.length) sweep();
  }
}

let unarmed: LateArmedTimer[] = [];
/** How many of them are over; swept out once they are the greater part, so that a sweep pays for itself. */
let stale = 0;
let armingIsDue = false;

function sweep(): void {
  unarmed = unarmed.filter((timer) => !timer.over);
  stale = 0;
}

function armAll(): void {
  armingIsDue = false;
  const timers = unarmed;
  unarmed = [];
  stale = 0;
  for (const timer of timers) timer.arm();
}

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

const systemClock: Clock = {
  hold: () => keepAlive.hold(),
  release: () => keepAlive.release(),
  now: () => performance.now(),
  wallTime: () => Date.now(),
  timer(fire, delayMs, options) {
    const timer = new LateArmedTimer(fire, performance.now() + delayMs, options?.background === true);
    unarmed.push(timer);
    if (!armingIsDue) {
      armingIsDue = true;
      setImmediate(armAll);
    }
    return () => timer.cancel();
  },
};

/**
 * 128 random bits and a counter: unguessable from outside, and cheap enough for every call. The bits are the process's own, but for
 * a session, whose id may be given to somebody: they are new, and tell nothing of other sessions.
 */
const systemIds: Ids = {
  next(prefix) {
    if (low === LOW.length) {
      low = 0;
      high = (++times).toString(36);
    }
    return `${prefix}_${prefix === "session" ? randomPart() : PROCESS_ID}${high}${LOW[low++]}`;
  },
};
const RANDOM_BYTES = 16;
/** Random bits are asked for in bulk: that takes no longer than asking for those of one session. None is used twice. */
const POOL = Buffer.allocUnsafeSlow(128 * RANDOM_BYTES);
let used = POOL.length;
const PROCESS_ID = randomPart();
/** The last two digits of the counter, which are cheaper to look up than to work out. */
const LOW: readonly string[] = Array.from({ length: 36 ** 2 }, (_, index) => index.toString(36).padStart(2, "0"));
let low = 0;
let times = 0;
let high = "";

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
