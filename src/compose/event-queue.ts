/** A queue of events for one consumer, in order. */
export class EventQueue<Event> {
  readonly #waiting: Event[] = [];
  #wake: (() => void) | undefined;

  push(event: Event): void {
    this.#waiting.push(event);
    this.wake();
  }

  /** Ends the consumer's wait although nothing was pushed. */
  wake(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  take(): Event | undefined {
    return this.#waiting.shift();
  }

  /** Resolves when an event was pushed, or at once if one waits. */
  async filled(): Promise<void> {
    if (this.#waiting.length > 0) return;
    await new Promise<void>((resolve) => (this.#wake = resolve));
  }
}
