/** Timers that share a few of Node's timers, which are set late. */
import type { Expiring, Timer } from "./ports.ts";

/** Maximum delay of a Node timer, in milliseconds; a longer one would fire at once. */
export const MAX_TIMER_MS = 2_147_483_647;
/** How many timers that were cancelled before they were armed may accumulate before they are swept out. */
const MAX_STALE = 1_024;

/**
 * Calls `fire` once, after `performance.now()` has reached `at`; the returned function cancels it. @param inBackground whether the process may exit
 */
export function lateTimer(fire: () => void, at: number, inBackground: boolean): () => void {
  const timer = setLate(new LateArmedTimer({ expire: fire }, at, inBackground ? background : foreground));
  return () => timer.cancel();
}

/** Like `lateTimer`, for an object that expires. */
export function lateExpiry(target: Expiring, at: number): Timer {
  return setLate(new LateArmedTimer(target, at, foreground));
}

function setLate(timer: LateArmedTimer): LateArmedTimer {
  unarmed.push(timer);
  if (!armingIsDue) {
    armingIsDue = true;
    setImmediate(armAll);
  }
  return timer;
}

/**
 * A timer that costs almost nothing if it is cancelled at once, as the deadline of a quick call is: Node's own timer is set only in the next
 * iteration of the event loop, one for all timers due in the same millisecond.
 */
class LateArmedTimer implements Timer {
  readonly #target: Expiring;
  readonly #alarms: Alarms;
  readonly at: number;
  /** The alarm that the timer belongs to once it is armed, and its neighbours there. */
  alarm: Alarm | undefined = undefined;
  earlier: LateArmedTimer | undefined = undefined;
  later: LateArmedTimer | undefined = undefined;
  over = false;

  constructor(target: Expiring, at: number, alarms: Alarms) {
    this.#target = target;
    this.at = at;
    this.#alarms = alarms;
  }

  arm(): void {
    if (!this.over) this.#alarms.add(this);
  }

  /** Fires. Errors are thrown in a microtask, as if from a Node timer, so that the other due timers still run. */
  end(): void {
    this.over = true;
    try {
      this.#target.expire();
    } catch (thrown: unknown) {
      queueMicrotask(() => {
        throw thrown;
      });
    }
  }

  cancel(): void {
    if (this.over) return;
    this.over = true;
    if (this.alarm !== undefined) this.#alarms.remove(this, this.alarm);
    else if (unarmed.at(-1) === this) unarmed.pop();
    else if (++stale > MAX_STALE && stale * 2 > unarmed.length) sweep();
  }
}

/** The timers that are due in the same millisecond, sharing one Node timer. */
class Alarm {
  readonly dueAt: number;
  handle: NodeJS.Timeout | undefined = undefined;
  first: LateArmedTimer | undefined = undefined;
  last: LateArmedTimer | undefined = undefined;

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

  add(timer: LateArmedTimer): void {
    const alarm = this.#dueAt(Math.ceil(timer.at));
    timer.alarm = alarm;
    timer.earlier = alarm.last;
    if (alarm.last === undefined) alarm.first = timer;
    else alarm.last.later = timer;
    alarm.last = timer;
  }

  remove(timer: LateArmedTimer, alarm: Alarm): void {
    unlink(timer, alarm);
    if (alarm.first !== undefined) return;
    clearTimeout(alarm.handle);
    this.#byDue.delete(alarm.dueAt);
  }

  #dueAt(dueAt: number): Alarm {
    let alarm = this.#byDue.get(dueAt);
    if (alarm === undefined) {
      alarm = new Alarm(dueAt);
      this.#byDue.set(dueAt, alarm);
      this.#set(alarm);
    }
    return alarm;
  }

  #set(alarm: Alarm): void {
    alarm.handle = setTimeout(() => this.#wake(alarm), Math.min(Math.max(0, Math.ceil(alarm.dueAt - performance.now())), MAX_TIMER_MS));
    if (this.#background) alarm.handle.unref();
  }

  /** Fires the timers of an alarm. Node's timers may fire a little early, and delays above `MAX_TIMER_MS` are split. */
  #wake(alarm: Alarm): void {
    if (performance.now() < alarm.dueAt) return this.#set(alarm);
    for (let timer = alarm.first; timer !== undefined; timer = alarm.first) {
      unlink(timer, alarm);
      timer.end();
    }
    this.#byDue.delete(alarm.dueAt);
  }
}

function unlink(timer: LateArmedTimer, alarm: Alarm): void {
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
let unarmed: LateArmedTimer[] = [];
/** How many of the unarmed timers are over. They are swept out once they are the majority, which keeps the cost amortised. */
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
