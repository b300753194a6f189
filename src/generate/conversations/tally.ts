/** Counts occurrences of strings. */
export class Tally {
  readonly #counts = new Map<string, number>();

  add(word: string): void {
    this.#counts.set(word, (this.#counts.get(word) ?? 0) + 1);
  }

  /** The counts, the most frequent first. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#counts].sort(([, one], [, other]) => other - one));
  }
}
