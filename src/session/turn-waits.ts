/** Waits of running code for turns of sessions: a handler that waits for a turn still holds the locks of its calls. */
import { ToolError } from "../core/error.ts";

/** The turns of a session, of which others wait for those that run. */
interface Turns {
  isRunning(turn: object | undefined): boolean;
}

interface WaitingTurn {
  readonly queue: Turns;
  /** The queues that the turn waits in. */
  readonly waitsIn: object[];
}

/** Returns the only call of a turn, from its runner's data. */
type FindSoleCall = (runnerData: object | undefined) => object | undefined;

export interface TurnWait {
  /** Different from every call id. */
  readonly id: string;
  readonly queue: Turns;
  /** Returns the call whose handler waits; undefined if the code is part of no turn. */
  readonly findWaitingCall: ((soleOf: FindSoleCall) => object | undefined) | undefined;
  /** The turns that the waiting code is part of. */
  readonly turns: readonly WaitingTurn[];
}

let waitCount = 0;

const WAITS = new Set<TurnWait>();
/** How many waits there are for each queue. */
const AWAITED = new Map<object, number>();

/** Detects waits that would be deadlocks; set by the code that runs calls, which knows the locks. */
export const deadlocks = { isClosedBy: (_wait: TurnWait): boolean => false };

export function createTurnWait(fields: Omit<TurnWait, "id">): TurnWait {
  return { id: `turn wait ${++waitCount}`, ...fields };
}

export function addTurnWait(wait: TurnWait): void {
  for (const { waitsIn } of wait.turns) waitsIn.push(wait.queue);
  if (wait.findWaitingCall === undefined) return;
  WAITS.add(wait);
  AWAITED.set(wait.queue, (AWAITED.get(wait.queue) ?? 0) + 1);
}

export function removeTurnWait(wait: TurnWait): void {
  for (const { waitsIn } of wait.turns) waitsIn.splice(waitsIn.indexOf(wait.queue), 1);
  if (!WAITS.delete(wait)) return;
  const left = (AWAITED.get(wait.queue) ?? 1) - 1;
  if (left === 0) AWAITED.delete(wait.queue);
  else AWAITED.set(wait.queue, left);
}

export function listTurnWaits(): ReadonlySet<TurnWait> {
  return WAITS;
}

/** Whether a handler waits for a turn of this queue. */
export function isTurnAwaited(queue: object | undefined): boolean {
  return queue !== undefined && AWAITED.has(queue);
}

export function turnDeadlockError(): ToolError {
  return new ToolError(
    "resource_busy",
    "The session's turn waits for the handler that makes this call, or for its turn: neither could end.",
    {
      retryable: false,
      hint: "Make the call when the handler has ended.",
    },
  );
}
