/** The events of a run on their way to its reader. */
import { Fifo } from "../core/collections/fifo.ts";

/** A queue of events for one consumer, in order. */
export class EventQueue<Event extends object> {
  readonly #events = new Fifo<Event>();
  #wake: (() => void) | undefined;

  push(event: Event): void {
    this.#events.push(event);
    this.wake();
  }

  /** Ends the consumer's wait although nothing was pushed. */
  wake(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  shift(): Event | undefined {
    return this.#events.shift();
  }

  /** Resolves when an event was pushed, or at once if one waits. */
  async waitForEvent(): Promise<void> {
    if (this.#events.length > 0) return;
    await new Promise<void>((resolve) => (this.#wake = resolve));
  }
}
