/** The seam that keeps messages on channels until their readers have received them, for all processes of a store. */

/** A message as a store keeps it. Plain data. */
export interface ChannelEntry {
  /**
   * Greater than the numbers of all earlier messages on the channel, which are visible by then. Roughly the time at which the message was sent, in
   * wall-clock milliseconds of the store's clock.
   */
  readonly number: number;
  /** The message as JSON text. */
  readonly body: string;
}

/** A message to be stored. */
export interface NewChannelEntry {
  readonly channel: string;
  readonly body: string;
  /** The name of the sender; its id follows. A queue does not deliver a message to its sender. */
  readonly sender: string;
  readonly senderId: string;
  /** For a queue: the message is refused if this many have not ended. Left out: never refused. Integer ≥ 1. */
  readonly capacity?: number;
  /** Minimum number of latest messages to keep; for a queue, of those that have ended. Integer ≥ 1. */
  readonly keep: number;
}

/** Which messages to read. */
export interface ReadChannel {
  readonly channel: string;
  /** Only messages with greater numbers. */
  readonly after: number;
  readonly limit: number;
}

/** Which message of a queue to take. */
export interface TakeEntry {
  readonly channel: string;
  /** The reader, which does not get messages that it sent itself. */
  readonly reader: string;
  /** Only messages whose sender has this name or id. @default all */
  readonly from?: string | undefined;
}

/** Identifies a message. */
export interface ChannelEntryKey {
  readonly channel: string;
  readonly number: number;
}

/** Keeps messages on channels. Left out by a store that persists nothing. */
export interface ChannelStore {
  /** Stores a message. Resolves to its number when it is durable; to 0 if the queue is full, and the message was not stored. */
  send(message: NewChannelEntry): Promise<number>;
  /** Reads messages in the order of their numbers, including those that were taken or have ended. */
  read(query: ReadChannel): Promise<readonly ChannelEntry[]>;
  /** Returns the latest messages, oldest first. */
  latest(query: Omit<ReadChannel, "after">): Promise<readonly ChannelEntry[]>;
  /** Returns the number of the latest message; 0 if there is none. */
  last(channel: string): Promise<number>;
  /** Returns how many messages of a queue have not ended. */
  waiting(channel: string): Promise<number>;
  /** Takes the first message of a queue that no living process has taken, until this process dies. Undefined if there is none. */
  take(query: TakeEntry): Promise<ChannelEntry | undefined>;
  /** Releases a message that this process has taken, so that others can take it. */
  release(key: ChannelEntryKey): Promise<void>;
  /** Ends a message of a queue once it was received: it can no longer be taken. */
  end(key: ChannelEntryKey): Promise<void>;
}
