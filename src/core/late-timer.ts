/** Timers of which Node's own are set late, and few. */
import type { Expiring, Timer } from "./ports.ts";

/** Longest delay a Node timer takes; a longer one would fire at once. */
export const MAX_TIMER_MS = 2_147_483_647;
/** So many timers that were cancelled before they were armed may pile up before they are swept out. */
const MAX_STALE = 1_024;

/** Calls `fire` once, not before `performance.now()` has reached `at`; the returned function cancels it. @param inBackground it does not keep the process alive */
export function lateTimer(fire: () => void, at: number, inBackground: boolean): () => void {
  const timer = setLate(new LateArmedTimer({ expire: fire }, at, inBackground ? background : foreground));
  return () => timer.cancel();
}

/** As `lateTimer`, for an object that expires. */
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
 * A timer that costs next to nothing when it is cancelled at once, as the deadline of a quick call is: Node's own
 * is set only when the event loop comes round, one for all that are due in the same millisecond.
 */
class LateArmedTimer implements Timer {
  readonly #target: Expiring;
  readonly #alarms: Alarms;
  readonly at: number;
  /** Where it waits, and next to which others, once it is armed. */
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

  /** An error of its function is thrown as from a timer of Node's: the others that are due run all the same. */
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

/** The timers that are due in one millisecond, behind one of Node's. */
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

  /** @param background they do not keep the process alive */
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

  /** Node's timers may come a little early, and the longest ones are waited for in parts. */
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
