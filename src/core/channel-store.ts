/** The seam behind which messages on channels are kept until their readers have them, for all processes of a store. */

/** A message as a store keeps it. Plain data. */
export interface ChannelEntry {
  /**
   * Greater than those of all earlier messages on the channel, which are visible by then. About the wall-clock time in milliseconds at which it was
   * sent, by the clock of the store.
   */
  readonly number: number;
  /** The message as JSON text. */
  readonly body: string;
}

/** A message that is to be kept. */
export interface NewChannelEntry {
  readonly channel: string;
  readonly body: string;
  /** The name of the sender, and the sender itself, which a queue does not give the message to. */
  readonly sender: string;
  readonly senderId: string;
  /** Of a queue: refused while so many wait to be ended. Left out: never refused. Integer ≥ 1. */
  readonly capacity?: number;
  /** How many of the latest messages are kept at least: of a queue, of those that ended. Integer ≥ 1. */
  readonly keep: number;
}

/** Which messages are read. */
export interface ReadChannel {
  readonly channel: string;
  /** Those with greater numbers. */
  readonly after: number;
  readonly limit: number;
}

/** Which message of a queue is taken. */
export interface TakeEntry {
  readonly channel: string;
  /** The reader, which gets none that it has sent. */
  readonly reader: string;
  /** Only those with this name or id of their sender. @default all */
  readonly from?: string | undefined;
}

/** The key of a message. */
export interface ChannelEntryKey {
  readonly channel: string;
  readonly number: number;
}

/** Keeps messages on channels. Left out by a store that keeps nothing. */
export interface ChannelStore {
  /** Keeps a message. Resolves when it is durable, to its number; to 0 for a queue that is full, which then has not got it. */
  send(message: NewChannelEntry): Promise<number>;
  /** In the order of their numbers, those that were taken or have ended included. */
  read(query: ReadChannel): Promise<readonly ChannelEntry[]>;
  /** The latest messages, the oldest of them first. */
  latest(query: Omit<ReadChannel, "after">): Promise<readonly ChannelEntry[]>;
  /** The number of the latest message; 0 before the first. */
  last(channel: string): Promise<number>;
  /** How many messages of a queue have not ended. */
  waiting(channel: string): Promise<number>;
  /**
   * Takes the first message of a queue that no living process has taken, for this process: it is another's again once this one has ended. Undefined
   * where there is none.
   */
  take(query: TakeEntry): Promise<ChannelEntry | undefined>;
  /** Lets others take a message that this process has taken. */
  giveBack(key: ChannelEntryKey): Promise<void>;
  /** A message of a queue has been received: it is taken no more. */
  end(key: ChannelEntryKey): Promise<void>;
}
