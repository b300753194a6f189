import { onNextTurn } from "../core/system/lazy-timer.ts";

/** Works on one item after another, each in a turn of the event loop of its own, so that signals and timers are seen meanwhile. @throws the signal's reason */
export async function forEachInTurns<Item>(items: Iterable<Item>, signal: AbortSignal, work: (item: Item) => void): Promise<void> {
  for (const item of items) {
    await new Promise<void>((resolve) => onNextTurn(resolve));
    signal.throwIfAborted();
    work(item);
  }
}
