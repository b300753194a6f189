/** Server-sent events as bytes. @see https://html.spec.whatwg.org/multipage/server-sent-events.html */
import { replaceLoneSurrogates } from "../../core/base/lone-surrogates.ts";
import type { FeedItem } from "../../runtime/events/feed-item.ts";
import { eventWithoutStorePlace } from "../store-failures.ts";

const encoder = new TextEncoder();

/** Headers of a stream. `x-accel-buffering` keeps proxies from buffering it. */
export const EVENT_STREAM_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
});

export const KEEP_ALIVE: Uint8Array = encoder.encode(": keep-alive\n\n");

/** Encodes an event. `data` needs one line only, since JSON text has no line breaks. */
export function encodeEvent(name: string, data: unknown, id?: string): Uint8Array {
  return encoder.encode(`${id === undefined ? "" : `id: ${id}\n`}event: ${name}\ndata: ${replaceLoneSurrogates(JSON.stringify(data))}\n\n`);
}

/** Encodes an `id` without an event: the cursor to continue from. */
export function encodeCursor(cursor: string): Uint8Array {
  return encoder.encode(`id: ${cursor}\n\n`);
}

/** Encodes the beginning of a stream: how long a client waits before it reconnects. */
export function encodeRetry(retryMs: number): Uint8Array {
  return encoder.encode(`retry: ${retryMs}\n\n`);
}

/** Encoded items. All streams that follow the newest events get the same objects, so each is encoded once. */
const encodedItems = new WeakMap<FeedItem, Uint8Array>();

/** Encodes an item. Only items with a cursor have an `id`, which a client sends when it reconnects. */
export function encodeItem(item: FeedItem): Uint8Array {
  let bytes = encodedItems.get(item);
  if (bytes === undefined) {
    bytes =
      "event" in item
        ? encodeEvent(item.event.type, eventWithoutStorePlace(item.event), item.cursor)
        : encodeEvent("gap", item.gap, item.cursor);
    encodedItems.set(item, bytes);
  }
  return bytes;
}

export function concatBytes(frames: readonly Uint8Array[], length: number): Uint8Array {
  const [only] = frames;
  if (frames.length === 1 && only !== undefined) return only;
  const all = new Uint8Array(length);
  let at = 0;
  for (const one of frames) {
    all.set(one, at);
    at += one.length;
  }
  return all;
}
