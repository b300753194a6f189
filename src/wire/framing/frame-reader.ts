/** Bytes of a streamed reply to its pieces, however the network cut them. */
import type { Framing } from "../wire-format.ts";
import { eventStream } from "./event-stream.ts";
import type { FrameReader } from "./frames.ts";
import { jsonLines } from "./json-lines.ts";
import { serverSentEvents } from "./sse.ts";

/** A reader for the bytes of one reply. */
export function frameReader(framing: Framing): FrameReader {
  return FRAMINGS[framing]();
}

const FRAMINGS: Readonly<Record<Framing, () => FrameReader>> = {
  sse: serverSentEvents,
  "json-lines": jsonLines,
  "event-stream": eventStream,
};
