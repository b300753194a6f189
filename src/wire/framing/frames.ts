import type { JsonValue } from "../../core/base/json.ts";

/** Reads the bytes of one reply, in chunks of any size, and returns pieces for a `StreamDecoder`. Takes linear time. */
export interface FrameReader {
  /**
   * Returns the pieces that these bytes complete.
   *
   * @throws ToolError `too_large` for a frame of more than 16 MiB, `model_failed` for a damaged one
   */
  push(bytes: Uint8Array): readonly JsonValue[];
  /** Ends the input. Returns the last piece if it is complete except for its end mark. */
  end(): readonly JsonValue[];
}
