/** The items that a reader of events is given. */
import type { RuntimeEvent, SessionEvent } from "../../core/event.ts";

/** An event of a log, and where to read on after it. */
export interface KeptEvent {
  readonly event: SessionEvent;
  /** The session whose log has it. An event that came from a branch keeps the id of that one. */
  readonly sessionId: string;
  /** Its place in that log; counts from 1. */
  readonly position: number;
  /** `after` of a reader that continues behind it: the position, as text, or a place in the order of all sessions. */
  readonly cursor: string;
}

/** An event that no log keeps, such as the progress of a call: it has no place. */
export interface LiveEvent {
  readonly event: RuntimeEvent;
  readonly sessionId?: undefined;
  readonly position?: undefined;
  readonly cursor?: undefined;
}

/** An event of a feed; one that no log keeps has no place. */
export type FollowedEvent = KeptEvent | LiveEvent;

/** Events that a reader missed, because it was too slow for them. */
export interface EventGap {
  readonly gap: {
    /** How many they were, at most. */
    readonly missed: number;
    /** `live`: events that no log keeps, only; `kept`: events of logs as well, which are in no memory any more; `damaged`: what a store has of them cannot be read. */
    readonly of: "live" | "kept" | "damaged";
  };
  readonly cursor?: string;
}

/** An item of a feed: an event, or the place of events that a slow reader missed. */
export type FeedItem = FollowedEvent | EventGap;
