/** The order in which the events of all sessions of a store became durable. */

/** Reads that order. `Store.read` reads the events that the entries refer to. */
export interface StoreFeed {
  /** Returns the mark of the event that became durable last. */
  latest(): Promise<string>;
  /**
   * Returns the events that became durable after a mark, in order; within a session, in the order of their positions. Each event is listed once: a
   * branch shares the events of its parent, and lists only its own.
   *
   * @throws ToolError `gone` for a mark that this store never returned; `invalid_argument` for an invalid mark
   */
  read(options: ReadFeedOptions): Promise<FeedPage>;
}

/** Which part of a feed to read. */
export interface ReadFeedOptions {
  /** A mark returned by this store; `0`: from the first event. */
  readonly after: string;
  /** Maximum number of entries. Integer ≥ 1. @default 1_000 */
  readonly limit?: number;
}

/** A page of a feed. */
export interface FeedPage {
  readonly entries: readonly FeedEntry[];
  /** Whether there may be more entries. */
  readonly isFull: boolean;
}

/** An event of a session that became durable. */
export interface FeedEntry {
  readonly sessionId: string;
  /** The event's position in the session's log; starts at 1. */
  readonly position: number;
  /** The mark to continue reading from. At most 100 characters of A–Z, a–z, 0–9, `-` and `_`. */
  readonly mark: string;
}
