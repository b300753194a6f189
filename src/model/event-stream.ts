/** Gives out the events of a reply one at a time, from lists of them. An event that has already arrived costs one resolved promise. */
import type { ModelEvent } from "../core/model.ts";

type Step = IteratorResult<ModelEvent, undefined>;

const DONE: Step = Object.freeze({ done: true, value: undefined });

/** Yields the events as an async generator would, in the order of the `next()` calls. Leaving the loop ends the generator of the lists. */
export class EventStream implements AsyncIterableIterator<ModelEvent, undefined> {
  readonly #lists: AsyncGenerator<readonly ModelEvent[], void>;
  readonly #check: () => void;
  readonly #cancelRequest: () => void;
  #events: readonly ModelEvent[] = [];
  #index = 0;
  #hasEnded = false;
  /** The last `next()` that is still pending; later ones wait for it. */
  #pending: Promise<Step> | undefined;

  /**
   * @param check called before each event; throws if no more events may be given
   * @param cancelRequest cancels the request that the generator waits for; called if the loop is left while a read is pending, as the generator cannot return
   * while it waits
   */
  constructor(lists: AsyncGenerator<readonly ModelEvent[], void>, check: () => void = () => {}, cancelRequest: () => void = () => {}) {
    this.#lists = lists;
    this.#check = check;
    this.#cancelRequest = cancelRequest;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Step> {
    if (this.#pending !== undefined) return this.#queueStep(this.#pending.then(this.#nextStep, this.#nextStep));
    return this.#index < this.#events.length ? this.#yieldEvent() : this.#queueStep(this.#readList());
  }

  async return(): Promise<Step> {
    this.#end();
    if (this.#pending !== undefined) this.#cancelRequest();
    await this.#lists.return();
    return DONE;
  }

  #yieldEvent(): Promise<Step> {
    const event = this.#events[this.#index++];
    try {
      this.#check();
    } catch (thrown: unknown) {
      return this.return().then(() => {
        throw thrown;
      });
    }
    return Promise.resolve(event === undefined ? DONE : { done: false, value: event });
  }

  #queueStep(step: Promise<Step>): Promise<Step> {
    const forget = (): void => {
      if (this.#pending === step) this.#pending = undefined;
    };
    this.#pending = step;
    step.then(forget, forget);
    return step;
  }

  readonly #nextStep = (): Promise<Step> => (this.#index < this.#events.length ? this.#yieldEvent() : this.#readList());

  async #readList(): Promise<Step> {
    while (!this.#hasEnded) {
      const { done, value } = await this.#nextList();
      if (done === true) break;
      if (this.#hasEnded || value.length === 0) continue;
      this.#events = value;
      this.#index = 0;
      return this.#yieldEvent();
    }
    this.#end();
    return DONE;
  }

  async #nextList(): Promise<IteratorResult<readonly ModelEvent[], void>> {
    try {
      return await this.#lists.next();
    } catch (thrown: unknown) {
      if (!this.#hasEnded) throw thrown;
      return { done: true, value: undefined }; // a stream that was left has no reader for its error
    }
  }

  #end(): void {
    this.#hasEnded = true;
    this.#events = [];
    this.#index = 0;
  }
}
