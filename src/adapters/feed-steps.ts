import type { Clock } from "../core/ports.ts";
import type { EventFeed } from "../runtime/events/event-feed.ts";
import type { FeedItem } from "../runtime/events/feed-item.ts";

/** The events that end a step besides new items. */
interface StepOptions {
  /** Ends a step when it resolves. Never rejects. */
  readonly until: Promise<unknown>;
  readonly clock: Clock;
  readonly pauseMs: number;
}

/**
 * Reads a feed in steps that end after a pause even if no items arrived.
 *
 * Each promise gets one handler: `Promise.race` in every step would add handlers to a pending promise until it settles.
 */
export class FeedSteps {
  readonly #feed: Pick<EventFeed, "read">;
  readonly #options: StepOptions;
  #items: readonly FeedItem[] | undefined;
  #failure: { readonly thrown: unknown } | undefined;
  #isReading = false;
  #wake = (): void => {};

  constructor(feed: Pick<EventFeed, "read">, options: StepOptions) {
    this.#feed = feed;
    this.#options = options;
    void options.until.then(() => this.#wake());
  }

  /** The items that arrived; undefined after a pause, or if `until` settles first. @throws ToolError the error of the feed, as a rejection */
  async next(): Promise<readonly FeedItem[] | undefined> {
    if (!this.#isReading && this.#items === undefined) this.#read(); // reads again only after the last items were returned
    await this.#pause();
    if (this.#failure !== undefined) throw this.#failure.thrown;
    const items = this.#items;
    this.#items = undefined;
    return items;
  }

  async #pause(): Promise<void> {
    if (this.#items !== undefined || this.#failure !== undefined) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const cancel = this.#options.clock.timer(resolve, this.#options.pauseMs, { background: true });
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
      (items) => ((this.#items = items), end()),
      (thrown: unknown) => ((this.#failure = { thrown }), end()),
    );
  }
}
