/** Limits how many programs that one program starts have a thread and memory at a time: one line of code could start thousands. */
import { AsyncLocalStorage } from "node:async_hooks";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";

/** Maximum number of programs that one program runs at a time. They may run others in turn, down to the nesting limit of composite tools. */
const MAX_NESTED_PROGRAMS = 4;

class ProgramSlots {
  #free = MAX_NESTED_PROGRAMS;
  readonly #waiting = new Set<() => void>();

  /** @throws the reason of the signal, by rejecting */
  async acquire(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) return void this.#free--;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    try {
      await rejectOnAbort(promise, signal);
    } catch (thrown: unknown) {
      if (!this.#waiting.delete(resolve)) this.release(); // it got a place at the same moment
      throw thrown;
    }
  }

  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) return void this.#free++;
    this.#waiting.delete(next);
    next();
  }

  /** Call when all calls of the program have ended. Code that it started, such as a timer or an agent, is no longer limited by it. */
  removeLimit(): void {
    this.#free = Infinity;
    for (const next of this.#waiting) next();
    this.#waiting.clear();
  }
}

/** The slots of the program whose calls run now. Only its own programs wait for it, so there is no deadlock. */
const CURRENT_SLOTS = new AsyncLocalStorage<ProgramSlots>();

/** Runs a program. If another program started it, it first waits for a place. */
export async function withProgramSlot<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T> {
  const callerSlots = CURRENT_SLOTS.getStore();
  await callerSlots?.acquire(signal);
  const ownSlots = new ProgramSlots();
  try {
    return await CURRENT_SLOTS.run(ownSlots, run);
  } finally {
    ownSlots.removeLimit();
    callerSlots?.release();
  }
}
