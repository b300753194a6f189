/** A reader of a channel that confirms each message it has received; a trigger confirms once the message is in the inbox. */
import type { ChannelMessage } from "./channel-message.ts";

/** A message that was read and is not yet confirmed. */
export interface ReadMessage {
  readonly message: ChannelMessage;
  /** Greater than the tick of every message before; undefined if messages may arrive out of order. */
  readonly tick: number | undefined;
  /** Confirms that the message was received: no reader gets it again. */
  readonly done: () => Promise<void>;
  /** Gives the message back unreceived: it becomes the next one again. */
  readonly release: () => Promise<void>;
}

export interface MessageReader {
  /** Waits for the next message; undefined once the signal aborts. @throws ToolError if the store cannot be read, as a rejection */
  readonly next: (signal: AbortSignal) => Promise<ReadMessage | undefined>;
  readonly close: () => void;
}

/** Which messages a reader gets, and where it starts. */
export interface ReaderOptions {
  /** Identifies the reader, which never receives its own messages. */
  readonly reader: string;
  /** Only messages whose sender has this name or id. @default all */
  readonly from?: string | undefined;
  /** For a broadcast that is kept in a store: only messages with greater numbers are read. @default messages sent from now on */
  readonly after?: number;
}

export function isMessageFor({ reader, from }: ReaderOptions, { sender, senderId }: Pick<ChannelMessage, "sender" | "senderId">): boolean {
  return senderId !== reader && (from === undefined || sender === from || senderId === from);
}
