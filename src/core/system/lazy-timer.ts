/** Timers that share a few of Node's timers, which are set late. */
import timers from "node:timers";
import type { Expiring, Timer } from "../ports.ts";

/** Maximum delay of a Node timer, in milliseconds; a longer one would fire at once. */
export const MAX_TIMER_MS = 2_147_483_647;
/** How many timers that were cancelled before they were armed may accumulate before they are swept out. */
const MAX_STALE = 1_024;

const nodeSetTimeout = setTimeout;
const nodeClearTimeout = clearTimeout;
const nodePerformance = performance;
const nodeDate = Date;
/** Node's `setImmediate`, also while a test has replaced it: what waits for a replaced one is lost when the test ends, and would never be done. */
export const { setImmediate: onNextTurn, clearImmediate: notOnNextTurn } = timers; // as globals, they are missing in Jest's imitation of a browser

/** The function that was looked at last in place of Node's `setTimeout`, and whether its timers are fake. */
let judged: unknown;
let isJudgedFake = false;

/**
 * Whether a test has replaced the timers since this file was loaded. What only wraps Node's, as monitoring and zone.js do, and as a spy does, keeps real
 * time, and programs go on with it.
 */
export function areTimersFake(): boolean {
  if (setTimeout === nodeSetTimeout) return false;
  if (judged !== setTimeout) {
    judged = setTimeout;
    isJudgedFake = !makesNodeTimers();
  }
  return isJudgedFake;
}

/** Whether `setTimeout` returns a timer of Node. In the window of a test it returns a number, as fake ones do: false. */
function makesNodeTimers(): boolean {
  const [made, own] = [setTimeout(() => {}), nodeSetTimeout(() => {})];
  clearTimeout(made);
  nodeClearTimeout(own);
  return typeof made === "object" && made.constructor === own.constructor;
}

/**
 * The time of `performance.now()`. In Node.js the global `performance` is a getter, which takes almost as long as reading the clock. Fake timers of a
 * test replace it together with `setTimeout`, whose comparison takes no time.
 */
export function monotonicNow(): number {
  return areTimersFake() ? fakeNow() : nodePerformance.now();
}

let fakeDate: DateConstructor | undefined;
let dateOffset = 0;

/** The time of fake timers. Those of `node:test` replace `Date`, but not `performance`. */
function fakeNow(): number {
  if (performance !== nodePerformance || Date === nodeDate) return performance.now();
  if (Date !== fakeDate) {
    fakeDate = Date;
    dateOffset = Math.round(nodePerformance.now()) - Date.now();
  }
  return Date.now() + dateOffset;
}

/**
 * Calls `fire` once, after `monotonicNow()` has reached `at`; the returned function cancels it. @param inBackground whether the process may exit
 */
export function setLazyTimer(fire: () => void, at: number, inBackground: boolean): () => void {
  const timer = queueTimer(new LazyTimer({ expire: fire }, at, inBackground ? background : foreground));
  return () => timer.cancel();
}

/** Like `setLazyTimer`, for an object that expires. */
export function setLazyExpiry(target: Expiring, at: number): Timer {
  return queueTimer(new LazyTimer(target, at, foreground));
}

/** Fake timers of a test are set at once, so that the test can advance them, and so that none of them is armed after its end. */
function queueTimer(timer: LazyTimer): LazyTimer {
  if (areTimersFake()) {
    timer.arm(true);
    return timer;
  }
  unarmedTimers.push(timer);
  if (!isArmingScheduled) {
    isArmingScheduled = true;
    onNextTurn(armAll);
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

  arm(isFake: boolean): void {
    if (!this.isEnded) this.#alarms.add(this, isFake);
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
  /** Set by fake timers. A test may end without them, so no other timer shares the alarm. */
  readonly isFake: boolean;
  stop: () => void = () => {};
  first: LazyTimer | undefined = undefined;
  last: LazyTimer | undefined = undefined;

  constructor(dueAt: number, isFake: boolean) {
    this.dueAt = dueAt;
    this.isFake = isFake;
  }
}

class Alarms {
  readonly #background: boolean;
  readonly #byDue = new Map<number, Alarm>();

  /** @param background whether these timers let the process exit */
  constructor(background: boolean) {
    this.#background = background;
  }

  add(timer: LazyTimer, isFake: boolean): void {
    const alarm = isFake ? this.#fakeAlarm(timer.at) : this.#alarmAt(Math.ceil(timer.at));
    timer.alarm = alarm;
    timer.earlier = alarm.last;
    if (alarm.last === undefined) alarm.first = timer;
    else alarm.last.later = timer;
    alarm.last = timer;
  }

  remove(timer: LazyTimer, alarm: Alarm): void {
    unlink(timer, alarm);
    if (alarm.first !== undefined) return;
    alarm.stop();
    if (!alarm.isFake) this.#byDue.delete(alarm.dueAt);
  }

  #alarmAt(dueAt: number): Alarm {
    let alarm = this.#byDue.get(dueAt);
    if (alarm === undefined) {
      alarm = new Alarm(dueAt, false);
      this.#byDue.set(dueAt, alarm);
      this.#startTimer(alarm);
    }
    return alarm;
  }

  #fakeAlarm(dueAt: number): Alarm {
    const alarm = new Alarm(dueAt, true);
    this.#startTimer(alarm);
    return alarm;
  }

  /** An alarm keeps the clock in which it was set: fake timers do not take over those of Node, and end with their test. */
  #startTimer(alarm: Alarm): void {
    const [set, clear] = alarm.isFake ? [setTimeout, clearTimeout] : [nodeSetTimeout, nodeClearTimeout];
    const delayMs = Math.max(0, Math.ceil(alarm.dueAt - (alarm.isFake ? monotonicNow() : nodePerformance.now())));
    const isLast = delayMs <= MAX_TIMER_MS;
    const handle: NodeJS.Timeout | number = set(() => this.#fireAll(alarm, isLast), isLast ? delayMs : MAX_TIMER_MS);
    alarm.stop = () => clear(handle);
    if (this.#background && typeof handle === "object") handle.unref(); // in the window of a test, as that of jsdom, it is a number
  }

  /** Fires the timers of an alarm. Node's timers may fire a little early, and delays above `MAX_TIMER_MS` are split. */
  #fireAll(alarm: Alarm, isLast: boolean): void {
    if (alarm.isFake ? !isLast : nodePerformance.now() < alarm.dueAt) return this.#startTimer(alarm);
    for (let timer = alarm.first; timer !== undefined; timer = alarm.first) {
      unlink(timer, alarm);
      timer.fire();
    }
    if (!alarm.isFake) this.#byDue.delete(alarm.dueAt);
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
/** How many of the unarmed timers are over. They are swept out once they are the majority, which keeps the cost amortized. */
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
  for (const timer of timers) timer.arm(false);
}
