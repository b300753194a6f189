import { quoteValue } from "../../core/base/wording.ts";
import { ToolError } from "../../core/error.ts";
import type { Framing } from "../wire-format.ts";
import { eventStream } from "./event-stream.ts";
import type { FrameReader } from "./frames.ts";
import { jsonLines } from "./json-lines.ts";
import { serverSentEvents } from "./sse.ts";

/**
 * Returns a reader for the bytes of one reply.
 *
 * @throws ToolError `invalid_argument` for an unknown framing
 */
export function frameReader(framing: Framing): FrameReader {
  if (typeof framing === "string" && Object.hasOwn(FRAMINGS, framing)) return FRAMINGS[framing]();
  const shown = quoteValue(framing);
  throw new ToolError("invalid_argument", `There is no framing ${shown}.`, { hint: `Framings: ${Object.keys(FRAMINGS).join(", ")}.` });
}

const FRAMINGS: Readonly<Record<Framing, () => FrameReader>> = {
  sse: serverSentEvents,
  "json-lines": jsonLines,
  "event-stream": eventStream,
};
