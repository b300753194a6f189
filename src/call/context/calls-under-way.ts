/** Calls under way that another process can end, as the store has all that is known of them, and what they wait for. */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { CallRun, type CallParts } from "../call-run.ts";
import { callsAround } from "./calls-around.ts";

/** `answer`: of a person, to it or to a call that was made in it. `start`: locks, slots, its hooks: it has not begun. */
export type CallWait = "answer" | "start";

/** A call under way that the process which resumes its session next can end. */
export interface CallUnderWay {
  /** The outermost session around the call: the one to be resumed. */
  readonly sessionId: string;
  readonly callId: string;
  /** Qualified. */
  readonly name: string;
  /** Undefined while something of it runs that is lost where its session is handed over. */
  readonly waitsFor?: CallWait;
}

/** Those of sessions that a store keeps, the oldest first. */
export function callsUnderWay({ running, claims }: Pick<CallParts, "running" | "claims">): readonly CallUnderWay[] {
  const runs = running.all();
  const asking = new Set(runs.filter((run) => claims.isAsking(run)).flatMap(callsAround));
  const unbegun = new Set(runs.filter(isUnbegun).flatMap(callsAround));
  return runs.flatMap((run) => {
    const around = callsAround(run);
    const root = around.at(-1)?.turn.session;
    if (root?.eventLog === undefined || root.simulation !== undefined || !around.every(isKept)) return [];
    // A call inside one that would be lost is not worth more than that.
    const waitsFor = around.every((one) => waitOf(one, { asking, unbegun }) !== undefined) ? waitOf(run, { asking, unbegun }) : undefined;
    return { sessionId: root.id, callId: run.callId, name: run.toolName, ...omitUndefined({ waitsFor }) };
  });
}

function isKept({ isLogged, turn: { session } }: CallRun): boolean {
  return isLogged && session.eventLog !== undefined && session.broken === undefined;
}

/** Calls with those around them. */
interface Waiting {
  readonly asking: ReadonlySet<CallRun>;
  readonly unbegun: ReadonlySet<CallRun>;
}

function waitOf(run: CallRun, { asking, unbegun }: Waiting): CallWait | undefined {
  if (run.cancelled !== undefined || run.result !== undefined) return undefined; // its end is to be recorded
  if (run.attempts > 0 && !isMadeAgain(run)) return undefined;
  if ((run.awaiting ?? 0) > 0 || asking.has(run) || waitsForItsCalls(run)) return "answer";
  return unbegun.has(run) ? "start" : undefined;
}

function isUnbegun(run: CallRun): boolean {
  return run.attempts === 0 && run.cancelled === undefined && run.result === undefined && !isIntended(run);
}

/** Whether its handler is run again after a crash, and comes to the same question. */
function isMadeAgain({ plan, effects }: CallRun): boolean {
  return plan?.tool.composite === true || effects?.repeatable === true;
}

/** A job that is taken up again after the calls that were made in it: these say what is waited for. */
function waitsForItsCalls({ resumed }: CallRun): boolean {
  return resumed?.calls !== undefined && resumed.job?.isCounted === true;
}

/** Whether the log may have its intent: after that, no other process knows that it has not begun. */
function isIntended({ callId, effects, turn: { session } }: CallRun): boolean {
  if (effects === undefined || effects.repeatable || effects.writes.length === 0) return false;
  const found = session.ownLog.findLast(
    (event) => (event.type === "call-intent" || event.type === "call-start") && event.callId === callId,
  );
  return found?.type !== "call-start";
}
