/** Gives out the events of a reply one at a time, from lists of them. An event that has already arrived costs one resolved promise. */
import type { ModelEvent } from "../core/model.ts";

type Step = IteratorResult<ModelEvent, undefined>;

const OVER: Step = Object.freeze({ done: true, value: undefined });

/** Yields the events as an async generator would, in the order of the `next()` calls. Leaving the loop ends the generator of the lists. */
export class EventStream implements AsyncIterableIterator<ModelEvent, undefined> {
  readonly #lists: AsyncGenerator<readonly ModelEvent[], void>;
  readonly #check: () => void;
  readonly #leave: () => void;
  #events: readonly ModelEvent[] = [];
  #at = 0;
  #isOver = false;
  /** The last `next()` that is still pending; later ones wait for it. */
  #waiting: Promise<Step> | undefined;

  /**
   * @param check called before each event; throws if no more events may be given
   * @param leave cancels the request that the generator waits for; called if the loop is left while a read is pending, as the generator cannot return
   * while it waits
   */
  constructor(lists: AsyncGenerator<readonly ModelEvent[], void>, check: () => void = () => {}, leave: () => void = () => {}) {
    this.#lists = lists;
    this.#check = check;
    this.#leave = leave;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Step> {
    if (this.#waiting !== undefined) return this.#wait(this.#waiting.then(this.#take, this.#take));
    return this.#at < this.#events.length ? this.#give() : this.#wait(this.#read());
  }

  async return(): Promise<Step> {
    this.#end();
    if (this.#waiting !== undefined) this.#leave();
    await this.#lists.return();
    return OVER;
  }

  #give(): Promise<Step> {
    const event = this.#events[this.#at++];
    try {
      this.#check();
    } catch (thrown: unknown) {
      return this.return().then(() => {
        throw thrown;
      });
    }
    return Promise.resolve(event === undefined ? OVER : { done: false, value: event });
  }

  #wait(step: Promise<Step>): Promise<Step> {
    const forget = (): void => {
      if (this.#waiting === step) this.#waiting = undefined;
    };
    this.#waiting = step;
    step.then(forget, forget);
    return step;
  }

  readonly #take = (): Promise<Step> => (this.#at < this.#events.length ? this.#give() : this.#read());

  async #read(): Promise<Step> {
    while (!this.#isOver) {
      const { done, value } = await this.#nextList();
      if (done === true) break;
      if (this.#isOver || value.length === 0) continue;
      this.#events = value;
      this.#at = 0;
      return this.#give();
    }
    this.#end();
    return OVER;
  }

  async #nextList(): Promise<IteratorResult<readonly ModelEvent[], void>> {
    try {
      return await this.#lists.next();
    } catch (thrown: unknown) {
      if (!this.#isOver) throw thrown;
      return { done: true, value: undefined }; // a stream that was left has no reader for its error
    }
  }

  #end(): void {
    this.#isOver = true;
    this.#events = [];
    this.#at = 0;
  }
}
