import type { SessionEvent } from "../core/event.ts";
import type { Session } from "./session.ts";

/** How many events are read first; each further part is twice as large. */
const FIRST_PART = 32;

/**
 * Yields the events of a session that are in memory, the newest first. They are read in parts, so that the cost grows with the number of events that
 * the caller takes and not with the length of the log.
 */
export function* latestEvents(session: Pick<Session, "length" | "log" | "logSince" | "firstKept">): Generator<SessionEvent, undefined> {
  let end = session.length;
  for (let size = FIRST_PART; end > 0; size *= 2) {
    const start = Math.max(0, end - size);
    const part = session.logSince(start, end);
    if (part === undefined) return yield* session.log.slice(0, Math.max(0, end - session.firstKept)).reverse(); // such as those before a branch
    yield* part.toReversed();
    end = start;
  }
  return undefined;
}
