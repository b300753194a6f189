/** The waits of running code for the turn of a session: a handler that waits for one holds what its calls hold. */
import { ToolError } from "../core/error.ts";

/** A turn whose code waits. */
interface WaitingTurn {
  readonly queue: object;
  readonly over: boolean;
  /** The queues that it waits in. */
  readonly waitsIn: object[];
}

/** The only call of a turn, by the data of its runner. */
type SoleOf = (held: object | undefined) => object | undefined;

export interface TurnWait {
  /** Unlike the id of any call. */
  readonly id: string;
  readonly queue: object;
  /** The call whose handler waits; undefined where the code is part of no turn. */
  readonly callAround: ((soleOf: SoleOf) => object | undefined) | undefined;
  /** The turns that the code is part of. */
  readonly turns: readonly WaitingTurn[];
}

let made = 0;

/** The waits that are under way. */
const UNDER_WAY = new Set<TurnWait>();

/** Finds a wait that could never end; set on the floor of calls, where locks are known. */
export const endlessTurns = { neverEnds: (_wait: TurnWait): boolean => false };

export function newTurnWait(fields: Omit<TurnWait, "id">): TurnWait {
  return { id: `turn wait ${++made}`, ...fields };
}

export function noteTurnWait(wait: TurnWait): void {
  for (const { waitsIn } of wait.turns) waitsIn.push(wait.queue);
  if (wait.callAround !== undefined) UNDER_WAY.add(wait);
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
