/** The order in which the events of all sessions of a store became durable. */

/** Reads that order. What an entry names is read by `Store.read`. */
export interface StoreFeed {
  /** The mark of the event that became durable last. */
  latest(): Promise<string>;
  /**
   * Returns the events that became durable after a mark, in order; within a session, in the order of its positions. Each event of a log is
   * named once: a branch shares those of its parent, and names its own only.
   *
   * @throws ToolError `gone` for a mark that this store never gave; `invalid_argument` for what is no mark
   */
  read(options: ReadFeedOptions): Promise<FeedPage>;
}

/** Which part of a feed is read. */
export interface ReadFeedOptions {
  /** A mark of this store; `0` = from the first event on. */
  readonly after: string;
  /** Most entries. Integer ≥ 1. @default 1_000 */
  readonly limit?: number;
}

/** A part of a feed. */
export interface FeedPage {
  readonly entries: readonly FeedEntry[];
  /** Whether there may be more. */
  readonly isFull: boolean;
}

/** An event of a session that became durable. */
export interface FeedEntry {
  readonly sessionId: string;
  /** Its place in the session's log; counts from 1. */
  readonly position: number;
  /** Where to read on. At most 100 characters of A–Z, a–z, 0–9, `-` and `_`. */
  readonly mark: string;
}
