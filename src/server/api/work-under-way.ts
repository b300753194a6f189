/** Work that a server has begun, and that it waits for when it stops. */
export class WorkUnderWay {
  readonly #running = new Set<Promise<unknown>>();

  /** Counts work until it has ended in whatever way; its outcome is the caller's. */
  watch<Result>(work: Promise<Result>): Promise<Result> {
    const end = (): boolean => this.#running.delete(over);
    const over: Promise<unknown> = work.then(end, end);
    this.#running.add(over);
    return work;
  }

  /** Resolves when none is left, what began meanwhile included. */
  async whenIdle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
