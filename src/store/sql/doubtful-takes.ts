/** Messages of queues that this process may have taken although the answer was lost. No reader has them, and other processes see them as taken. */

/** Marks a message whose take has failed. */
const FAILED = Symbol("failed");

export class DoubtfulTakes {
  /** By channel and number: the take that was about to commit, or `FAILED`. */
  readonly #takes = new Map<string, Map<number, symbol>>();

  /** Must be called in the transaction that takes a message, while it locks the channel. Returns the take. */
  begin(channel: string, number: number): symbol {
    const take = Symbol("take");
    const takes = this.#takes.get(channel) ?? new Map<number, symbol>();
    this.#takes.set(channel, takes.set(number, take));
    return take;
  }

  /** Must be called when the reader gets the message. */
  succeed(channel: string, number: number, take: symbol): void {
    this.#delete(channel, number, take);
  }

  /** Must be called when the transaction has failed. A message that another take has begun to take since belongs to that one. */
  fail(channel: string, number: number, take: symbol): void {
    const takes = this.#takes.get(channel);
    if (takes?.get(number) === take) takes.set(number, FAILED);
  }

  /** The channels that may have doubtful messages. */
  get channels(): readonly string[] {
    return [...this.#takes.keys()];
  }

  /** The doubtful messages of a channel. Right for as long as the channel is locked. */
  numbers(channel: string): readonly number[] {
    return [...(this.#takes.get(channel) ?? [])].filter(([, take]) => take === FAILED).map(([number]) => number);
  }

  /** Must be called once the messages were released. */
  forget(channel: string, numbers: readonly number[]): void {
    for (const number of numbers) this.#delete(channel, number, FAILED);
  }

  #delete(channel: string, number: number, take: symbol): void {
    const takes = this.#takes.get(channel);
    if (takes?.get(number) !== take) return;
    takes.delete(number);
    if (takes.size === 0) this.#takes.delete(channel);
  }
}
