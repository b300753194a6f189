/** How many programs that one program runs have a thread and memory at a time: a line of code could start thousands of them. */
import { AsyncLocalStorage } from "node:async_hooks";
import { untilAborted } from "../../core/base/until-aborted.ts";

/** Of those that one program runs. They may run others in turn, down to where composite tools may call one another. */
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
      if (!this.#waiting.delete(resolve)) this.release(); // it was its turn at the same moment
      throw thrown;
    }
  }

  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) return void this.#left++;
    this.#waiting.delete(next);
    next();
  }

  /** All calls of its program have ended. Code that it set going, such as a timer or an agent, is not part of it any more. */
  end(): void {
    this.#left = Infinity;
    for (const next of this.#waiting) next();
    this.#waiting.clear();
  }
}

/** That of the program whose calls run now. Only its own programs wait for it, so none waits for one that waits. */
const ROOM = new AsyncLocalStorage<Room>();

/** Runs a program; one that another runs waits until it is its turn. */
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
