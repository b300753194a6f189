/** The events of a server as its routes give them: pages of one session, and streams. */
import type { SessionEvent } from "../../core/event.ts";

/** One event with its place in the log of its session; positions count from 1. */
export interface PlacedEvent {
  readonly position: number;
  readonly event: SessionEvent;
}

/** Which events a stream has. Left out = all. */
export interface EventFilter {
  readonly sessionId?: string;
  readonly types?: readonly string[];
  /** Qualified. */
  readonly tool?: string;
  /** The id of a principal. */
  readonly principal?: string;
}

/** One per server. */
export interface EventFeed {
  /** Events after a position. @throws ToolError `not_found`. By rejecting */
  page(
    sessionId: string,
    options: { readonly after: number; readonly limit: number },
  ): Promise<{ readonly events: readonly PlacedEvent[]; readonly next?: number }>;
  /** `text/event-stream`: what is known after the cursor, then what happens, with no gap between. */
  stream(filter: EventFilter, options: { readonly after?: string | number; readonly signal: AbortSignal }): ReadableStream<Uint8Array>;
  /** Tells every stream that the server stops, and ends it. */
  close(): void;
}
