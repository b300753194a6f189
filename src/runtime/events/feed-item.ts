/** The items that a reader of events gets. */
import type { RuntimeEvent, SessionEvent } from "../../core/event.ts";

/** An event of a log, with the cursor to continue after it. */
export interface KeptEvent {
  readonly event: SessionEvent;
  /** The session whose log has the event. An event committed from a branch keeps the branch's id in `event.sessionId`. */
  readonly sessionId: string;
  /** Its position in that log, from 1. */
  readonly position: number;
  /** The `after` of a reader that continues after this event: the position as text, or a mark in the order of all sessions. */
  readonly cursor: string;
}

/** An event that no log keeps, such as the progress of a call, and which therefore has no position. */
export interface LiveEvent {
  readonly event: RuntimeEvent;
  readonly sessionId?: undefined;
  readonly position?: undefined;
  readonly cursor?: undefined;
}

/** An event of a feed; only events of a log have a position. */
export type FollowedEvent = KeptEvent | LiveEvent;

/** Events that a reader missed because it was too slow. */
export interface EventGap {
  readonly gap: {
    /** Maximum number of events that were missed. */
    readonly missed: number;
    /**
     * `live`: only events that no log keeps; `kept`: also events of logs that are no longer in memory; `damaged`: events that the store cannot read.
     */
    readonly of: "live" | "kept" | "damaged";
  };
  readonly cursor?: string;
}

/** An item of a feed: an event, or a gap in place of missed events. */
export type FeedItem = FollowedEvent | EventGap;
