/** Work in progress that a server waits for when it stops. */
export class WorkInProgress {
  readonly #running = new Set<Promise<unknown>>();

  /** Counts work until it has settled. Returns the same promise, whose rejection the caller handles. */
  track<Result>(work: Promise<Result>): Promise<Result> {
    const end = (): boolean => this.#running.delete(over);
    const over: Promise<unknown> = work.then(end, end);
    this.#running.add(over);
    return work;
  }

  /** Resolves when no work is left, including work that began meanwhile. */
  async whenIdle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
