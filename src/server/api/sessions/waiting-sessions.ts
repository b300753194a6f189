/** Sessions with calls that another process can end: a server that stops leaves them as a crash does. */
import type { CallUnderWay } from "../../../call/context/calls-under-way.ts";
import type { Runtime } from "../../../runtime/runtime.ts";

interface Waiting {
  /** The calls that another process can end. */
  readonly waiting: readonly CallUnderWay[];
  /** All its calls are such calls. */
  readonly isWaiting: boolean;
  /** All its calls wait for a person. */
  readonly asks: boolean;
}

/** By their ids, the sessions with calls under way. */
export function waitingSessions({ underWay }: Pick<Runtime, "underWay">): ReadonlyMap<string, Waiting> {
  const bySession = Map.groupBy(underWay, ({ sessionId }) => sessionId);
  return new Map(
    Array.from(bySession, ([id, calls]) => {
      const waiting = calls.filter(({ waitsFor }) => waitsFor !== undefined);
      const asks = calls.every(({ waitsFor }) => waitsFor === "answer");
      return [id, { waiting, isWaiting: waiting.length === calls.length, asks }];
    }),
  );
}
