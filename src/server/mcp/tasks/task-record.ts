/** The call of a task, as the log of its session has it. */
import type { SessionEvent } from "../../../core/event.ts";
import type { RuntimeSession } from "../../../runtime/runtime-session.ts";

export interface TaskRecord {
  /** When its session began, in milliseconds since 1970. */
  readonly createdAt: number;
  readonly start: SessionEvent & { readonly type: "call-start" };
  /** Undefined while the call runs. */
  readonly end: (SessionEvent & { readonly type: "call-end" }) | undefined;
}

/** Finds the call of a task, the first of its session; undefined if it has not begun. Needs all events: memory has only the latest of a long session. */
export async function readTaskRecord(events: AsyncIterable<SessionEvent>): Promise<TaskRecord | undefined> {
  let createdAt: number | undefined;
  let start: TaskRecord["start"] | undefined;
  let end: TaskRecord["end"];
  for await (const event of events) {
    createdAt ??= event.at;
    if (event.type === "call-start") start ??= event;
    else if (event.type === "call-end" && event.callId === start?.callId) end = event;
  }
  return start === undefined || createdAt === undefined ? undefined : { createdAt, start, end };
}

/** When the session of a task began; undefined if it has no events. */
export async function readCreatedAt(session: RuntimeSession): Promise<number | undefined> {
  if (session.firstKept === 0) return session.log[0]?.at;
  for await (const { at } of session.events()) return at;
  return undefined;
}
