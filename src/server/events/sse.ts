/** Server-sent events as bytes. @see https://html.spec.whatwg.org/multipage/server-sent-events.html */
import { strictJson } from "../../core/base/strict-json.ts";
import type { FeedItem } from "../../runtime/events/feed-item.ts";

const encoder = new TextEncoder();

/** Headers of a stream. The last keeps proxies from buffering it. */
export const EVENT_STREAM_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
});

export const KEEP_ALIVE: Uint8Array = encoder.encode(": keep-alive\n\n");

/** An event of this name. JSON text has no line breaks. */
export function frame(name: string, data: unknown, id?: string): Uint8Array {
  return encoder.encode(`${id === undefined ? "" : `id: ${id}\n`}event: ${name}\ndata: ${strictJson(JSON.stringify(data))}\n\n`);
}

/** The place to continue from, without an event. */
export function placeFrame(cursor: string): Uint8Array {
  return encoder.encode(`id: ${cursor}\n\n`);
}

/** The beginning of a stream: how long a client waits before it connects again. */
export function retryFrame(retryMs: number): Uint8Array {
  return encoder.encode(`retry: ${retryMs}\n\n`);
}

/** Written once for all readers of a tail: they get the same objects. */
const WRITTEN = new WeakMap<FeedItem, Uint8Array>();

/** Only what has a cursor has an id: a client that connects again sends the last one. */
export function itemFrame(item: FeedItem): Uint8Array {
  let bytes = WRITTEN.get(item);
  if (bytes === undefined) {
    bytes = "event" in item ? frame(item.event.type, item.event, item.cursor) : frame("gap", item.gap, item.cursor);
    WRITTEN.set(item, bytes);
  }
  return bytes;
}

export function joined(frames: readonly Uint8Array[], length: number): Uint8Array {
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
