/** The clock and the dice of a model that is given none. */
import type { Ports } from "../core/ports.ts";

export type ModelPorts = Pick<Ports, "clock" | "random">;

/** Longest delay a Node timer takes; a longer one would fire at once. */
const MAX_TIMER_MS = 2_147_483_647;

/* oxlint-disable no-restricted-globals, no-restricted-properties -- the one place where this room reaches for real time and chance */
const realPorts: ModelPorts = {
  clock: {
    now: () => performance.now(),
    wallTime: () => Date.now(),
    timer(fire, delayMs, options) {
      const timer = setTimeout(fire, Math.min(Math.ceil(delayMs), MAX_TIMER_MS));
      if (options?.background === true) timer.unref();
      return () => clearTimeout(timer);
    },
  },
  random: { next: () => Math.random() },
};
/* oxlint-enable no-restricted-globals, no-restricted-properties */

/** What is given, the rest real. */
export function modelPorts(given: Partial<ModelPorts> = {}): ModelPorts {
  return { clock: given.clock ?? realPorts.clock, random: given.random ?? realPorts.random };
}
