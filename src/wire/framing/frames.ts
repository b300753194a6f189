/** Turns the bytes of a streamed reply into its pieces. */
import type { JsonValue } from "../../core/base/json.ts";

/** Takes the bytes of one reply in any pieces and gives what a `StreamDecoder` takes. Linear in the bytes. */
export interface FrameReader {
  /**
   * The pieces that these bytes complete.
   *
   * @throws ToolError `too_large` for a frame of more than 16 MiB, `model_failed` for one that is damaged
   */
  push(bytes: Uint8Array): readonly JsonValue[];
  /** No more bytes will come: the last piece, where it is whole without its end mark. */
  end(): readonly JsonValue[];
}
