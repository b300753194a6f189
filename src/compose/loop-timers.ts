/** Ends a run that takes too long or shows no activity. */
import { ToolError } from "../core/error.ts";
import type { Clock } from "../core/ports.ts";
import { crashAfterMs } from "./loop-budget.ts";
import type { CheckedLimits } from "./loop-limits.ts";
import type { StopReason } from "./stop-reason.ts";

export interface TimedStop {
  readonly reason: StopReason;
  readonly detail: string;
}

export class LoopTimers {
  /** Why the run was ended; undefined if it was not. */
  stopped: TimedStop | undefined;
  readonly #clock: Clock;
  readonly #abort: (reason: ToolError) => void;
  readonly #cancels: (() => void)[] = [];
  #lastActivityAt: number;
  #cancelIdle: (() => void) | undefined;

  /** @param abort ends the run; called at most once */
  constructor(clock: Clock, limits: CheckedLimits, abort: (reason: ToolError) => void) {
    this.#clock = clock;
    this.#abort = abort;
    this.#lastActivityAt = clock.now();
    const { maxDurationMs, idleMs, budget } = limits;
    const crashMs = crashAfterMs(budget);
    if (maxDurationMs > 0) this.#stopAfter(maxDurationMs, { reason: "timeout", detail: `The run took longer than ${maxDurationMs} ms.` });
    if (crashMs !== undefined) this.#stopAfter(crashMs, { reason: "budget", detail: `The run took longer than ${crashMs} ms.` });
    if (idleMs > 0) this.#watchIdle(idleMs, idleMs);
  }

  /** Records activity, which resets the idle timer. */
  recordActivity(): void {
    if (this.#cancelIdle !== undefined) this.#lastActivityAt = this.#clock.now();
  }

  clear(): void {
    for (const cancel of this.#cancels) cancel();
    this.#cancelIdle?.();
  }

  #stopAfter(delayMs: number, stop: TimedStop): void {
    this.#cancels.push(this.#clock.timer(() => this.#stopRun(stop), delayMs));
  }

  #watchIdle(idleMs: number, delayMs: number): void {
    this.#cancelIdle = this.#clock.timer(() => {
      const remainingMs = this.#lastActivityAt + idleMs - this.#clock.now();
      if (remainingMs > 0) this.#watchIdle(idleMs, remainingMs);
      else this.#stopRun({ reason: "timeout", detail: `Neither the model nor a tool was active for ${idleMs} ms.` });
    }, delayMs);
  }

  #stopRun(stop: TimedStop): void {
    if (this.stopped !== undefined) return;
    this.stopped = stop;
    this.#abort(new ToolError("cancelled", stop.detail));
  }
}
