/** A session as it was after its first events: where a branch may begin. */
import { ToolError } from "../core/error.ts";
import type { SessionEvent } from "../core/event.ts";
import { take } from "../session/read-events.ts";
import type { Session, SessionHead } from "../session/session.ts";
import { SessionFold } from "./fold-events.ts";

interface HeadAtOptions {
  readonly length: number;
  /** Whether calls are counted, as faults need it. */
  readonly countsCalls: boolean;
}

/** @throws ToolError `invalid_argument`, `not_forkable`, `conflict` where no branch can begin there. By rejecting */
export async function headAt(
  session: Session,
  events: AsyncIterable<SessionEvent>,
  { length, countsCalls }: HeadAtOptions,
): Promise<SessionHead> {
  checkBranchPoint(session, length);
  const fold = new SessionFold(undefined, session.id, countsCalls);
  for await (const event of take(events, length)) fold.apply(event);
  if (fold.openInTurn !== undefined || fold.openRounds.length > 0) throw turnUnderWay(session, length);
  return fold.head;
}

/** @throws ToolError `invalid_argument`, `not_forkable` */
function checkBranchPoint({ id, length: whole, engagedEngines, eventLog }: Session, length: number): void {
  const least = eventLog === undefined ? 0 : 1; // what a store keeps begins with its own start
  if (!Number.isInteger(length) || length < least || length > whole)
    throw new ToolError("invalid_argument", `The session ${JSON.stringify(id)} has ${whole} events: no branch can begin after ${length}.`, {
      hint: `Name a number from ${least} to ${whole}.`,
    });
  const remote = length === whole ? undefined : engagedEngines?.remote;
  if (remote === undefined) return;
  throw new ToolError("not_forkable", `The engine "${remote}" keeps what it remembers of the session elsewhere, and cannot go back.`, {
    hint: "Fork the session as it is now.",
  });
}

function turnUnderWay({ id }: Session, length: number): ToolError {
  return new ToolError("conflict", `A turn of the session ${JSON.stringify(id)} was under way after ${length} events.`, {
    hint: "Fork before its first call, or after its end.",
  });
}
