/** Readers of events for tests. */
import type { EventFeed } from "../../../src/runtime/events/event-feed.ts";
import type { FeedItem } from "../../../src/runtime/events/feed-item.ts";

/** An item as one line: its position, or `-`, and its type. */
export function line(item: FeedItem): string {
  if ("gap" in item) return `gap ${item.gap.of} ${item.gap.missed}`;
  return `${item.position ?? "-"} ${item.event.type}`;
}

/** Reads until an item fits. */
export async function readUntil(feed: EventFeed, isLast: (item: FeedItem) => boolean): Promise<readonly FeedItem[]> {
  const items: FeedItem[] = [];
  for (let page = await feed.read(); page.length > 0; page = await feed.read()) {
    items.push(...page);
    if (page.some(isLast)) return items;
  }
  throw new Error(`The feed ended: ${items.map(line).join(", ")}`);
}

/** Reads until so many events of logs were read. */
export async function readPositions(feed: EventFeed, count: number): Promise<readonly number[]> {
  let found = 0;
  const items = await readUntil(feed, (item) => "event" in item && item.position !== undefined && ++found >= count);
  return items.flatMap((item) => ("event" in item && item.position !== undefined ? [item.position] : []));
}
