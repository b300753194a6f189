/** The real clock, randomness, ids and log. The only place where the runtime reaches for them. */
import { randomBytes } from "node:crypto";
import type { Clock, Ids, Log, Ports } from "../core/ports.ts";

/** Longest delay a Node timer takes; a longer one would fire at once. */
const MAX_TIMER_MS = 2_147_483_647;

export const systemClock: Clock = {
  now: () => performance.now(),
  wallTime: () => Date.now(),
  timer(fire, delayMs, options) {
    let left = delayMs;
    let handle: NodeJS.Timeout;
    const arm = (): void => {
      const step = Math.min(left, MAX_TIMER_MS);
      left -= step;
      handle = setTimeout(left > 0 ? arm : fire, step);
      if (options?.background === true) handle.unref();
    };
    arm();
    return () => clearTimeout(handle);
  },
};

/** 128 random bits per process and a counter: unguessable, and cheap enough for every call. */
const systemIds: Ids = {
  next: (prefix) => `${prefix}_${PROCESS_ID}${(count++).toString(36).padStart(6, "0")}`,
};
const PROCESS_ID = randomBytes(16).toString("hex");
let count = 0;

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
