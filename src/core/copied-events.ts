/** The part of a log that a snapshot brought along: it says what happened elsewhere, and may say anything of anyone. */
import type { SessionEvent } from "./event.ts";

type Start = SessionEvent & { readonly type: "session-start" };

/** Position of the last event that a snapshot brought, by the first event of a log; 0 where there is none. */
export function lastCopied(first: SessionEvent | undefined): number {
  const copied = first?.type === "session-start" ? (first.copied ?? 0) : 0;
  return copied === 0 ? 0 : copied + 1;
}

/**
 * Finds the copied part of a whole log. The log of a branch that was exported begins with events of its parent, which may be fewer than the
 * snapshot of the parent had. One that was imported under another id ends with a start of that id, which names the session that was recorded.
 */
export class CopiedPart {
  readonly #starts: { readonly position: number; readonly event: Start }[] = [];

  /** Called with each event of the log in order. Positions count from 1. */
  notice(event: SessionEvent, position: number): void {
    if (event.type === "session-start") this.#starts.push({ position, event });
  }

  /** Position of its last event; 0 where there is none. */
  last(sessionId: string): number {
    const [first] = this.#starts;
    if (first?.position !== 1) return 0;
    let last = lastCopied(first.event);
    let id = sessionId;
    // A start inside the copied part may be of any session; the one that was recorded for a branch, or by an import, comes behind those.
    for (const { position, event } of this.#starts.toReversed()) {
      if (first.event.sessionId === id) break;
      if (event.sessionId !== id || event.parent?.length !== position - 1) continue;
      last = Math.min(last, event.parent.length);
      id = event.parent.sessionId;
    }
    return last;
  }
}
