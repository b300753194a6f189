/** Limits how many programs that one program starts have a thread and memory at a time: one line of code could start thousands. */
import { AsyncLocalStorage } from "node:async_hooks";
import { untilAborted } from "../../core/base/until-aborted.ts";

/** Maximum number of programs that one program runs at a time. They may run others in turn, down to the nesting limit of composite tools. */
const MAX_NESTED = 4;

class Room {
  #left = MAX_NESTED;
  readonly #waiting = new Set<() => void>();

  /** @throws the reason of the signal, by rejecting */
  async take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#left > 0) return void this.#left--;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    try {
      await untilAborted(promise, signal);
    } catch (thrown: unknown) {
      if (!this.#waiting.delete(resolve)) this.release(); // it got a place at the same moment
      throw thrown;
    }
  }

  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) return void this.#left++;
    this.#waiting.delete(next);
    next();
  }

  /** Call when all calls of the program have ended. Code that it started, such as a timer or an agent, is no longer limited by it. */
  end(): void {
    this.#left = Infinity;
    for (const next of this.#waiting) next();
    this.#waiting.clear();
  }
}

/** The room of the program whose calls run now. Only its own programs wait for it, so there is no deadlock. */
const ROOM = new AsyncLocalStorage<Room>();

/** Runs a program. If another program started it, it first waits for a place. */
export async function inTurn<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T> {
  const room = ROOM.getStore();
  await room?.take(signal);
  const own = new Room();
  try {
    return await ROOM.run(own, run);
  } finally {
    own.end();
    room?.release();
  }
}
