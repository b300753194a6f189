import type { Clock } from "../core/ports.ts";
import type { EventFeed } from "../runtime/events/event-feed.ts";
import type { FeedItem } from "../runtime/events/feed-item.ts";

/** The other ends of a step. */
interface StepEnds {
  /** Never rejects. */
  readonly until: Promise<unknown>;
  readonly clock: Clock;
  readonly pauseMs: number;
}

/**
 * Reads a feed in steps that end after a pause even where it has no items.
 *
 * Each promise is followed once: one that is raced again in every step keeps what each race left with it until it settles.
 */
export class FeedSteps {
  readonly #feed: Pick<EventFeed, "read">;
  readonly #ends: StepEnds;
  #came: readonly FeedItem[] | undefined;
  #failure: { readonly thrown: unknown } | undefined;
  #isReading = false;
  #wake = (): void => {};

  constructor(feed: Pick<EventFeed, "read">, ends: StepEnds) {
    this.#feed = feed;
    this.#ends = ends;
    void ends.until.then(() => this.#wake());
  }

  /** The items that came; undefined after a pause, and when `until` settles meanwhile. @throws ToolError as the feed. By rejecting */
  async next(): Promise<readonly FeedItem[] | undefined> {
    if (!this.#isReading && this.#came === undefined) this.#read(); // the next items may be there before these are given
    await this.#pause();
    if (this.#failure !== undefined) throw this.#failure.thrown;
    const came = this.#came;
    this.#came = undefined;
    return came;
  }

  async #pause(): Promise<void> {
    if (this.#came !== undefined || this.#failure !== undefined) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const cancel = this.#ends.clock.timer(resolve, this.#ends.pauseMs, { background: true });
    await promise;
    cancel();
  }

  #read(): void {
    this.#isReading = true;
    const end = (): void => {
      this.#isReading = false;
      this.#wake();
    };
    void this.#feed.read().then(
      (items) => ((this.#came = items), end()),
      (thrown: unknown) => ((this.#failure = { thrown }), end()),
    );
  }
}
