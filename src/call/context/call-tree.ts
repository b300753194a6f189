/** The calls that handlers make in the session of the call they answer: what becomes of that call becomes of them. */
import { CallRun } from "../call-run.ts";
import type { CallJob } from "../jobs/job.ts";
import { callsAround } from "./calls-around.ts";
import { callAround, currentPlace, placeOfNoTurn, withinCall, type TurnCall } from "../../session/turn-queue.ts";
import { Turn } from "../../session/turn.ts";
import { addTo } from "../../core/base/add-to.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";

/** By the turn that they joined, in the order they began. */
const NESTED = new WeakMap<Turn, CallRun[]>();
const NONE: readonly CallRun[] = Object.freeze([]);

/** Whether the calls that the handler makes must be known to be made in this call, which nothing else tells. */
export function isTracked(run: CallRun): boolean {
  const { turn } = run;
  return turn.tracksCallers || run.beside !== undefined || ((run.ticket !== undefined || run.slots !== undefined) && !isFound(run));
}

/** It is the only call of a turn that its handler can be found by. */
function isFound({ turn }: CallRun): boolean {
  return turn.running !== undefined && turn.sole !== undefined;
}

/** Runs code of a call, such as a hook, so that what it calls is known to be made in it. */
export function withinRun<T>(run: CallRun, work: () => T): T {
  return isTracked(run) ? runInCall(run, work) : work();
}

/** Runs what makes calls of the handler of a call, wherever it is called from: they are known to be made in it. */
export function runInCall<T>(run: CallRun, work: () => T): T {
  return withinCall(run.beside ?? run.turn.running ?? placeOfNoTurn(run.turn), run, work);
}

/** The call whose handler makes the calls of this turn. */
export function callerOf({ madeIn }: Turn): CallRun | undefined {
  const caller = callAround(soleOf) ?? madeIn;
  return caller instanceof CallRun ? caller : undefined;
}

/** The only call of a turn that has not ended. */
function lastOf({ turn, parts }: CallRun): CallRun | undefined {
  const [last, ...others] = parts.running.all().filter((run) => run.turn === turn);
  return others.length === 0 ? last : undefined;
}

/** The only call of a turn whose calls are not distinguished. */
export function soleOf(held: object | undefined): TurnCall | undefined {
  return held instanceof Turn ? held.sole : undefined;
}

/** Whether the code running now is part of this call: its handler, or that of a call made in it. */
export function isWithin(callId: string): boolean {
  const { call: here, held } = currentPlace();
  let call = here ?? soleOf(held);
  while (call !== undefined && call.callId !== callId) call = call.turn instanceof Turn ? call.turn.madeIn : undefined;
  return call !== undefined;
}

/** A call that runs, as `Runtime.running` shows it. */
export function runningCall(run: CallRun): {
  readonly callId: string;
  readonly name: string;
  readonly input: unknown;
  readonly jobId?: string;
} {
  const { callId, toolName: name, input, call } = run;
  return { callId, name, input: input ?? call.input, ...omitUndefined({ jobId: jobAround(run)?.id }) };
}

/** The background job that a call is, or was made in, also in the session of a delegate; undefined where there is none that has not ended. */
function jobAround(run: CallRun): CallJob | undefined {
  return callsAround(run).find(({ job }) => job?.isOver === false)?.job;
}

/**
 * Whether a call is this one, or was made in it.
 *
 * @param call undefined where its turn does not know it: then it is this one if no other call of the turn runs
 */
export function isPartOf(call: TurnCall | undefined, outer: CallRun): boolean {
  let part = call ?? soleOf(outer.turn.running?.held) ?? lastOf(outer);
  while (part !== undefined && part !== outer) part = part.turn instanceof Turn ? part.turn.madeIn : undefined;
  return part !== undefined;
}

/** Notes a call that joined a running turn, or was made in another call. */
export function noteNested(run: CallRun): void {
  const { turn } = run;
  const root = turn.joins ?? turn;
  addTo(NESTED, root, run);
}

/** The calls that were made in these, and in those, in the order they began. @param callers calls; a turn for calls that joined it besides its own */
export function nestedIn(turn: Turn, callers: readonly (CallRun | Turn)[]): readonly CallRun[] {
  const known = NESTED.get(turn.joins ?? turn);
  if (known === undefined) return NONE;
  const within = new Set<object>(callers);
  return known.filter((run) => {
    const caller = run.turn.madeIn ?? run.turn.joins;
    const isNested = caller !== undefined && within.has(caller);
    if (isNested) within.add(run);
    return isNested;
  });
}

/** These calls are over, or continue in the background: what can be taken back no more is forgotten, with the calls that were made in it. */
export function settle(turn: Turn, runs: readonly CallRun[], callers: readonly (CallRun | Turn)[] = runs): void {
  const { madeIn } = turn;
  if (madeIn?.isSettled === false) return;
  const gone = new Set<CallRun>(nestedIn(turn, callers));
  for (const run of runs) {
    run.isSettled = true;
    if (madeIn !== undefined) gone.add(run);
  }
  if (gone.size > 0) forget(turn, gone);
}

function forget(turn: Turn, gone: ReadonlySet<CallRun>): void {
  const root = turn.joins ?? turn;
  const left = NESTED.get(root)?.filter((run) => !gone.has(run)) ?? [];
  if (left.length > 0) NESTED.set(root, left);
  else NESTED.delete(root);
}
