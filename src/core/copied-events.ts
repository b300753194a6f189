/** The part of a log that was copied from a snapshot: it reports what happened elsewhere, and is not trustworthy. */
import type { SessionEvent } from "./event.ts";

type Start = SessionEvent & { readonly type: "session-start" };

/** Returns the position of the last event copied from a snapshot, given the first event of a log; 0 if none was copied. */
export function findLastCopied(first: SessionEvent | undefined): number {
  const copied = first?.type === "session-start" ? (first.copied ?? 0) : 0;
  return copied === 0 ? 0 : copied + 1;
}

/**
 * Finds the copied part of a complete log. The log of a branch that was exported begins with events of its parent, which may be fewer than the
 * parent's snapshot had. A log imported under another id has its last `session-start` with that id, which names the session that was recorded.
 */
export class CopiedEventsFinder {
  readonly #starts: { readonly position: number; readonly event: Start }[] = [];

  /** Called with each event of the log, in order. Positions start at 1. */
  add(event: SessionEvent, position: number): void {
    if (event.type === "session-start") this.#starts.push({ position, event });
  }

  /** Returns the position of the last copied event; 0 if none was copied. */
  findLast(sessionId: string): number {
    const [first] = this.#starts;
    if (first?.position !== 1) return 0;
    let last = findLastCopied(first.event);
    let id = sessionId;
    // The copied part may contain a `session-start` of any session; the one recorded for a branch, or by an import, comes after those.
    for (const { position, event } of this.#starts.toReversed()) {
      if (first.event.sessionId === id) break;
      if (event.sessionId !== id || event.parent?.length !== position - 1) continue;
      last = Math.min(last, event.parent.length);
      id = event.parent.sessionId;
    }
    return last;
  }
}
