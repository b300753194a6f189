import { fakePorts } from "haft/testing";
import { expect, test } from "vitest";
import { FeedSteps } from "../../src/adapters/feed-steps.ts";
import type { FeedItem } from "../../src/runtime/events/feed-item.ts";

/** A promise that counts how often it is followed. */
class Counted<T> extends Promise<T> {
  followed = 0;

  override then<A = T, B = never>(...parts: Parameters<Promise<T>["then"]>): Promise<A | B> {
    this.followed++;
    return super.then(...parts) as Promise<A | B>; // what the parts return
  }
}

function steps() {
  const { clock } = fakePorts();
  const reads: { readonly promise: Counted<readonly FeedItem[]>; settle: (end: readonly FeedItem[] | Error) => void }[] = [];
  const read = () => {
    let settle: (end: readonly FeedItem[] | Error) => void = () => {};
    const promise = new Counted<readonly FeedItem[]>((resolve, reject) => {
      settle = (end) => (end instanceof Error ? reject(end) : resolve(end));
    });
    reads.push({ promise, settle });
    return promise;
  };
  let end = (): void => {};
  const until = new Counted<void>((resolve) => (end = resolve));
  return { clock, reads, until, end: () => end(), steps: new FeedSteps({ read }, { until, clock, pauseMs: 50 }) };
}

test("a promise that a feed waits for is subscribed to once, in any number of steps", async () => {
  const { clock, reads, until, steps: feed } = steps();
  for (let step = 0; step < 100; step++) expect(await clock.run(feed.next())).toBeUndefined();
  expect([clock.now(), reads.map(({ promise }) => promise.followed), until.followed]).toEqual([5_000, [1], 1]);
  expect(clock.pending).toBe(0);
});

test("a step ends at once when items arrive, when the feed fails, and when the work ends", async () => {
  const { clock, reads, end, steps: feed } = steps();
  const items: readonly FeedItem[] = [];
  const first = feed.next();
  reads[0]?.settle(items);
  expect(await first).toBe(items);
  const second = feed.next();
  end();
  expect(await second).toBeUndefined();
  const third = feed.next();
  reads[1]?.settle(new Error("gone"));
  await expect(third).rejects.toThrow("gone");
  expect([clock.now(), clock.pending, reads.length]).toEqual([0, 0, 2]);
});

test("no items are lost when the next ones are available at once", async () => {
  const { clock } = fakePorts();
  const pages = [["a"], ["b"], ["c"]] as unknown as (readonly FeedItem[])[];
  const first = Promise.withResolvers<void>();
  let reads = 0;
  const read = async () => {
    if (reads === 0) await first.promise;
    return pages[reads++] ?? [];
  };
  const feed = new FeedSteps({ read }, { until: new Promise(() => {}), clock, pauseMs: 50 });
  expect(await clock.run(feed.next())).toBeUndefined();
  first.resolve(); // while no step waits
  await new Promise((resolve) => setImmediate(resolve));
  expect([await feed.next(), await feed.next(), await feed.next()]).toEqual(pages);
});
