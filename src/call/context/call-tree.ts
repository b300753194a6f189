/** The nested calls of handlers: if a call is taken back, so are its nested calls. */
import { CallRun } from "../call-run.ts";
import type { CallJob } from "../jobs/job.ts";
import { callStack } from "./call-stack.ts";
import { findCurrentCall, currentPlace, createPlaceOutsideTurns, runAsHandler, type TurnCall } from "../../session/turn-queue.ts";
import { Turn } from "../../session/turn.ts";
import { addTo } from "../../core/base/add-to.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";

/** The nested calls of each turn that they joined, in the order in which they began. */
const NESTED = new WeakMap<Turn, CallRun[]>();
const NONE: readonly CallRun[] = Object.freeze([]);

/** Whether the handler's calls must be linked to this call by an async context, because nothing else identifies their caller. */
export function needsAsyncContext(run: CallRun): boolean {
  const { turn } = run;
  return (
    turn.tracksCallers || run.detachedTurn !== undefined || ((run.ticket !== undefined || run.slots !== undefined) && !isFoundByTurn(run))
  );
}

/** Whether the handler is found by its turn, as the only call in it. */
function isFoundByTurn({ turn }: CallRun): boolean {
  return turn.running !== undefined && turn.soleCall !== undefined;
}

/** Runs code of a call, such as a hook, so that the calls it makes are nested in this one. */
export function runInCallIfNeeded<T>(run: CallRun, work: () => T): T {
  return needsAsyncContext(run) ? runInCall(run, work) : work();
}

/** Runs code that makes calls for a handler, from anywhere, so that they are nested in its call. */
export function runInCall<T>(run: CallRun, work: () => T): T {
  return runAsHandler(run.detachedTurn ?? run.turn.running ?? createPlaceOutsideTurns(run.turn), run, work);
}

/** The call whose handler makes the calls of this turn. */
export function callerOf({ parentCall }: Turn): CallRun | undefined {
  const caller = findCurrentCall(findSoleCall) ?? parentCall;
  return caller instanceof CallRun ? caller : undefined;
}

/** The only running call of the turn; undefined if there are several. */
function findOnlyRunning({ turn, services }: CallRun): CallRun | undefined {
  const [last, ...others] = services.running.all().filter((run) => run.turn === turn);
  return others.length === 0 ? last : undefined;
}

/** The only call of a turn that does not track callers. */
export function findSoleCall(runnerData: object | undefined): TurnCall | undefined {
  return runnerData instanceof Turn ? runnerData.soleCall : undefined;
}

/** Whether the running code belongs to this call: to its handler, or to that of a nested call. */
export function isRunningInCall(callId: string): boolean {
  const { call: here, runnerData } = currentPlace();
  let call = here ?? findSoleCall(runnerData);
  while (call !== undefined && call.callId !== callId) call = call.turn instanceof Turn ? call.turn.parentCall : undefined;
  return call !== undefined;
}

/** A running call, in the form of `Runtime.running`. */
export function toRunningCall(run: CallRun): {
  readonly callId: string;
  readonly name: string;
  readonly input: unknown;
  readonly jobId?: string;
} {
  const { callId, toolName: name, input, call } = run;
  return { callId, name, input: input ?? call.input, ...omitUndefined({ jobId: findEnclosingJob(run)?.id }) };
}

/** The background job that a call is, or is nested in; undefined if there is none or it has ended. */
function findEnclosingJob(run: CallRun): CallJob | undefined {
  return callStack(run).find(({ job }) => job?.hasEnded === false)?.job;
}

/**
 * Whether a call is this one or nested in it.
 *
 * @param call undefined if its turn does not know it: it then counts as this call if no other call of the turn runs
 */
export function isSameOrNestedCall(call: TurnCall | undefined, outer: CallRun): boolean {
  let part = call ?? findSoleCall(outer.turn.running?.runnerData) ?? findOnlyRunning(outer);
  while (part !== undefined && part !== outer) part = part.turn instanceof Turn ? part.turn.parentCall : undefined;
  return part !== undefined;
}

/** Notes a call that joined a running turn, or is nested in another call. */
export function noteNestedCall(run: CallRun): void {
  const { turn } = run;
  const root = turn.joinedTurn ?? turn;
  addTo(NESTED, root, run);
}

/** The calls nested in these, at any depth, in the order in which they began. @param callers calls; a turn for the calls that joined it */
export function listNestedCalls(turn: Turn, callers: readonly (CallRun | Turn)[]): readonly CallRun[] {
  const known = NESTED.get(turn.joinedTurn ?? turn);
  if (known === undefined) return NONE;
  const within = new Set<object>(callers);
  return known.filter((run) => {
    const caller = run.turn.parentCall ?? run.turn.joinedTurn;
    const isNested = caller !== undefined && within.has(caller);
    if (isNested) within.add(run);
    return isNested;
  });
}

/** Called when these calls have ended or continue in the background. Forgets those that can no longer be taken back, with their nested calls. */
export function settleCalls(turn: Turn, runs: readonly CallRun[], callers: readonly (CallRun | Turn)[] = runs): void {
  const { parentCall } = turn;
  for (const run of runs) run.isComplete = true;
  if (parentCall?.takenBackWith !== undefined) return;
  const forgotten = new Set<CallRun>(listNestedCalls(turn, callers));
  if (parentCall !== undefined) for (const run of runs) forgotten.add(run);
  if (forgotten.size > 0) forgetCalls(turn, forgotten);
  turn.session.forgetSettledChanges();
}

function forgetCalls(turn: Turn, forgotten: ReadonlySet<CallRun>): void {
  const root = turn.joinedTurn ?? turn;
  const left = NESTED.get(root)?.filter((run) => !forgotten.has(run)) ?? [];
  if (left.length > 0) NESTED.set(root, left);
  else NESTED.delete(root);
}
