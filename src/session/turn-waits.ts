/** The waits of running code for the turn of a session: a handler that waits for one holds what its calls hold. */
import { ToolError } from "../core/error.ts";
import type { Place, RunningTurn, TurnQueue } from "./turn-queue.ts";

export interface TurnWait {
  /** Unlike the id of any call. */
  readonly id: string;
  readonly queue: TurnQueue;
  /** The code that waits; undefined where it is part of no turn. */
  readonly place: Place | undefined;
  /** The turns that this code is part of. */
  readonly turns: readonly RunningTurn[];
}

let made = 0;

/** The waits that are under way. */
const UNDER_WAY = new Set<TurnWait>();

/** What finds that a wait could never end, as it is known on the floor of calls. */
export const endlessTurns = { neverEnds: (_wait: TurnWait): boolean => false };

export function newTurnWait(fields: Omit<TurnWait, "id">): TurnWait {
  return { id: `turn wait ${++made}`, ...fields };
}

export function noteTurnWait(wait: TurnWait): void {
  for (const { waitsIn } of wait.turns) waitsIn.push(wait.queue);
  if (wait.place !== undefined) UNDER_WAY.add(wait);
}

export function endTurnWait(wait: TurnWait): void {
  for (const { waitsIn } of wait.turns) waitsIn.splice(waitsIn.indexOf(wait.queue), 1);
  UNDER_WAY.delete(wait);
}

export function turnWaits(): ReadonlySet<TurnWait> {
  return UNDER_WAY;
}

export function turnNeverEnds(): ToolError {
  return new ToolError(
    "resource_busy",
    "The session's turn waits for the handler that makes this call, or for its turn: neither could end.",
    {
      retryable: false,
      hint: "Make the call when the handler has ended.",
    },
  );
}
