/** One reader of a channel that says when it has received a message: a trigger, once that is in the inbox. */
import type { ChannelMessage } from "./channel-message.ts";

/** A message that was read and is not yet received. */
export interface ReadMessage {
  readonly message: ChannelMessage;
  /** Greater than that of each message before; undefined where a message may come after one that was sent later. */
  readonly tick: number | undefined;
  /** It was received, and comes to no reader again. */
  readonly done: () => Promise<void>;
  /** It was not: it is the next again. */
  readonly giveBack: () => Promise<void>;
}

export interface MessageReader {
  /** The next message; waits for one. Undefined once the signal aborts. @throws ToolError of a store that cannot be read. By rejecting */
  readonly next: (signal: AbortSignal) => Promise<ReadMessage | undefined>;
  readonly close: () => void;
}

/** Which messages a reader gets, and from where on. */
export interface ReaderOptions {
  /** The reader itself, which never gets what it has sent. */
  readonly reader: string;
  /** Only those with this name or id of their sender. @default all */
  readonly from?: string | undefined;
  /** Of a broadcast that is kept: messages with greater numbers are read. @default those that are sent from now on */
  readonly after?: number;
}

/** Whether a reader gets a message. */
export function isFor({ reader, from }: ReaderOptions, { sender, senderId }: Pick<ChannelMessage, "sender" | "senderId">): boolean {
  return senderId !== reader && (from === undefined || sender === from || senderId === from);
}
