/** Reads something again after changes, at most once every `everyMs`, and never two times at once. */
export class ThrottledReader {
  readonly #read: () => Promise<unknown>;
  readonly #minIntervalMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isReading = false;
  #isChanged = false;

  /** @param read must not reject */
  constructor(read: () => Promise<unknown>, everyMs: number) {
    this.#read = read;
    this.#minIntervalMs = everyMs;
  }

  /** Notes a change. A change during a read is read after it: on a slow network, reads that are aborted for the next one would never finish. */
  markChanged(): void {
    this.#isChanged = true;
    if (!this.#isReading) this.#timer ??= setTimeout(() => void this.#readOnce(), this.#minIntervalMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isChanged = false;
  }

  async #readOnce(): Promise<void> {
    this.#timer = undefined;
    this.#isChanged = false;
    this.#isReading = true;
    await this.#read();
    this.#isReading = false;
    if (this.#isChanged) this.markChanged();
  }
}
