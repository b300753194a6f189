/** Batches the work of concurrent callers. */

/** Runs at most one batch at a time. Items added while a batch runs go into the next one. */
export class Batcher<Item, Result> {
  readonly #run: (items: readonly Item[]) => Promise<Result>;
  #items: Item[] = [];
  #running: Promise<unknown> = Promise.resolve();
  /** The next batch, which begins when the running one is done. */
  #next: Promise<Result> | undefined;

  constructor(run: (items: readonly Item[]) => Promise<Result>) {
    this.#run = run;
  }

  /** Adds items to the next batch, which begins after this call. Resolves or rejects as that batch does. */
  add(items: readonly Item[]): Promise<Result> {
    for (const item of items) this.#items.push(item);
    return (this.#next ??= this.#running.then(() => this.#runNext()));
  }

  /** Resolves when no batch runs or waits. */
  async whenSettled(): Promise<void> {
    await this.#next?.catch(() => {}); // its callers get the error
    await this.#running;
  }

  #runNext(): Promise<Result> {
    const items = this.#items;
    this.#items = [];
    this.#next = undefined;
    const result = this.#run(items);
    this.#running = result.catch(() => {}); // its callers get the error
    return result;
  }
}
