/** Events of a producer for one consumer that takes them at its own pace, in order. */
export class EventQueue<Event> {
  readonly #waiting: Event[] = [];
  #wake: (() => void) | undefined;

  push(event: Event): void {
    this.#waiting.push(event);
    this.wake();
  }

  /** Lets the consumer look again although nothing was pushed. */
  wake(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  take(): Event | undefined {
    return this.#waiting.shift();
  }

  /** Resolves when something was pushed, or at once when something waits. */
  async filled(): Promise<void> {
    if (this.#waiting.length > 0) return;
    await new Promise<void>((resolve) => (this.#wake = resolve));
  }
}
