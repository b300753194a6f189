/** Calls in flight that another process could finish, because the store has everything that is known of them; and what they wait for. */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { CallRun, type CallServices } from "../call-run.ts";
import { callStack } from "./call-stack.ts";

/** `answer`: a person's answer to the call or to a nested one. `start`: locks, slots or its hooks; it has not begun. */
export type CallWait = "answer" | "start";

/** A call in flight that can be finished by the next process that resumes its session. */
export interface CallUnderWay {
  /** The outermost session around the call, which is the one to resume. */
  readonly sessionId: string;
  readonly callId: string;
  /** The qualified name. */
  readonly name: string;
  /** Undefined while part of it runs that would be lost if its session were handed over. */
  readonly waitsFor?: CallWait;
}

/** The calls in flight of stored sessions, the oldest first. */
export function callsUnderWay({ running, claims }: Pick<CallServices, "running" | "claims">): readonly CallUnderWay[] {
  const runs = running.all();
  const asking = new Set(runs.filter((run) => claims.isAsking(run)).flatMap(callStack));
  const unstarted = new Set(runs.filter(hasNotStarted).flatMap(callStack));
  return runs.flatMap((run) => {
    const around = callStack(run);
    const root = around.at(-1)?.turn.session;
    if (root?.eventLog === undefined || root.simulation !== undefined || !around.every(isStored)) return [];
    const waits = around.map((one) => findWait(one, { asking, unstarted }));
    const waitsFor = waits.includes(undefined) ? undefined : waits[0]; // a nested call is no safer to hand over than the calls around it
    return { sessionId: root.id, callId: run.callId, name: run.toolName, ...omitUndefined({ waitsFor }) };
  });
}

function isStored({ isLogged, turn: { session } }: CallRun): boolean {
  return isLogged && session.eventLog !== undefined && session.broken === undefined;
}

/** Calls, each with the calls around it. */
interface WaitingCalls {
  readonly asking: ReadonlySet<CallRun>;
  readonly unstarted: ReadonlySet<CallRun>;
}

function findWait(run: CallRun, { asking, unstarted }: WaitingCalls): CallWait | undefined {
  if (run.cancelled !== undefined || run.result !== undefined) return undefined; // its end must be recorded here
  if (run.attempts > 0 && !isRepeatedAfterCrash(run)) return undefined;
  if ((run.pendingApprovals ?? 0) > 0 || asking.has(run) || waitsForNestedCalls(run)) return "answer";
  return unstarted.has(run) ? "start" : undefined;
}

function hasNotStarted(run: CallRun): boolean {
  return run.attempts === 0 && run.cancelled === undefined && run.result === undefined && !mayHaveIntent(run);
}

/** Whether the handler runs again after a crash and asks the same question again. */
function isRepeatedAfterCrash({ plan, effects }: CallRun): boolean {
  return plan?.tool.composite === true || effects?.repeatable === true;
}

/** Whether this is a resumed job that waits for its earlier nested calls; these say what is waited for. */
function waitsForNestedCalls({ resumed }: CallRun): boolean {
  return resumed?.nestedCalls !== undefined && resumed.job?.isCounted === true;
}

/** Whether the log may have its intent: after that, no other process can know that it has not begun. */
function mayHaveIntent({ callId, effects, turn: { session } }: CallRun): boolean {
  if (effects === undefined || effects.repeatable || effects.writes.length === 0) return false;
  const found = session.ownLog.findLast(
    (event) => (event.type === "call-intent" || event.type === "call-start") && event.callId === callId,
  );
  return found?.type !== "call-start";
}
