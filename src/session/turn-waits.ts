/** The waits of running code for the turn of a session: a handler that waits for one holds what its calls hold. */
import { ToolError } from "../core/error.ts";

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

const UNDER_WAY = new Set<TurnWait>();
/** How many of them wait in each queue. */
const AWAITED = new Map<object, number>();

/** Finds the waits that would be deadlocks; set on the floor of calls, where locks are known. */
export const deadlocks = { closedBy: (_wait: TurnWait): boolean => false };

export function newTurnWait(fields: Omit<TurnWait, "id">): TurnWait {
  return { id: `turn wait ${++made}`, ...fields };
}

export function noteTurnWait(wait: TurnWait): void {
  for (const { waitsIn } of wait.turns) waitsIn.push(wait.queue);
  if (wait.callAround === undefined) return;
  UNDER_WAY.add(wait);
  AWAITED.set(wait.queue, (AWAITED.get(wait.queue) ?? 0) + 1);
}

export function endTurnWait(wait: TurnWait): void {
  for (const { waitsIn } of wait.turns) waitsIn.splice(waitsIn.indexOf(wait.queue), 1);
  if (!UNDER_WAY.delete(wait)) return;
  const left = (AWAITED.get(wait.queue) ?? 1) - 1;
  if (left === 0) AWAITED.delete(wait.queue);
  else AWAITED.set(wait.queue, left);
}

export function turnWaits(): ReadonlySet<TurnWait> {
  return UNDER_WAY;
}

/** Whether the turn that runs there is waited for. */
export function isTurnAwaited(queue: object | undefined): boolean {
  return queue !== undefined && AWAITED.has(queue);
}

export function turnDeadlock(): ToolError {
  return new ToolError(
    "resource_busy",
    "The session's turn waits for the handler that makes this call, or for its turn: neither could end.",
    {
      retryable: false,
      hint: "Make the call when the handler has ended.",
    },
  );
}
