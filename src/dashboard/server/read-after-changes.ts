/** Reads something again after changes: not more often than every `everyMs`, and each time to its end. */
export class ReadAfterChanges {
  readonly #read: () => Promise<unknown>;
  readonly #everyMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isReading = false;
  #isChanged = false;

  /** @param read does not reject */
  constructor(read: () => Promise<unknown>, everyMs: number) {
    this.#read = read;
    this.#everyMs = everyMs;
  }

  /** A change that comes during a reading is read after it: on a slow network, readings that are given up for the next would never end. */
  change(): void {
    this.#isChanged = true;
    if (!this.#isReading) this.#timer ??= setTimeout(() => void this.#readOnce(), this.#everyMs);
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
    if (this.#isChanged) this.change();
  }
}
