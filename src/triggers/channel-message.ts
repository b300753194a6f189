import type { JsonObject } from "../core/base/json.ts";

/** A message on a channel. */
export interface ChannelMessage {
  readonly id: string;
  readonly channel: string;
  /** The name of its sender, as readers see it. */
  readonly sender: string;
  /** The sender itself: the id of an agent's session, or the name that a program gave. */
  readonly senderId: string;
  readonly content: string;
  readonly metadata: JsonObject;
  /** Wall-clock milliseconds since the epoch. */
  readonly at: number;
  /** The span in which it was sent, where that is traced, as the header `traceparent` has it. */
  readonly traceparent?: string;
}
