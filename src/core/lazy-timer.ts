/** Timers that share a few of Node's timers, which are set late. */
import type { Expiring, Timer } from "./ports.ts";

/** Maximum delay of a Node timer, in milliseconds; a longer one would fire at once. */
export const MAX_TIMER_MS = 2_147_483_647;
/** How many timers that were cancelled before they were armed may accumulate before they are swept out. */
const MAX_STALE = 1_024;

/**
 * Calls `fire` once, after `performance.now()` has reached `at`; the returned function cancels it. @param inBackground whether the process may exit
 */
export function setLazyTimer(fire: () => void, at: number, inBackground: boolean): () => void {
  const timer = queueTimer(new LazyTimer({ expire: fire }, at, inBackground ? background : foreground));
  return () => timer.cancel();
}

/** Like `setLazyTimer`, for an object that expires. */
export function setLazyExpiry(target: Expiring, at: number): Timer {
  return queueTimer(new LazyTimer(target, at, foreground));
}

function queueTimer(timer: LazyTimer): LazyTimer {
  unarmedTimers.push(timer);
  if (!isArmingScheduled) {
    isArmingScheduled = true;
    setImmediate(armAll);
  }
  return timer;
}

/**
 * A timer that costs almost nothing if it is cancelled at once, as the deadline of a quick call is: Node's own timer is set only in the next
 * iteration of the event loop, one for all timers due in the same millisecond.
 */
class LazyTimer implements Timer {
  readonly #target: Expiring;
  readonly #alarms: Alarms;
  readonly at: number;
  /** The alarm that the timer belongs to once it is armed, and its neighbours there. */
  alarm: Alarm | undefined = undefined;
  earlier: LazyTimer | undefined = undefined;
  later: LazyTimer | undefined = undefined;
  isEnded = false;

  constructor(target: Expiring, at: number, alarms: Alarms) {
    this.#target = target;
    this.at = at;
    this.#alarms = alarms;
  }

  arm(): void {
    if (!this.isEnded) this.#alarms.add(this);
  }

  /** Fires. Errors are thrown in a microtask, as if from a Node timer, so that the other due timers still run. */
  fire(): void {
    this.isEnded = true;
    try {
      this.#target.expire();
    } catch (thrown: unknown) {
      queueMicrotask(() => {
        throw thrown;
      });
    }
  }

  cancel(): void {
    if (this.isEnded) return;
    this.isEnded = true;
    if (this.alarm !== undefined) this.#alarms.remove(this, this.alarm);
    else if (unarmedTimers.at(-1) === this) unarmedTimers.pop();
    else if (++staleCount > MAX_STALE && staleCount * 2 > unarmedTimers.length) dropStale();
  }
}

/** The timers that are due in the same millisecond, sharing one Node timer. */
class Alarm {
  readonly dueAt: number;
  handle: NodeJS.Timeout | undefined = undefined;
  first: LazyTimer | undefined = undefined;
  last: LazyTimer | undefined = undefined;

  constructor(dueAt: number) {
    this.dueAt = dueAt;
  }
}

class Alarms {
  readonly #background: boolean;
  readonly #byDue = new Map<number, Alarm>();

  /** @param background whether these timers let the process exit */
  constructor(background: boolean) {
    this.#background = background;
  }

  add(timer: LazyTimer): void {
    const alarm = this.#alarmAt(Math.ceil(timer.at));
    timer.alarm = alarm;
    timer.earlier = alarm.last;
    if (alarm.last === undefined) alarm.first = timer;
    else alarm.last.later = timer;
    alarm.last = timer;
  }

  remove(timer: LazyTimer, alarm: Alarm): void {
    unlink(timer, alarm);
    if (alarm.first !== undefined) return;
    clearTimeout(alarm.handle);
    this.#byDue.delete(alarm.dueAt);
  }

  #alarmAt(dueAt: number): Alarm {
    let alarm = this.#byDue.get(dueAt);
    if (alarm === undefined) {
      alarm = new Alarm(dueAt);
      this.#byDue.set(dueAt, alarm);
      this.#startNodeTimer(alarm);
    }
    return alarm;
  }

  #startNodeTimer(alarm: Alarm): void {
    alarm.handle = setTimeout(() => this.#fireAll(alarm), Math.min(Math.max(0, Math.ceil(alarm.dueAt - performance.now())), MAX_TIMER_MS));
    if (this.#background) alarm.handle.unref();
  }

  /** Fires the timers of an alarm. Node's timers may fire a little early, and delays above `MAX_TIMER_MS` are split. */
  #fireAll(alarm: Alarm): void {
    if (performance.now() < alarm.dueAt) return this.#startNodeTimer(alarm);
    for (let timer = alarm.first; timer !== undefined; timer = alarm.first) {
      unlink(timer, alarm);
      timer.fire();
    }
    this.#byDue.delete(alarm.dueAt);
  }
}

function unlink(timer: LazyTimer, alarm: Alarm): void {
  const { earlier, later } = timer;
  if (earlier === undefined) alarm.first = later;
  else earlier.later = later;
  if (later === undefined) alarm.last = earlier;
  else later.earlier = earlier;
  timer.alarm = undefined;
  timer.earlier = undefined;
  timer.later = undefined;
}

const foreground = new Alarms(false);
const background = new Alarms(true);
let unarmedTimers: LazyTimer[] = [];
/** How many of the unarmed timers are over. They are swept out once they are the majority, which keeps the cost amortised. */
let staleCount = 0;
let isArmingScheduled = false;

function dropStale(): void {
  unarmedTimers = unarmedTimers.filter((timer) => !timer.isEnded);
  staleCount = 0;
}

function armAll(): void {
  isArmingScheduled = false;
  const timers = unarmedTimers;
  unarmedTimers = [];
  staleCount = 0;
  for (const timer of timers) timer.arm();
}
