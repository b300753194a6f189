/** Work that is done for several callers together. */

/** Callers that come while the work is under way go together with the next, so there is never more of it than one after the other. */
export class Gathered<Item, Result> {
  readonly #run: (items: readonly Item[]) => Promise<Result>;
  #items: Item[] = [];
  #underWay: Promise<unknown> = Promise.resolve();
  /** Runs what was added, once that is done. */
  #next: Promise<Result> | undefined;

  constructor(run: (items: readonly Item[]) => Promise<Result>) {
    this.#run = run;
  }

  /** Resolves, or rejects, as the work that these are part of, which begins after this call. */
  add(...items: readonly Item[]): Promise<Result> {
    this.#items.push(...items);
    return (this.#next ??= this.#underWay.then(() => this.#begin()));
  }

  /** Resolves when nothing is under way or waits. */
  async whenSettled(): Promise<void> {
    await this.#next?.catch(() => {}); // its callers get the error
    await this.#underWay;
  }

  #begin(): Promise<Result> {
    const items = this.#items;
    this.#items = [];
    this.#next = undefined;
    const result = this.#run(items);
    this.#underWay = result.catch(() => {}); // its callers get the error
    return result;
  }
}
