import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { Model, ModelEvent } from "../../core/model.ts";
import type { Clock } from "../../core/ports.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import { onNextTurn } from "../../core/system/lazy-timer.ts";

/** The real clock, except while simulated work is fast-forwarded, whose waits take no real time. */
export interface VirtualClock extends Clock {
  /**
   * Runs the work, during which the next timer fires as soon as nothing else is left to do: backoff, simulated latencies and timeouts pass at once,
   * in their order. Outside of it, and for background timers, time is real.
   *
   * For work whose calls are all answered at once, by examples, stubs or a recording. Work that takes real time, such as a real tool, would be cut
   * off by its deadline; only models returned by `attend` are waited for, and toolsets that open, or list their tools again, by `real`.
   */
  fastForward<T>(work: () => Promise<T>): Promise<T>;
  /** Wraps a model whose requests take real time: while one is in flight, no time is skipped, and timers fire when they are really due. */
  attend(model: Model): Model;
  readonly real: Clock;
}

/** Returns a clock for `RuntimeOptions.ports`. It is the real clock, except for work that `fastForward` runs. */
export function virtualClock(): VirtualClock {
  return new SkippingClock();
}

interface Timer {
  readonly dueAt: number;
  readonly fire: () => void;
  /** Set once the timer runs on the real clock. */
  cancel?: () => void;
}

/** Number of event-loop turns without a new timer after which the next timer fires. */
const QUIET_TURNS = 3;

class SkippingClock implements VirtualClock {
  readonly real: Clock = systemPorts.clock;
  readonly #timers = new Set<Timer>();
  /** The total time skipped, in milliseconds. */
  #skippedMs = 0;
  #running = 0;
  #quietTurns = 0;
  #isTurnScheduled = false;
  /** Number of model requests in flight. */
  #requests = 0;
  /** Set while the next timer runs on the real clock. */
  #disarm: (() => void) | undefined;

  now(): number {
    return this.real.now() + this.#skippedMs;
  }

  wallTime(): number {
    return this.real.wallTime();
  }

  hold(): void {
    this.real.hold?.();
  }

  release(): void {
    this.real.release?.();
  }

  timer(fire: () => void, delayMs: number, options?: { readonly background?: boolean }): () => void {
    if (this.#running === 0 || options?.background === true) return this.real.timer(fire, delayMs, options);
    const timer: Timer = { dueAt: this.now() + Math.max(0, delayMs), fire };
    this.#timers.add(timer);
    this.#quietTurns = 0;
    if (this.#requests > 0) this.#armNextTimer();
    this.#scheduleTurn();
    return () => {
      this.#timers.delete(timer);
      timer.cancel?.();
    };
  }

  async fastForward<T>(work: () => Promise<T>): Promise<T> {
    this.#running++;
    try {
      return await work();
    } finally {
      if (--this.#running === 0) this.#moveTimersToRealClock();
    }
  }

  attend(model: Model): Model {
    const { format, serverUrl } = model;
    return {
      name: model.name,
      ...omitUndefined({ format, serverUrl }),
      ...(model.toolNameOf === undefined ? {} : { toolNameOf: (name: string) => model.toolNameOf?.(name) ?? name }),
      stream: (request, options) => this.#streamCounted(() => model.stream(request, options)),
    };
  }

  async *#streamCounted(open: () => AsyncIterable<ModelEvent>): AsyncGenerator<ModelEvent, void, undefined> {
    this.#requests++;
    this.#armNextTimer();
    try {
      yield* open();
    } finally {
      this.#requests--;
      this.#quietTurns = 0;
      this.#armNextTimer();
      this.#scheduleTurn();
    }
  }

  /** Starts the next timer on the real clock while a request is in flight. */
  #armNextTimer(): void {
    this.#disarm?.();
    this.#disarm = undefined;
    const next = this.#requests === 0 ? undefined : this.#findNextTimer();
    if (next === undefined) return;
    this.#disarm = this.real.timer(
      () => {
        this.#disarm = undefined;
        if (this.#timers.delete(next)) next.fire();
        this.#armNextTimer();
      },
      Math.max(0, next.dueAt - this.now()),
    );
  }

  #moveTimersToRealClock(): void {
    this.#disarm?.();
    this.#disarm = undefined;
    for (const timer of this.#timers) timer.cancel = this.real.timer(timer.fire, Math.max(0, timer.dueAt - this.now()));
    this.#timers.clear();
  }

  #scheduleTurn(): void {
    if (this.#isTurnScheduled || this.#timers.size === 0 || this.#requests > 0) return;
    this.#isTurnScheduled = true;
    onNextTurn(() => {
      this.#isTurnScheduled = false;
      if (this.#requests === 0 && ++this.#quietTurns > QUIET_TURNS) this.#fireNext();
      this.#scheduleTurn();
    });
  }

  #fireNext(): void {
    this.#quietTurns = 0;
    const next = this.#findNextTimer();
    if (next === undefined) return;
    this.#timers.delete(next);
    this.#skippedMs += Math.max(0, next.dueAt - this.now());
    next.fire();
  }

  #findNextTimer(): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) if (next === undefined || timer.dueAt < next.dueAt) next = timer;
    return next;
  }
}
