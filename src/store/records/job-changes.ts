/** Derives the changes of job rows from the events of a session. */
import { CopiedEventsFinder, findLastCopied } from "../../core/copied-events.ts";
import type { SessionEvent } from "../../core/event.ts";
import { toStoredTime } from "./stored-text.ts";
import { toEndState, type EndedJob } from "../../core/jobs/job-status.ts";

type Start = SessionEvent & { readonly type: "job-start" };

/** A change of a job's row. Idempotent. */
export type JobChange = { readonly id: string } & (
  | (Pick<Start, "toolName" | "mode" | "notify"> & { readonly type: "start"; readonly at: number; readonly isQueued: boolean })
  | { readonly type: "run"; readonly starts: number; readonly isQueued: boolean }
  /** The job asks for input, or is answered. Input for a job that is still queued changes nothing. */
  | { readonly type: "ask" | "answer" }
  | {
      readonly type: "end";
      readonly toolName: string;
      readonly state: EndedJob["state"];
      readonly at: number;
      readonly errorCode: string | null;
    }
);

const NONE: readonly JobChange[] = Object.freeze([]);

/** Returns the changes of this session's jobs. Ignores events of other sessions, which a log may contain, and events from a snapshot. */
export function deriveJobChanges(sessionId: string, events: readonly SessionEvent[]): readonly JobChange[] {
  let changes: JobChange[] | undefined;
  const own = findLastCopied(events[0]) === 0 ? events : events.slice(countCopied(sessionId, events)); // appended with the first event
  for (const event of own) {
    if (!event.type.startsWith("job-") || event.sessionId !== sessionId) continue;
    const change = toJobChange(event, events);
    if (change !== undefined) (changes ??= []).push(change);
  }
  return changes ?? NONE;
}

function countCopied(sessionId: string, events: readonly SessionEvent[]): number {
  const copiedEvents = new CopiedEventsFinder();
  for (const [index, event] of events.entries()) copiedEvents.add(event, index + 1);
  return copiedEvents.findLast(sessionId);
}

function toJobChange(event: SessionEvent, events: readonly SessionEvent[]): JobChange | undefined {
  switch (event.type) {
    case "job-start": {
      const { callId: id, toolName, mode, notify, queued, at } = event;
      return { type: "start", id, toolName, mode, notify, at: toStoredTime(at), isQueued: queued === true };
    }
    case "job-run":
      return { type: "run", id: event.callId, starts: event.starts, isQueued: event.queued === true };
    case "job-output":
      return event.asks === true ? { type: "ask", id: event.callId } : undefined;
    case "job-input":
      return { type: "answer", id: event.callId };
    case "job-end": {
      const { callId: id, toolName, status, at } = event;
      const errorCode = findErrorCode(id, events);
      return { type: "end", id, toolName, state: toEndState(status, errorCode), at: toStoredTime(at), errorCode: errorCode ?? null };
    }
    default:
      return undefined;
  }
}

/** Looks for the `call-end`, which is recorded together with the `job-end`. */
function findErrorCode(callId: string, events: readonly SessionEvent[]): string | undefined {
  for (const event of events) if (event.type === "call-end" && event.callId === callId) return event.result.error?.code;
  return undefined;
}
