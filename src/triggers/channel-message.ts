import type { JsonObject } from "../core/base/json.ts";

/** A message on a channel. */
export interface ChannelMessage {
  readonly id: string;
  readonly channel: string;
  /** The name of the sender, as readers see it. */
  readonly sender: string;
  /** Identifies the sender: the id of an agent's session, or the name that a program gave. */
  readonly senderId: string;
  readonly content: string;
  readonly metadata: JsonObject;
  /** Wall-clock milliseconds since the epoch. */
  readonly at: number;
  /** The span in which the message was sent, if it is traced, in the format of the `traceparent` header. */
  readonly traceparent?: string;
}
